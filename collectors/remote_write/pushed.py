"""A request's body into samples by scrape: the target that was scraped, and when."""

import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.message import END_US
from collectors.remote_write import wire
from collectors.remote_write.series import EXEMPLAR, HISTOGRAM, Series, SeriesBook, Source

STALE = struct.pack("<Q", 0x7FF0000000000002)
"""The NaN by which Prometheus says that a series has ended (model/value)."""

_TAIL = struct.Struct("<3sdB6s")
"""The end of a series with one sample: field 2 of 16 bytes, a double, a timestamp of six varint bytes, which is
every millisecond from 1971 to 2109."""
TAIL_BYTES = _TAIL.size
_TAIL_HEAD, _TIME_TAG = b"\x12\x10\x09", 0x10
_REFS_TAG, _METADATA_TAG = 0x0A, 0x2A
MOST_MS = END_US // 1000
"""A millisecond from here on is no time."""

Scrape = tuple[Source, int]
"""Whose samples, and their time in milliseconds."""


class BadBody(ValueError):
    """The body is not what its headers say; the text says why."""


@dataclass(slots=True)
class Pushed:
    """What a request holds. A value is None where it is NaN or infinite: the source could not read it."""

    scrapes: dict[Scrape, dict[Series, float | None]] = field(default_factory=dict)
    ended: dict[Scrape, set[Series]] = field(default_factory=dict)
    """Series with a staleness marker at that time: they are not part of that scrape any more."""
    samples: int = 0
    histograms: int = 0
    exemplars: int = 0
    ignored: Counter[str] = field(default_factory=Counter)

    def add(self, series: Series, ts_ms: int, value: float, raw: bytes) -> None:
        """One sample; `raw` are the eight bytes of its value."""
        self.samples += 1
        if series.source is None:
            self.ignored[series.why] += 1
            return
        scrape = series.source, ts_ms
        if value - value == 0.0:
            self.scrapes.setdefault(scrape, {})[series] = value
        elif raw == STALE:
            self.ended.setdefault(scrape, set()).add(series)
        else:
            self.scrapes.setdefault(scrape, {})[series] = None


def read_v1(body: bytes, book: SeriesBook) -> Pushed:
    """`prometheus.WriteRequest`. Raises `BadBody`; then nothing of it counts."""
    out = Pushed()
    try:
        request = wire.WriteRequest.FromString(body)
        _read_each(request.timeseries, book, out)
    except wire.DecodeError as why:
        raise BadBody(f"not a prometheus.WriteRequest: {why}") from why
    return out


def _read_each(raws: Any, book: SeriesBook, out: Pushed) -> None:
    """The hot loop. Senders keep their order, so a series is first compared with the one that came after the last
    one before; then it is looked up by the bytes of its labels. Its one sample is an unpacking."""
    known, scrapes, unpack = book.known.get, out.scrapes, _TAIL.unpack_from
    times: dict[bytes, int | None] = {}
    cells: dict[Series, float | None] = {}
    at: tuple[Source | None, bytes] = None, b""
    count, last = 0, book.first
    for raw in raws:
        series = last.after
        size = len(raw) - TAIL_BYTES
        if series is None or len(series.head) != size or not raw.startswith(series.head):
            series = known(raw[:-TAIL_BYTES])
            last.after = series
        if series is None:
            _read_whole(raw, book, out)
            continue
        last = series
        head, value, tag, time = unpack(raw, size)
        ts_ms = times.get(time)
        if ts_ms is None:
            ts_ms = times[time] = _varint(time)
        if head != _TAIL_HEAD or tag != _TIME_TAG or ts_ms is None:
            _read_whole(raw, book, out)
            continue
        source = series.source
        if source is None or value - value != 0.0:
            out.add(series, ts_ms, value, raw[-15:-7])
            continue
        if source is not at[0] or time != at[1]:
            cells = scrapes.setdefault((source, ts_ms), {})
            at = source, time
        cells[series] = value
        count += 1
    out.samples += count


def _read_whole(raw: bytes, book: SeriesBook, out: Pushed) -> None:
    """Any series. Where its labels come first, as all senders write them, they are the key for the next time."""
    whole = wire.TimeSeries.FromString(raw)
    head = wire.TimeSeries(labels=whole.labels).SerializeToString()
    # Only what a later body may begin with is a key of its own.
    leads = raw.startswith(head)
    series = book.learn(head if leads else ("apart", head), lambda: _labels(whole.labels), head if leads else b"")
    for sample in whole.samples:
        out.add(series, _time(sample.timestamp), sample.value, struct.pack("<d", sample.value))
    _count_others(out, whole)


