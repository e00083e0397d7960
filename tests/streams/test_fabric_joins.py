from typing import Literal

from msgspec import structs

from collectors.contract.fabric import Link, Port, PortScrape
from streams.contract import Evidence, Finding, Subject
from streams.correlation import Correlation
from streams.fabric_joins import FabricJoins
from streams.fabric_joins_state import JoinState, restore
from streams.world import World
from tests.streams.story import T0, S, cleared, found

BAD, RETRY = "bad_link", "transport_retries"


def two_leaves() -> World:
    """Hosts h0-h3 below leaf-a, h4-h7 below leaf-b; both leaves have two cables to spine-1 and one to spine-2."""
    world = World()
    for n in range(8):
        leaf = "leaf-a" if n < 4 else "leaf-b"
        world.learn(cable(leaf, f"E{n}", f"h{n}-nic", "p0", node=f"h{n}"))
        world.learn(
            PortScrape(ts_us=T0, device=f"h{n}-nic", kind="nic", node=f"h{n}", ports=[Port(name="p0", oper_up=True)])
        )
    for leaf in ("leaf-a", "leaf-b"):
        world.learn(cable(leaf, "U1", "spine-1", f"{leaf}-1", far_kind="switch"))
        world.learn(cable(leaf, "U2", "spine-2", f"{leaf}-2", far_kind="switch"))
    return world


def cable(
    device: str, port: str, far: str, far_port: str, node: str | None = None, far_kind: Literal["nic", "switch"] = "nic"
) -> Link:
    return Link(ts_us=T0, device=device, port=port, far_device=far, far_port=far_port, far_kind=far_kind, node=node)


def port(device: str, name: str) -> Subject:
    return Subject(kind="port", id=f"{device}/{name}", device=device, port=name)


def retry(host: str, at_s: float) -> Finding:
    subject = Subject(kind="device", id=f"{host}-nic", device=f"{host}-nic", node=host)
    return found("fabric_transport", subject, at_s, RETRY, severity="info", value=30.0, unit="1/min")


def joined(world: World, *items: Finding | float) -> list[Finding]:
    joins, state, out = FabricJoins(world), JoinState(), list[Finding]()
    for item in items:
        out += joins.step(state, item) if isinstance(item, Finding) else joins.tick(state, T0 + int(item * S))
        state = restore({k: v for k, v in whole(state).items() if v is not None})
    return out


def whole(state: JoinState) -> dict[str, bytes | None]:
    state.changed = {f"heard|{k}" for k in state.heard} | {f"made|{k}" for k in state.made}
    return state.take_changes()


def gist(findings: list[Finding]) -> list[tuple[str, str, str]]:
    return [(f.state, f.cause, f.subject.id) for f in findings]


def test_three_hosts_of_one_leaf_that_retry_are_a_grey_loss_of_that_leaf() -> None:
    out = joined(two_leaves(), retry("h0", 0), retry("h1", 20), retry("h2", 40), 44.0, 46.0)
    assert gist(out) == [("opened", "grey_loss", "leaf-a")]
    assert (out[0].episode_us, out[0].ts_us) == (T0 + 40 * S, T0 + 45 * S)
    assert (out[0].value, out[0].confidence) == (3.0, "medium")
    assert "h0, h1, h2" in out[0].summary


def test_retries_of_a_nics_port_are_on_the_switch_at_its_cable() -> None:
    world = two_leaves()
    for n in range(3):
        world.learn(cable("leaf-b", f"X{n}", f"h{n}-nic2", "p0", node=f"h{n}"))
    ports = [structs.replace(port(f"h{n}-nic2", "p0"), node=f"h{n}") for n in range(3)]
    out = joined(world, *(found("transport", p, n, RETRY, severity="info") for n, p in enumerate(ports)), 13.0)
    assert gist(out) == [("opened", "grey_loss", "leaf-b")]


def test_two_hosts_are_none() -> None:
    assert joined(two_leaves(), retry("h0", 0), retry("h1", 20), 600.0) == []


def test_hosts_of_both_leaves_that_retry_share_the_spines_and_which_of_them_is_not_known() -> None:
    out = joined(two_leaves(), retry("h0", 0), retry("h1", 0), retry("h4", 5), retry("h5", 6), 17.0)
    assert out[0].subject.id in ("spine-1", "spine-2")
    assert [c.id for c in out[0].candidates[:2]] == ["spine-1", "spine-2"]
    assert out[0].confidence == "low"


def test_a_leaf_that_counts_a_loss_by_itself_has_no_grey_loss() -> None:
    drop = found("lossless_drop", port("leaf-a", "E1"), 0, "lossless_drop")
    hosts = [retry(f"h{n}", n) for n in range(4)]
    assert joined(two_leaves(), drop, *hosts, 20.0) == []
    assert joined(two_leaves(), *hosts, structs.replace(drop, ts_us=T0 + 6 * S), 20.0) == []
    out = joined(two_leaves(), *hosts, 13.0, structs.replace(drop, ts_us=T0 + 14 * S))
    assert gist(out) == [("opened", "grey_loss", "leaf-a"), ("cleared", "grey_loss", "leaf-a")]


