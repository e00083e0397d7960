"""A NIC's statistics: microseconds of CPU a read by our own call, beside running `ethtool -S`."""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time

from collectors.contract.topic import encode
from collectors.fabric.rows import Device, scrapes
from collectors.nic.ethtool import Ethtool
from collectors.nic.interfaces import NET, indices, interface
from collectors.nic.rows import row

READS = 20_000
RUNS = 50


def ours_us(ethtool: Ethtool, name: str) -> float:
    """CPU a read."""
    ethtool.read(name)
    begun = time.process_time()
    for _ in range(READS):
        ethtool.read(name)
    return (time.process_time() - begun) / READS * 1e6


def message_us(ethtool: Ethtool, name: str) -> float:
    """CPU from the read to the encoded message."""
    one = interface(NET / name, name)
    device = Device(name="n1", kind="nic", node="n1", cluster="c", ts_us=1)
    begun = time.process_time()
    for _ in range(READS // 20):
        found = ethtool.read(name)
        told = list(zip(found.names, found.values, strict=True))
        for scrape in scrapes([row(one, told, [], None)], device):
            encode(scrape)
    return (time.process_time() - begun) / (READS // 20) * 1e6


def exec_us(tool: str, name: str) -> float:
    """CPU of the tool's own process, started and ended."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(RUNS):
        subprocess.run([tool, "-S", name], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / RUNS * 1e6


def main(argv: list[str] | None = None) -> None:
    """Print one row an interface that has statistics."""
    argparse.ArgumentParser(description=__doc__).parse_args(argv or [])
    tool = shutil.which("ethtool", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    ethtool = Ethtool()
    sys.stdout.write(f"{'interface':>12}{'counters':>10}{'own us':>10}{'message us':>12}{'exec us':>10}{'ratio':>8}\n")
    for name, _ in indices(NET):
        try:
            count = len(ethtool.read(name).names)
        except OSError:
            continue
        own, whole = ours_us(ethtool, name), message_us(ethtool, name)
        run = exec_us(tool, name) if tool is not None else float("nan")
        sys.stdout.write(f"{name:>12}{count:>10}{own:>10.1f}{whole:>12.0f}{run:>10.0f}{run / own:>8.0f}\n")
    ethtool.close()


if __name__ == "__main__":
    main(sys.argv[1:])
