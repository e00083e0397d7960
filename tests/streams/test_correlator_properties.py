"""What holds for the correlator whatever findings come: batch cuts, doubles, lateness and restarts change nothing."""

import itertools
from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from collectors.contract.fabric import Port, PortScrape
from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import JobEvent, Placement
from collectors.contract.node import NodeState
from streams.contract import Finding, Incident, Order, Subject, finding_key, subject_key
from streams.correlation import Correlation
from streams.correlator import Correlator
from streams.correlator_state import CorrelatorState
from streams.detector import Tick
from streams.world import World
from tests.streams.story import T0, S, found, gpu, node, rank, silent
from tests.streams.test_fabric_joins import cable, port, retry, storm

Item = Finding | Tick
PATIENCE_S = 400
"""After the last finding: everything is told, and everything that ended is settled."""

fast = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def small() -> World:
    """Six hosts with four GPUs in two racks, two leaves below a spine, two jobs, one host in planned work, a mute."""
    world = World()
    for n in range(6):
        gpus = [Gpu(uuid=f"G{n}{i}", index=i, pci=f"0000:{i}a:00") for i in range(4)]
        world.learn(GpuScrape(ts_us=T0, node=f"n{n}", gpus=gpus))
        world.learn(NodeState(ts_us=T0, node=f"n{n}", source="slurm", rack=f"r{n // 3}", planned=n == 5))
        leaf = "leaf-a" if n < 3 else "leaf-b"
        world.learn(cable(leaf, f"E{n}", f"n{n}-nic", "p0", node=f"n{n}"))
        nic = [Port(name="p0", oper_up=True)]
        world.learn(PortScrape(ts_us=T0, device=f"n{n}-nic", kind="nic", node=f"n{n}", ports=nic))
    for leaf in ("leaf-a", "leaf-b"):
        world.learn(cable(leaf, "U1", "spine-1", f"{leaf}-1", far_kind="switch"))
    for job, nodes in (("train", (0, 1, 3)), ("serve", (4,))):
        ranks = [
            Placement(rank=4 * k + i, node=f"n{n}", gpu_uuid=f"G{n}{i}") for k, n in enumerate(nodes) for i in range(4)
        ]
        world.learn(JobEvent(ts_us=T0, job=job, kind="placed", placement=ranks))
    world.learn(Order(ts_us=T0, id="m", kind="mute", cause="link_flap", until_us=T0 + 120 * S, by="ann"))
    return world


KINDS: tuple[Callable[[int, float], Finding], ...] = (
    lambda n, at: found("throttle", gpu(f"G{n % 6}{n % 4}"), at, "thermal_throttle"),
    lambda n, at: found("throttle", gpu(f"G{n % 6}{n % 4}"), at, "power_brake"),
    lambda n, at: found("xid", gpu(f"G{n % 6}{n % 4}"), at, "xid_79", severity="critical"),
    lambda n, at: found("memory", gpu(f"G{n % 6}{n % 4}"), at, "row_remap_pending"),
    lambda n, at: found("straggler", rank(n % 12), at, "gpu_slow", value=1.3),
    lambda n, at: found("straggler", node(f"n{n % 6}"), at, "host_slow"),
    lambda n, at: found("straggler", Subject(kind="job", id="train", job="train"), at, "job_regression"),
    lambda n, at: silent(node(f"n{n % 6}"), at),
    lambda n, at: silent(gpu(f"G{n % 6}{n % 4}"), at),
    lambda n, at: silent(Subject(kind="device", id="leaf-a"), at),
    lambda n, at: silent(Subject(kind="collector", id=f"dcgm@n{n % 6}"), at),
    lambda n, at: storm("leaf-a", f"E{n % 3}", at, "receives"),
    lambda n, at: storm("spine-1", "leaf-a-1", at, "receives"),
    lambda n, at: storm("leaf-b", "U1", at, "receives"),
    lambda n, at: found("lossless_drop", port("leaf-b", f"E{3 + n % 3}"), at, "lossless_drop"),
    lambda n, at: found("fabric_link", port("leaf-a", f"E{n % 3}"), at, "link_down"),
    lambda n, at: found("fabric_link", port(f"n{n % 6}-nic", "p0"), at, "link_flap"),
    lambda n, at: found("fabric_link", port("leaf-a", f"E{n % 3}"), at, "bad_link"),
    lambda n, at: retry(f"n{n % 6}", at),
)


@st.composite
def stories(draw: st.DrawFn, most: int = 25) -> list[Item]:
    """Findings of any kind on any part, their better verdicts and their ends, with a tick a few seconds."""
    out: list[Item] = []
    opened: list[Finding] = []
    at = 0.0
    for _ in range(draw(st.integers(1, most))):
        at += draw(st.sampled_from([0.0, 0.5, 3.0, 20.0, 70.0]))
        act = draw(st.integers(0, 5))
        if act < 4 or not opened:
            f = draw(st.sampled_from(KINDS))(draw(st.integers(0, 11)), at)
            if finding_key(f) in {finding_key(o) for o in out if isinstance(o, Finding)}:
                continue
            opened.append(f)
        else:
            f = opened[draw(st.integers(0, len(opened) - 1))]
            ts_us = T0 + int(at * S)
            if act == 4:
                opened.remove(f)
                f = structs.replace(f, state="cleared", ts_us=ts_us)
            else:
                f = structs.replace(f, state="updated", ts_us=ts_us, severity="critical")
        out.append(f)
        if draw(st.booleans()):
            out.append(Tick(T0 + int(at * S)))
    return [*out, *(Tick(T0 + int((at + s) * S)) for s in range(1, PATIENCE_S, 7))]


