"""InfiniBand: port records per CPU-second from text to message, beside a bare split of the same bytes; and a host's
sysfs with files kept open, beside opening each anew."""

import argparse
import csv
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from collectors.contract.topic import encode
from collectors.fabric.host import NearGpus
from collectors.fabric.kept import Kept
from collectors.infiniband.files import Texts, reader
from collectors.infiniband.host import Host
from collectors.infiniband.sysfs import Sysfs
from tests.collectors.rdma_tree import PORT, device, port

Floor = Callable[[str], object]

SWITCHES, PORTS = 50, 64
HCAS = 8
HW = ("out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "duplicate_request", "np_cnp_sent")
ERRORS = ("SymbolErrorCounter", "LinkDownedCounter", "PortRcvErrors", "PortXmitDiscards", "VL15Dropped")
DATA = ("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts")


def perfquery() -> str:
    """Basic counters of every port."""
    out = []
    for lid in range(1, SWITCHES + 1):
        for number in range(1, PORTS + 1):
            out.append(f"# Port counters: Lid {lid} port {number} (CapMask: 0x1300)\nPortSelect:......{number}\n")
            out += [f"{name}:{'.' * (33 - len(name))}{lid * number}\n" for name in (*ERRORS, *DATA, "PortXmitWait")]
    return "".join(out)


def ibqueryerrors() -> str:
    """Errors and data of every port."""
    out = []
    for switch in range(SWITCHES):
        out.append(f'Errors for 0x{0x200000 + switch:x} "leaf-{switch}"\n')
        for number in range(1, PORTS + 1):
            told = [f"[{name} == {number}]" for name in ERRORS] + [f"[{n} == {number} ({number}.000)]" for n in DATA]
            out.append(f"   GUID 0x{0x200000 + switch:x} port {number}: {' '.join(told)}\n")
    return "".join(out) + "\n## Summary: 50 nodes checked, 50 bad nodes found\n"


def db_csv() -> str:
    """PM_INFO of every port, short and wide."""
    names = [*ERRORS, *(f"{name}Ext" for name in ERRORS), *(f"{name}Extended" for name in DATA)]
    out = ["START_PM_INFO\nNodeGUID,PortGUID,PortNumber,", ",".join(names), "\n"]
    for switch in range(SWITCHES):
        for number in range(1, PORTS + 1):
            out.append(
                f"0x{0x200000 + switch:x},0x{0x200000 + switch:x},{number}," + ",".join(["7"] * len(names)) + "\n"
            )
    return "".join(out) + "END_PM_INFO\n"


def spent_s(work: Callable[[], object], times: int) -> float:
    """CPU-seconds of one call, the best of `times`."""
    best = float("inf")
    for _ in range(times):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best


def text_row(name: str, kind: str, text: str, floor: Floor, times: int) -> str:
    """Records per CPU-second of ours, to the encoded message, and of the floor."""
    raw = text.encode()

    def ours() -> None:
        swept = Texts(reader(kind, {}, None), "c").swept(raw, 1)
        if swept.error or swept.rejects:
            raise RuntimeError(f"{name}: {swept.error or swept.rejects[0][1]}")
        for _, message in swept.messages:
            encode(message)

    records = SWITCHES * PORTS
    rate, bare = records / spent_s(ours, times), records / spent_s(lambda: floor(text), times)
    return f"{name:>16}{len(raw) / 1e6:>8.1f}{rate / 1e3:>14.1f}{bare / 1e3:>14.1f}{bare / rate:>10.1f}"


def split_lines(text: str) -> list[list[str]]:
    """The floor: lines split at blanks, nothing understood."""
    return [line.split() for line in text.splitlines()]


def split_csv(text: str) -> list[list[str]]:
    """The floor: cells of the csv module."""
    return list(csv.reader(text.splitlines()))


def sysfs_rows(folder: Path, sweeps: int) -> list[str]:
    """Microseconds of CPU a sweep: read alone, kept open and opened anew, and the whole to the encoded message."""
    for number in range(HCAS):
        counters = {f"hw_counters/{name}": "1\n" for name in HW}
        pci = f"pci0000:{number:02x}/0000:{number:02x}:01.0"
        device(folder, f"mlx5_{number}", port(PORT | counters), pci=pci)
    kept, anew = Sysfs(folder), Sysfs(folder, Kept(most=0))
    gpus = NearGpus(node="n1", cluster="c", kind="hca", read=lambda _: {})
    host = Host(tree=Sysfs(folder), gpus=gpus, node="n1", cluster="c")
    files = sum(len(one.values) for one in kept.read())

    def whole() -> None:
        for _, message in host.read().messages:
            encode(message)

    times = [spent_s(work, sweeps) * 1e6 for work in (kept.read, anew.read, whole)]
    return [
        f"{HCAS} adapters, {files} files: kept open {times[0]:.0f} us, opened anew {times[1]:.0f} us "
        f"({times[1] / times[0]:.1f} times), to the message {times[2]:.0f} us a sweep"
    ]


def main(argv: list[str] | None = None) -> None:
    """Print one row a text, and one for sysfs."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=5)
    args = options.parse_args(argv or [])
    sys.stdout.write(f"{'text':>16}{'MB':>8}{'k ports/CPU-s':>14}{'bare split k':>14}{'split/us':>10}\n")
    rows: list[tuple[str, str, str, Floor]] = [
        ("perfquery", "perfquery", perfquery(), split_lines),
        ("ibqueryerrors", "ibqueryerrors", ibqueryerrors(), split_lines),
        ("db_csv PM_INFO", "ibdiagnet", db_csv(), split_csv),
    ]
    for name, kind, text, floor in rows:
        sys.stdout.write(text_row(name, kind, text, floor, args.times) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        for line in sysfs_rows(Path(folder), 20 * args.times):
            sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
