"""A matrix into messages, each node's in the order of time."""

from collections.abc import Iterable

from collectors.prometheus.answer import Line
from collectors.remote_write.series import Series, SeriesBook, Source
from collectors.remote_write.target import Out, Target


class History:
    """Keeps the shapes of targets from one answer to the next."""

    def __init__(self, cluster: str, cluster_label: str | None = None) -> None:
        self._book = SeriesBook(cluster_label)
        self._cluster = cluster
        self._targets: dict[Source, Target] = {}
        self.samples = 0
        self.ended_ms: int | None = None
        """The last time that was told."""

    def messages(self, lines: Iterable[Line], from_ms: int, to_ms: int) -> Out:
        """All scrapes of an answer from `from_ms` until before `to_ms`. A value that is no number is None: it was not
        readable then too.

        Series of one target at one moment are one scrape. Of a pair of servers the first one is taken.
        """
        scrapes: dict[int, dict[Source, dict[Series, float | None]]] = {}
        for line in lines:
            series = self._book.learn(tuple(sorted(line.metric.items())), lambda line=line: line.metric)  # type: ignore[misc]
            if series.source is None or not line.values:
                continue
            for ts_s, text in line.values:
                ts_ms = round(ts_s * 1000)
                if from_ms <= ts_ms < to_ms:
                    scrapes.setdefault(ts_ms, {}).setdefault(series.source, {})[series] = _number(text)
        out: Out = []
        for ts_ms in sorted(scrapes):
            taken: set[Source] = set()
            for source in sorted(scrapes[ts_ms], key=lambda source: source.replica):
                if source.without_replica not in taken:
                    taken.add(source.without_replica)
                    out += self._told(source, ts_ms, scrapes[ts_ms][source])
        return out

    def _told(self, source: Source, ts_ms: int, cells: dict[Series, float | None]) -> Out:
        target = self._targets.get(source)
        if target is None:
            target = self._targets[source] = Target(source, source.cluster or self._cluster)
        self.samples += len(cells)
        self.ended_ms = ts_ms
        return target.whole(ts_ms, cells)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value - value == 0.0 else None
