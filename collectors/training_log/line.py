"""One printed line, without what terminals and launchers put around it."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

MAX_CHARS = 16_384
"""A longer line is no line of a framework's: its beginning is read."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_IN_BRACKETS = (
    re.compile(r"\[rank[ :]?(?P<rank>\d+)\]:? ?"),  # torchrun, torch's logging
    re.compile(r"\[[A-Za-z_]\w*?(?P<local>\d+)\]: ?"),  # torchrun --tee: [ROLE LOCAL_RANK]:
    re.compile(r"\[pod/[^/\]\s]+/[^\]\s]+\] ?"),  # kubectl logs --prefix
)
_NUMBERED = (
    re.compile(r" ?(?P<rank>\d+): "),  # srun --label
    # A container runtime's own file: time, stream, whole or partial.
    re.compile(r"(?P<stamp>\d{4}-\d\d-\d\dT\S+(?:Z|[+-]\d\d:\d\d)) (?:stdout|stderr) [FP] "),
)
_NAMED = (
    # pdsh; a word without a digit in it is rather a log level than a host.
    re.compile(r"(?P<host>(?=[\w.-]{0,253}\d)[A-Za-z][\w.-]{0,253}(?<!Error)(?<!Exception)): "),
)
_STAMP = re.compile(
    r"(?<![\w/.-])(20\d\d)-?(\d\d)-?(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))? ?(Z|[+-]\d\d:?\d\d)?(?![\w:])"
)
_GLOG = re.compile(r"^[IWEF](\d\d)(\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?) ")
"""torchrun's own lines have no year."""
_STAMP_WITHIN = 160


@dataclass(frozen=True, slots=True)
class Line:
    """`ts_us` is None where the line has no time; `rank` is the job's, `local` a node's own, None: not told."""

    text: str
    ts_us: int | None = None
    rank: int | None = None
    local: int | None = None
    host: str | None = None


def read_lines(raw: bytes, zone: tzinfo | None, near_us: int = 0) -> list[Line]:
    """What a terminal would have shown one after the other: a bar writes over itself with carriage returns.

    Times without a zone are in `zone`, None: this machine's; those without a year are in that of `near_us`.
    """
    text = raw.decode("utf-8", "replace")
    return [_read(part, zone, near_us) for part in text.split("\r") if part.strip()]


def _read(text: str, zone: tzinfo | None, near_us: int) -> Line:
    text = text[:MAX_CHARS]
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    told: dict[str, str] = {}
    while found := _prefix(text):
        told = found.groupdict() | told
        text = text[found.end() :]
    stamp = told.get("stamp")
    if stamp is None and near_us and (found := _GLOG.match(text)):
        stamp = f"{datetime.fromtimestamp(near_us / 1e6, zone).year}-{found[1]}-{found[2]} {found[3]}"
    return Line(
        text=text,
        ts_us=stamp_us(text if stamp is None else stamp, zone),
        rank=_small(told.get("rank")),
        local=_small(told.get("local")),
        host=told.get("host"),
    )


def _prefix(text: str) -> re.Match[str] | None:
    head = text[:1]
    kinds = _IN_BRACKETS if head == "[" else _NUMBERED if head == " " or head.isdigit() else _NAMED
    for kind in kinds:
        if found := kind.match(text):
            return found
    return None


def stamp_us(text: str, zone: tzinfo | None) -> int | None:
    """The first date with a time near the beginning of the text, Unix microseconds."""
    if "20" not in text[:_STAMP_WITHIN]:  # of a year of this century
        return None
    found = _STAMP.search(text, 0, _STAMP_WITHIN)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    micros = int((found[7] or "0").ljust(6, "0")[:6])
    try:
        when = datetime(year, month, day, hour, minute, second, micros, _zone(found[8], zone))
        return round(when.astimezone(UTC).timestamp() * 1e6)
    except (ValueError, OverflowError, OSError):  # the 31st of February, the year 0
        return None


def _zone(told: str | None, zone: tzinfo | None) -> tzinfo | None:
    return zone if told is None else datetime.fromisoformat(f"2000-01-01T00:00:00{told}").tzinfo


def _small(text: str | None) -> int | None:
    return None if text is None or len(text) > 6 else int(text)
