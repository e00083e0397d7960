"""How often bad bytes of one source are reported: the first at once, then one a period with a count of the rest."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bad:
    """Bytes that could not be read, why, and how many more there were since the last report."""

    source: str
    raw: bytes
    why: str
    unreported: int


@dataclass(slots=True)
class _Seen:
    reported_s: float
    latest: Bad | None = None


class RejectLimit:
    """Decides what is reported. Holds the last bad bytes of a source, cut, until their turn comes."""

    def __init__(self, every_s: float, cut_bytes: int = 64 << 10) -> None:
        self._every_s = every_s
        self._cut = cut_bytes
        self._seen: dict[str, _Seen] = {}

    def offer(self, source: str, raw: bytes, why: str, now_s: float) -> Bad | None:
        """What to report now, if anything."""
        seen = self._seen.get(source)
        if seen is None:
            self._seen[source] = _Seen(now_s)
            return Bad(source, raw[: self._cut], why, 0)
        held = 0 if seen.latest is None else seen.latest.unreported + 1
        seen.latest = Bad(source, raw[: self._cut], why, held)
        return self._report(seen, now_s)

    def due(self, now_s: float) -> list[Bad]:
        """Reports that waited for their turn. Sources that have been good for a period are forgotten."""
        out: list[Bad] = []
        for source, seen in list(self._seen.items()):
            bad = self._report(seen, now_s)
            if bad is not None:
                out.append(bad)
            elif now_s - seen.reported_s >= self._every_s:
                del self._seen[source]
        return out

    def rest(self) -> list[Bad]:
        """Everything held, at the end of the process."""
        return [seen.latest for seen in self._seen.values() if seen.latest is not None]

    def _report(self, seen: _Seen, now_s: float) -> Bad | None:
        bad = seen.latest
        if bad is None or now_s - seen.reported_s < self._every_s:
            return None
        seen.latest, seen.reported_s = None, now_s
        return bad
