"""CPU for 100,000 driver lines of one node in a minute: `python -m tests.bench.xid_storm_bench`.

From message bytes to incidents through every detector and the correlator; beside it the floor, decoding alone, in
the same run. No Kafka.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from collectors.contract.topics import GPU_SCRAPES, JOB_EVENTS, KERNEL_EVENTS
from streams.contract import Finding, Incident
from streams.pipeline import Pipeline
from tests.streams.scrapes import scrape
from tests.streams.xid_storm import LINES, SPAN_US, START_US, placed, storm


def measure(lines: int) -> str:
    """One line of figures."""
    raw = [KERNEL_EVENTS.encode(event) for event in storm(79, lines)]
    pipeline = Pipeline()
    pipeline.feed(JOB_EVENTS, placed())
    pipeline.feed(GPU_SCRAPES, scrape(1, {"156": 1e9, "100": 1900.0, "1002": 0.9}))
    began = time.process_time()
    for message in raw:
        KERNEL_EVENTS.decode(message)
    floor = time.process_time() - began
    out = []
    began = time.process_time()
    for number, message in enumerate(raw):
        out += pipeline.feed(KERNEL_EVENTS, KERNEL_EVENTS.decode(message))
        if number % 1000 == 0:
            out += pipeline.tick(START_US + number * SPAN_US // lines)
    whole = time.process_time() - began
    findings = sum(isinstance(m, Finding) for _, m in out)
    opened = sum(isinstance(m, Incident) and m.state == "opened" for _, m in out)
    return (
        f"{lines} lines: {whole:.2f} CPU-s, {whole / lines * 1e6:.1f} us a line; decode alone {floor:.2f} CPU-s "
        f"({whole / floor:.1f} x); {whole / (SPAN_US / 1e6):.3f} of a core for the minute; "
        f"{findings} findings, {opened} incidents opened"
    )


def main(argv: Sequence[str] = ()) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=LINES)
    sys.stdout.write(measure(parser.parse_args(argv).lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