def tell(correlation: Correlation, items: Sequence[Item]) -> list[Incident]:
    out: list[Incident] = []
    for item in items:
        made = correlation.tick(item.ts_us) if isinstance(item, Tick) else correlation.feed(item)
        out += [m for _, m in made if isinstance(m, Incident)]
    return out


@fast
@given(stories(), st.lists(st.integers(0, 200), max_size=6))
def test_cutting_the_batch_elsewhere_changes_nothing(items: list[Item], cuts: list[int]) -> None:
    whole, pieces = Correlator(small()), Correlator(small())
    _, expected = whole.step(CorrelatorState(), items)
    state, told = CorrelatorState(), list[Incident]()
    edges = sorted({0, len(items), *(min(c, len(items)) for c in cuts)})
    for first, last in itertools.pairwise(edges):
        state, some = pieces.step(state, items[first:last])
        told += some
    assert told == expected


@fast
@given(stories(), st.integers(0, 200), st.integers(1, 30))
def test_delivering_a_block_twice_changes_nothing(items: list[Item], first: int, length: int) -> None:
    first = min(first, len(items) - 1)
    last = min(len(items), first + length)
    again = [f for f in items[first:last] if isinstance(f, Finding)]
    assert tell(Correlation(small()), [*items[:last], *again, *items[last:]]) == tell(Correlation(small()), items)


@fast
@given(stories(), st.sets(st.integers(0, 60), max_size=8))
def test_a_restart_at_any_point_changes_nothing(items: list[Item], at: set[int]) -> None:
    rows: dict[str, bytes] = {}
    correlation, told = Correlation(small()), list[Incident]()
    for n, item in enumerate(items):
        told += tell(correlation, [item])
        for key, row in correlation.take_changes().items():
            rows.pop(key, None) if row is None else rows.__setitem__(key, row)
        if n in at:
            correlation = Correlation(small())
            correlation.restore(rows)
    assert told == tell(Correlation(small()), items)


@fast
@given(stories())
def test_every_incident_opens_once_and_ends_at_most_once_and_last(items: list[Item]) -> None:
    edges: dict[str, list[str]] = {}
    for i in tell(Correlation(small()), items):
        edges.setdefault(i.id, []).append(i.state)
    for states in edges.values():
        assert states[0] == "opened"
        assert states.count("opened") == 1
        assert "cleared" not in states[:-1]


@settings(fast, derandomize=True, max_examples=150)
@given(stories(), st.randoms(use_true_random=False))
def test_findings_late_by_some_seconds_change_nothing_but_the_delay(items: list[Item], random: object) -> None:
    """The same findings end up together, whichever came first; only between equals may another be the cause."""
    mixed = late(items, random)
    assert together(items) == together(mixed)


@fast
@given(stories())
def test_no_incident_ends_while_a_finding_of_it_is_open(items: list[Item]) -> None:
    correlation = Correlation(small())
    for item in items:
        tell(correlation, [item])
        for case in correlation.cases.cases.values():
            ended = case.closed_us is not None and case.id not in correlation.cases.folded
            left = [k for k in correlation.cases.keys_of(case.id) if correlation.cases.members[k].cleared_us is None]
            assert not (ended and left)


def late(items: list[Item], random: object) -> list[Item]:
    """Findings in another order, each at most 2 seconds late; what one detector says of one part keeps its order, as in
    Kafka."""
    due: dict[tuple[str, str], int] = {}
    keyed: list[tuple[int, int, Finding]] = []
    for n, f in enumerate(f for f in items if isinstance(f, Finding)):
        at_us = f.ts_us + random.randint(0, 2 * S)  # type: ignore[attr-defined]
        said = (f.detector, subject_key(f))
        due[said] = at_us = max(at_us, due.get(said, 0))
        keyed.append((at_us, n, f))
    return [f for _, _, f in sorted(keyed)]


def together(items: list[Item]) -> set[frozenset[str]]:
    """Which findings stand in one incident after all of them came. What is derived from others begins when the last of
    them came, so it goes by detector and part."""
    correlation = Correlation(small())
    tell(correlation, [i for i in items if isinstance(i, Finding)])
    given = {finding_key(i) for i in items if isinstance(i, Finding)}
    found = (frozenset(correlation.cases.keys_of(case)) for case in correlation.cases.cases)
    return {frozenset(k if k in given else k.rpartition("|")[0] for k in keys) for keys in found if keys}


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_every_kind_of_finding_of_the_suite_brings_something(kind: int) -> None:
    items = [KINDS[kind](n, 0.0) for n in range(6)]
    told = tell(Correlation(small()), [*items, Tick(T0 + 60 * S)])
    assert {i.state for i in told} >= {"opened"}
