"""The prefix of a log line: when, on which host, and the text that the kernel wrote."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from collectors.contract.message import END_US

MONTHS = {name: i for i, name in enumerate(re.findall("...", "JanFebMarAprMayJunJulAugSepOctNovDec"), start=1)}
AHEAD = timedelta(days=1)
"""How far a line without a year may lie in the future: clocks differ, and zones."""

_PRIORITY = re.compile(r"<\d{1,3}>|[a-z]+\d?\s*:[a-z]+\s*: ")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:([.,])\d+)?(?:Z|[+-]\d\d:?\d\d)?)\s+")
_SYSLOG = re.compile(r"([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6})\d*)?\s+")
_HUMAN = re.compile(r"\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\] ?")
_BOOT = re.compile(r"\[ *(\d{1,12})\.(\d{1,6})\d*\] ?")
_CALLER = re.compile(r"\[ *[TC]\d+\] ?")
_TAG = re.compile(r"(\S+) ([\w./-]+)(?:\[\d+\])?: ")
_KERNEL_TEXT = ("NVRM", "nvidia-nvswitch")


@dataclass(frozen=True, slots=True)
class LogLine:
    """`ts_us` is None where the line has no time. `text` is empty for a line that the kernel did not write."""

    ts_us: int | None
    host: str | None
    text: str


def read_line(raw: str, *, now_us: int, boot_us: int, zone: tzinfo | None = None) -> LogLine:
    """Split one line of dmesg (plain, -T, -x, -r, --time-format iso), the journal, or a syslog file.

    Times relative to boot count from `boot_us`. Times without a zone are in `zone`, None: this machine's.
    A time without a year is the last such date that is not more than a day after `now_us`.
    """
    at = 0
    if found := _PRIORITY.match(raw):
        at = found.end()
    if found := _BOOT.match(raw, at):
        ts = boot_us + int(found[1]) * 1_000_000 + int(found[2].ljust(6, "0"))
        return LogLine(ts if ts < END_US else None, None, _text(raw, found.end()))
    if found := _HUMAN.match(raw, at):
        month, day, hour, minute, second, year = found.groups()
        when = _date(int(year), month, day, hour, minute, second, 0, zone)
        return LogLine(_us(when), None, _text(raw, found.end()))
    if found := _ISO.match(raw, at):
        when = _iso(found[1], zone)
        if found[2] == ",":  # only dmesg writes a comma, and dmesg names no host
            return LogLine(_us(when), None, _text(raw, found.end()))
        return _tagged(raw, found.end(), _us(when))
    if found := _SYSLOG.match(raw, at):
        return _tagged(raw, found.end(), _us(_yearless(found, now_us, zone)))
    return LogLine(None, None, _text(raw, at))


def _tagged(raw: str, at: int, ts_us: int | None) -> LogLine:
    """What stands behind a syslog time: `host program[pid]: text`, or the text at once."""
    found = _TAG.match(raw, at)
    if found is None:
        return LogLine(ts_us, None, _text(raw, at))
    host, program = found.groups()
    if program == "kernel":
        return LogLine(ts_us, host, _text(raw, found.end()))
    if host.rstrip(":").startswith(_KERNEL_TEXT):
        return LogLine(ts_us, None, _text(raw, at))
    if program.startswith(_KERNEL_TEXT):
        return LogLine(ts_us, host, raw[found.start(2) :])
    return LogLine(ts_us, host, "")


def _text(raw: str, at: int) -> str:
    for prefix in (_BOOT, _CALLER):
        if found := prefix.match(raw, at):
            at = found.end()
    return raw[at:]


def _iso(text: str, zone: tzinfo | None) -> datetime | None:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=zone)


def _yearless(found: re.Match[str], now_us: int, zone: tzinfo | None) -> datetime | None:
    month, day, hour, minute, second, fraction = found.groups()
    micro = int((fraction or "").ljust(6, "0"))
    latest = datetime.fromtimestamp(now_us / 1e6, UTC) + AHEAD
    for year in range(latest.year + 1, latest.year - 9, -1):  # 29 February may be eight years ago
        when = _date(year, month, day, hour, minute, second, micro, zone)
        if when is not None and when.timestamp() <= latest.timestamp():
            return when
    return None


def _date(
    year: int, month: str, day: str, hour: str, minute: str, second: str, micro: int, zone: tzinfo | None
) -> datetime | None:
    if month not in MONTHS:
        return None
    try:
        return datetime(year, MONTHS[month], int(day), int(hour), int(minute), int(second), micro, tzinfo=zone)
    except ValueError:
        return None


def _us(when: datetime | None) -> int | None:
    """Whole microseconds; a float of seconds would lose the last digit."""
    if when is None:
        return None
    if when.tzinfo is None:
        when = when.astimezone()
    ts_us = (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return ts_us if 0 <= ts_us < END_US else None
