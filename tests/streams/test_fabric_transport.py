"""RDMA that has to repeat: what is far more than usual, and what is no loss."""

from collections.abc import Sequence
from typing import Any

import pytest

from collectors.contract.fabric import CounterForm, PortScrape
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.fabric_transport import TransportDetector
from tests.streams.fabric import S, edges, host, run

TIMEOUTS = "rdma_ack_timeouts"
NAKS = "rdma_rx_nak_seq_err"


def judge(*items: PortScrape | Tick) -> list[Finding]:
    return run(TransportDetector(), *items)


def at_rates(per_minute: Sequence[float], every: int = 10, name: str = TIMEOUTS, **more: Any) -> list[PortScrape]:
    """One rate a minute."""
    out, total, at_s = [host(0, {name: 0}, **more)], 0.0, 0
    for rate in per_minute:
        for _ in range(60 // every):
            at_s += every
            total += rate * every / 60
            out.append(host(at_s, {name: int(total)}, **more))
    return out


def test_ten_timeouts_a_minute_on_a_quiet_host_are_a_record_with_their_numbers() -> None:
    found = judge(*at_rates([0, 0, 12, 12]))
    assert edges(found) == [("opened", "info", "transport_retries", "n1/eth0", 170)]
    assert (found[0].subject.node, found[0].value, found[0].limit) == ("n1", 10.0, 10.0)
    assert found[0].evidence[0].what == "ack timeouts (rdma_ack_timeouts)"


def test_timeouts_and_sequence_errors_count_together() -> None:
    rows = [host(10 * n, {TIMEOUTS: n - 9 if n > 9 else 0, NAKS: n - 9 if n > 9 else 0}) for n in range(16)]
    assert [f.cause for f in judge(*rows)] == ["transport_retries"]


def test_arrivals_out_of_order_alone_are_many_paths_and_not_loss() -> None:
    assert judge(*at_rates([0, 9000, 9000, 9000], name="rdma_rx_out_of_sequence")) == []


def test_what_a_host_always_does_is_no_record_until_it_is_five_times_as_much() -> None:
    assert judge(*at_rates([30] * 30)) == []
    found = judge(*at_rates([30] * 30 + [60, 140]))
    assert found == []
    (edge,) = judge(*at_rates([30] * 30 + [240]))
    assert edge.limit == pytest.approx(150.0, rel=0.1)


def test_nine_a_minute_are_no_sign_of_anything() -> None:
    assert judge(*at_rates([0, 9, 9, 9, 9])) == []


def test_a_connection_that_was_given_up_is_told_at_once() -> None:
    name = "rdma_retries_exceeded"
    (edge,) = judge(host(0, {TIMEOUTS: 0, name: 0}), host(10, {TIMEOUTS: 3, name: 1}))
    assert "1 connections given up" in edge.summary


def test_it_is_over_after_five_calm_minutes_that_were_read() -> None:
    found = judge(*at_rates([0, 0, 40, 40, *[0] * 8]))
    assert [(f.state, f.ts_us // S) for f in found] == [("opened", 140), ("cleared", 600)]
    silent = at_rates([0, 0, 40])
    assert len(judge(*silent, host(5000, {TIMEOUTS: None}), Tick(10**6 * S))) == 1


def test_a_32_bit_wrap_is_not_a_flood_of_retries() -> None:
    forms = {TIMEOUTS: CounterForm(bits=32)}
    rows = [host(10 * n, {TIMEOUTS: value}, forms=forms) for n, value in enumerate([2**32 - 2] * 9 + [0, 1, 1])]
    assert judge(*rows) == []


def test_a_transport_that_loses_by_design_is_not_judged() -> None:
    assert judge(*at_rates([0, 0, 500, 500], named={"driver": ["efa"]})) == []


def test_polls_of_five_minutes_are_rates_over_five_minutes() -> None:
    assert judge(*(host(300 * n, {TIMEOUTS: 40 * n}) for n in range(9))) == []
    assert [f.cause for f in judge(*(host(300 * n, {TIMEOUTS: 60 * max(0, n - 2)}) for n in range(9)))] == [
        "transport_retries"
    ]
