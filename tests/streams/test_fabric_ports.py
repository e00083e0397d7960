"""What the fabric's detectors share."""

import pytest

from collectors.contract.fabric import PortScrape
from streams.contract import Finding, finding_key
from streams.detectors.all import detectors
from streams.detectors.fabric_ports import make_room, port_subject, report, split
from streams.episodes import Damping, Episodes
from tests.streams.detector_stories import named
from tests.streams.fabric import S, line, ports

NAMES = ("pause", "link_quality", "link_flap", "transport", "counter_blind", "lossless_drop")


@pytest.mark.parametrize(
    ("column", "parts"),
    [
        ("queue_drop_packets.3", ("queue_drop_packets", 3)),
        ("port_rx_bytes", ("port_rx_bytes", None)),
        ("queue_drop_packets.64", ("queue_drop_packets.64", None)),
        ("queue_drop_packets.UC7", ("queue_drop_packets.UC7", None)),
        ("queue_drop_packets.", ("queue_drop_packets.", None)),
    ],
)
def test_a_columns_index_is_a_small_number_or_none(column: str, parts: tuple[str, int | None]) -> None:
    assert split(column) == parts


def test_the_part_read_longest_ago_makes_room() -> None:
    seen = {"a": 3, "b": 1, "c": 2}
    make_room(seen, 3, lambda ts_us: ts_us)
    assert seen == {"a": 3, "c": 2}
    make_room(seen, 3, lambda ts_us: ts_us)
    assert seen == {"a": 3, "c": 2}


def test_two_priorities_that_begin_together_have_keys_of_their_own() -> None:
    scrape, episodes, keys = ports(1, {}), Episodes(), set[str]()
    for priority in (3, 4):
        finding = Finding(
            ts_us=S,
            detector="x",
            state="opened",
            subject=port_subject(scrape, "eth0", priority),
            episode_us=S,
            severity="info",
            cause="counter_blind",
            summary="",
        )
        edge = report(episodes, str(priority), finding, Damping())
        assert edge is not None
        keys.add(finding_key(edge))
    assert len(keys) == 2


def renamed(n: int) -> PortScrape:
    """Ports that have a new name each time, each of which errs in every way."""
    told = ports(
        10 * n,
        {
            "port_rx_fcs_error_frames": n,
            "rdma_ack_timeouts": 100 * n,
            "pfc_rx_pause_us.3": 10 * n * S,
            "port_link_down_events": n,
            "queue_drop_packets.3": n,
            "ib_symbol_errors": n,
        },
        up=True,
    )
    port = told.ports[0].__class__(name=f"p{n // 3}", speed_gbps=400.0, oper_up=True)
    return told.__class__(**{f: getattr(told, f) for f in told.__struct_fields__} | {"ports": [port]})


@pytest.mark.parametrize("name", NAMES)
def test_ports_without_end_leave_what_is_kept_small(name: str) -> None:
    detector = named(detectors(), name)
    state = detector.fresh()
    sizes = []
    for n in range(3 * 1500):
        state, _ = detector.step(state, [renamed(n)])
        if n % 1500 == 1499:
            sizes.append(len(detector.keep(state) or b""))
    assert max(sizes) < 4_000_000


def test_lines_of_links_without_end_leave_what_is_kept_small() -> None:
    detector = named(detectors(), "link_flap")
    state = detector.fresh()
    for n in range(6000):
        state, _ = detector.step(state, [line(n, "link_down", f"eth{n}")])
    assert len(detector.keep(state) or b"") < 4_000_000