def read_v2(body: bytes, book: SeriesBook) -> Pushed:
    """`io.prometheus.write.v2.Request`. Raises `BadBody`; then nothing of it counts."""
    out = Pushed()
    try:
        request = wire.RequestV2.FromString(body)
    except wire.DecodeError as why:
        raise BadBody(f"not an io.prometheus.write.v2.Request: {why}") from why
    symbols = list(request.symbols)
    if symbols and symbols[0] != b"":
        raise BadBody("the first symbol is not empty")
    times: dict[bytes, int | None] = {}
    cells: dict[Series, float | None] = {}
    at: tuple[Source | None, bytes] = None, b""
    try:
        for raw in request.timeseries:
            end = _end_of_refs(raw)
            if end == 0:
                _read_whole_v2(raw, symbols, book, out)
                continue
            head, value, tag, time = _TAIL.unpack_from(raw, end)
            ts_ms = times.get(time)
            if ts_ms is None:
                ts_ms = times[time] = _varint(time)
            if head != _TAIL_HEAD or tag != _TIME_TAG or ts_ms is None:
                _read_whole_v2(raw, symbols, book, out)
                continue
            series = _series_v2(wire.Refs.FromString(raw[:end]).labels_refs, symbols, book)
            source = series.source
            if source is None or value - value != 0.0:
                out.add(series, ts_ms, value, raw[end + 3 : end + 11])
                continue
            if source is not at[0] or time != at[1]:
                cells = out.scrapes.setdefault((source, ts_ms), {})
                at = source, time
            cells[series] = value
            out.samples += 1
    except wire.DecodeError as why:
        raise BadBody(f"not a series of remote write 2.0: {why}") from why
    except IndexError as why:
        raise BadBody("a label refers to a symbol that is not there") from why
    return out


def _end_of_refs(raw: bytes) -> int:
    """Where the labels end, of a series that has them first, then one sample, then at most metadata, as Prometheus
    writes it; 0: it is not so."""
    if len(raw) < 2 or raw[0] != _REFS_TAG or raw[1] > 0x7F:
        return 0
    end = 2 + raw[1]
    after = end + TAIL_BYTES
    if after == len(raw):
        return end
    if after + 2 <= len(raw) and raw[after] == _METADATA_TAG and after + 2 + raw[after + 1] == len(raw):
        return end
    return 0


def _read_whole_v2(raw: bytes, symbols: list[bytes], book: SeriesBook, out: Pushed) -> None:
    whole = wire.TimeSeriesV2.FromString(raw)
    series = _series_v2(whole.labels_refs, symbols, book)
    for sample in whole.samples:
        out.add(series, _time(sample.timestamp), sample.value, struct.pack("<d", sample.value))
    _count_others(out, whole)


def _series_v2(refs: Any, symbols: list[bytes], book: SeriesBook) -> Series:
    key = tuple(map(symbols.__getitem__, refs))
    return book.known.get(key) or book.learn(key, _pairs(key))


def _count_others(out: Pushed, series: Any) -> None:
    if series.histograms:
        out.histograms += len(series.histograms)
        out.ignored[HISTOGRAM] += len(series.histograms)
    if series.exemplars:
        out.exemplars += len(series.exemplars)
        out.ignored[EXEMPLAR] += len(series.exemplars)


def _labels(labels: Any) -> dict[str, str]:
    return _named((label.name, label.value) for label in labels)


def _pairs(key: tuple[bytes, ...]) -> Callable[[], dict[str, str]]:
    if len(key) % 2:
        raise BadBody("a series has an odd number of label references")
    return lambda: _named(zip(key[::2], key[1::2], strict=True))


def _named(pairs: Any) -> dict[str, str]:
    out: dict[str, str] = {}
    for name, value in pairs:
        try:
            out[name.decode()] = value.decode()
        except UnicodeDecodeError as why:
            raise BadBody(f"a label is not UTF-8: {bytes(name)[:40]!r}") from why
    if not out.get("__name__"):
        raise BadBody("a series has no name")
    return out


def _varint(six: bytes) -> int | None:
    """Six bytes as a varint; None where they are not exactly one."""
    if six[5] > 0x7F or min(six[:5]) < 0x80:
        return None
    value = 0
    for place, byte in enumerate(six):
        value |= (byte & 0x7F) << 7 * place
    return value


def _time(ts_ms: int) -> int:
    if not 0 <= ts_ms < MOST_MS:
        raise BadBody(f"{ts_ms} is no time in milliseconds")
    return ts_ms
