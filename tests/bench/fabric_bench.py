"""Cores that a fabric costs, from message bytes to findings: `python -m tests.bench.fabric_bench`.

64 switches of 64 ports x 40 counters every 10 s, decoded and given to every detector that reads them; beside it the
floor, decoding alone, in the same run. Three fabrics: healthy under load, congested (PFC everywhere), and sick (one
port in 50 errs, drops, flaps and is in a storm). No Kafka.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from collectors.contract.fabric import Port, PortScrape
from collectors.contract.message import Message
from collectors.contract.topics import FABRIC_SCRAPES
from streams.bank import Bank
from streams.detectors.all import detectors

START_US = 1_800_000_000_000_000
EVERY_S = 10
MOVING = (
    *(f"port_{way}_{what}" for way in ("rx", "tx") for what in ("bytes", "packets", "ucast_packets")),
    *(f"queue_tx_{what}.{queue}" for what in ("packets", "bytes") for queue in (0, 3, 4)),
    "fec_corrected_codewords",
    "queue_ecn_marked_packets.3",
)
"""What grows with every scrape of a port under load."""
PFC = ("pfc_rx_frames.3", "pfc_tx_frames.3", "pfc_rx_pause_us.3")
FAULTS = (
    "queue_drop_packets.3",
    "port_rx_fcs_error_frames",
    "fec_uncorrected_codewords",
    "port_oper_transitions",
    "pfcwd_storm_detected.3",
)
STEADY = (
    *(f"queue_drop_packets.{queue}" for queue in (0, 4)),
    *(f"pg_drop_packets.{group}" for group in (0, 3, 4)),
    *(f"pfc_{way}_frames.4" for way in ("rx", "tx")),
    "pfcwd_storm_detected.4",
    *(f"port_{what}_packets" for what in ("rx_discard", "tx_discard", "rx_error", "tx_error")),
    "fec_post_ber",
    "module_temperature",
    "queue_wred_drop_packets.0",
    "port_rx_symbol_error_frames",
    "port_rx_crc_error_frames",
    "pfcwd_state.3",
)
COUNTERS = (*MOVING, *PFC, *FAULTS, *STEADY)


def scrapes(switches: int, ports: int, rounds: int, *, congested: bool, sick: bool) -> Iterator[PortScrape]:
    """Switches that count on from long ago; each sends in its own moment of a round."""
    rng = random.Random(1)
    told = [Port(name=f"Ethernet{4 * p}", speed_gbps=400.0, link_layer="ethernet", oper_up=True) for p in range(ports)]
    values = {s: [[rng.randrange(10**12) for _ in range(ports)] for _ in MOVING] for s in range(switches)}
    paused = {s: [[0] * ports for _ in PFC] for s in range(switches)}
    for at in range(rounds):
        for switch in range(switches):
            for row in values[switch]:
                row[:] = [value + rng.randrange(10**9) for value in row]
            if congested:
                for row in paused[switch]:
                    row[:] = [value + rng.randrange(200_000) for value in row]
            ill = [at if sick and (p + switch) % 50 == 0 else 0 for p in range(ports)]
            yield PortScrape(
                cluster="bench",
                device=f"leaf-{switch:03}",
                ts_us=START_US + (at * EVERY_S * 1000 + switch) * 1000,
                epoch="boot:1",
                ports=told,
                columns={
                    **{name: list(row) for name, row in zip(MOVING, values[switch], strict=True)},
                    **{name: list(row) for name, row in zip(PFC, paused[switch], strict=True)},
                    **{name: list(ill) for name in FAULTS},
                    **{name: [0] * ports for name in STEADY},
                },
            )


def cpu_seconds(work: Callable[[bytes], object], raw: Sequence[bytes]) -> float:
    """CPU time of this process."""
    before = time.process_time()
    for message in raw:
        work(message)
    return time.process_time() - before


def judge(bank: Bank, found: list[str], raw: bytes) -> None:
    """One message from bytes to findings."""
    message: Message = FABRIC_SCRAPES.decode(raw)
    found += [finding.cause for finding in bank.feed(FABRIC_SCRAPES, message)]


def main(argv: Sequence[str] = ()) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--switches", type=int, default=64)
    parser.add_argument("--ports", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args(argv)
    for name, congested, sick in (("healthy", False, False), ("congested", True, False), ("sick", True, True)):
        made = scrapes(args.switches, args.ports, args.rounds, congested=congested, sick=sick)
        raw = [FABRIC_SCRAPES.encode(message) for message in made]
        rounds = args.rounds - 1
        bank, found = Bank(detectors()), list[str]()
        work = partial(judge, bank, found)
        first, rest = raw[: args.switches], raw[args.switches :]
        cpu_seconds(work, first)
        floor, whole = cpu_seconds(FABRIC_SCRAPES.decode, rest), cpu_seconds(work, rest)
        cores, least = whole / (rounds * EVERY_S), floor / (rounds * EVERY_S)
        per_message = whole / len(rest) * 1e6
        sys.stdout.write(
            f"{name:<10} {args.switches} x {args.ports} x {len(COUNTERS)} every {EVERY_S} s: {cores:.4f} cores, "
            f"floor {least:.4f} (decode alone), {per_message:.0f} us/message, {len(found)} findings\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