def test_a_grey_loss_lasts_while_two_of_its_hosts_retry() -> None:
    hosts = [retry(f"h{n}", n) for n in range(3)]
    ends = [cleared(f, 100 + n) for n, f in enumerate(hosts)]
    assert gist(joined(two_leaves(), *hosts, 13.0, ends[0])) == [("opened", "grey_loss", "leaf-a")]
    out = joined(two_leaves(), *hosts, 13.0, *ends)
    assert gist(out)[1:] == [("cleared", "grey_loss", "leaf-a")]
    assert out[1].ts_us == T0 + 101 * S


def test_a_finding_delivered_twice_or_after_its_end_brings_nothing() -> None:
    hosts = [retry(f"h{n}", n) for n in range(3)]
    ends = [cleared(f, 100 + n) for n, f in enumerate(hosts)]
    once = joined(two_leaves(), *hosts, 13.0, *ends)
    assert gist(once) == [("opened", "grey_loss", "leaf-a"), ("cleared", "grey_loss", "leaf-a")]
    assert joined(two_leaves(), *hosts, *hosts, 13.0, *hosts, *ends, *hosts, *ends) == once


def test_errors_at_one_end_whose_other_end_is_well_are_an_asymmetric_link() -> None:
    bad = found("fabric_link", port("leaf-a", "E1"), 0, BAD)
    out = joined(two_leaves(), bad, 30.0, 61.0, 90.0)
    assert gist(out) == [("opened", "asymmetric_link", "leaf-a/E1")]
    assert (out[0].ts_us, out[0].severity) == (T0 + 60 * S, "warning")
    assert "h1-nic/p0, the other end, is clean and up" in out[0].summary


def test_errors_at_both_ends_or_an_end_that_nobody_reads_are_none() -> None:
    bad = found("fabric_link", port("leaf-a", "E1"), 0, BAD)
    other = found("fabric_link", port("h1-nic", "p0"), 5, BAD)
    assert joined(two_leaves(), bad, other, 61.0, 90.0) == []
    assert joined(two_leaves(), found("fabric_link", port("leaf-a", "U1"), 0, BAD), 90.0) == []


def test_an_asymmetric_link_ends_with_its_errors() -> None:
    bad = found("fabric_link", port("leaf-a", "E1"), 0, BAD)
    out = joined(two_leaves(), bad, 61.0, cleared(bad, 100))
    assert gist(out)[1:] == [("cleared", "asymmetric_link", "leaf-a/E1")]


def test_an_asymmetric_link_is_part_of_the_incident_of_its_bad_link() -> None:
    correlation = Correlation(two_leaves())
    correlation.feed(found("fabric_link", port("leaf-a", "E1"), 0, BAD))
    told = [m for at in (61, 92) for _, m in correlation.tick(T0 + at * S)]
    assert [f.cause for f in told if isinstance(f, Finding)] == ["asymmetric_link"]
    assert len(correlation.cases.cases) == 1
    (case,) = correlation.cases.cases.values()
    assert case.told is not None and case.told.cause_word == BAD


def test_grey_loss_is_one_incident_and_the_jobs_whose_hosts_retry_are_hurt() -> None:
    from collectors.contract.job import JobEvent, Placement

    world = two_leaves()
    for job, hosts in (("hurt", ("h0", "h5")), ("calm", ("h2", "h6"))):
        placement = [Placement(rank=r, node=node) for r, node in enumerate(hosts)]
        world.learn(JobEvent(ts_us=T0, job=job, kind="placed", placement=placement))
    correlation = Correlation(world)
    for n, host in enumerate(("h0", "h1", "h4", "h5")):
        correlation.feed(retry(host, n))
    correlation.tick(T0 + 40 * S)
    (case,) = correlation.cases.cases.values()
    assert case.told is not None
    assert (case.told.cause_word, case.told.jobs) == ("grey_loss", ["hurt"])
    assert [c.id for c in case.told.candidates if c.kind == "job"] == ["calm"]


def test_the_rows_are_enough_to_go_on() -> None:
    one, two = Correlation(two_leaves()), Correlation(two_leaves())
    rows: dict[str, bytes] = {}
    for n in range(3):
        f = retry(f"h{n}", n)
        assert one.feed(f) == two.feed(f)
        for key, row in two.take_changes().items():
            rows.pop(key, None) if row is None else rows.__setitem__(key, row)
        two = Correlation(two_leaves())
        two.restore(rows)
    assert (one.joins.heard, one.joins.made) == (two.joins.heard, two.joins.made)


def storm(device: str, name: str, at_s: float, way: str, priority: int = 3) -> Finding:
    subject = structs.replace(port(device, name), priority=priority)
    rows = [Evidence(what=f"{way} pause on priority {priority}")]
    return found("pause", subject, at_s, "pause_storm", severity="critical", evidence=rows)
