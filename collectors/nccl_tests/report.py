"""The report of `-J FILE`. Form: NVIDIA/nccl-tests src/util.cu, version 2 of the file."""

import msgspec
from msgspec import Struct, field

from collectors.nccl_tests.run import IN_PLACE, OUT_OF_PLACE, Device, Row, Run, collective_of, number, pci_of

Number = int | float | str | None
"""`"nan"` stands as text."""


class ReportError(ValueError):
    """Bytes that are no report; the text says why."""


class _Device(Struct):
    rank: int
    hostname: str = ""
    pid: int | None = None
    device: int | None = None
    device_hex: str = ""


class _Config(Struct):
    nthreads: int = 1
    ngpus: int = 1
    devices: list[_Device] = field(default_factory=list)


class _Half(Struct):
    time: Number = None
    cpu_time: Number = None
    alg_bw: Number = None
    bus_bw: Number = None
    nwrong: Number = None


class _Result(Struct):
    size: int
    type: str | None = None
    out_of_place: _Half | None = None
    in_place: _Half | None = None


class _Report(Struct):
    results: list[_Result]
    start_time: str = ""
    args: list[str] = field(default_factory=list)
    config: _Config = field(default_factory=_Config)
    devices: list[_Device] = field(default_factory=list)


_decoder = msgspec.json.Decoder(_Report)


def read_report(raw: bytes) -> Run:
    """Raises `ReportError`. A run that was ended before its end leaves no whole report: nothing of it is read."""
    try:
        report = _decoder.decode(raw)
        rows = [
            _row(result, kind, half)
            for result in report.results
            for kind, half in ((OUT_OF_PLACE, result.out_of_place), (IN_PLACE, result.in_place))
            if half is not None
        ]
    except (msgspec.MsgspecError, ValueError, RecursionError) as why:
        raise ReportError(f"not a report of nccl-tests -J: {why}") from why
    # One device a process stands there, the first of its own.
    devices = report.config.devices or report.devices
    ranks = len(devices) * report.config.nthreads * report.config.ngpus
    return Run(
        collective=collective_of(report.args[0].rpartition("/")[2]) if report.args else None,
        about=[report.start_time, *report.args],
        devices=[Device(d.rank, d.hostname, d.pid, d.device, pci_of(d.device_hex)) for d in devices],
        rows=rows,
        ranks=ranks if 0 < ranks < 1 << 30 else None,
    )


def _row(result: _Result, kind: str, half: _Half) -> Row:
    if not 0 <= result.size < 1 << 63:
        raise ReportError(f"size {result.size} is not a number of bytes")
    time_us = half.time if half.time is not None else half.cpu_time
    return Row(
        bytes=result.size,
        dtype=result.type,
        variant=kind,
        time_us=_number(time_us),
        algbw_gbs=_number(half.alg_bw),
        busbw_gbs=_number(half.bus_bw),
        wrong=_number(half.nwrong),
    )


def _number(value: Number) -> float | None:
    return None if value is None else number(str(value))
