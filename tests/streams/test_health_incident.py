"""What node health and incidents tell each other."""

from collectors.contract.message import Message
from streams.contract import Finding, Incident, NodeHealth
from streams.correlation import Correlation
from tests.streams.story import T0, S, fleet, found, gpu, node, silent


def told(correlation: Correlation, *findings: Finding, until_s: int) -> list[Message]:
    """What the findings bring about, with a tick a second."""
    left, out = list(findings), list[Message]()
    for at_s in range(until_s):
        while left and left[0].ts_us <= T0 + at_s * S:
            out += [message for _, message in correlation.feed(left.pop(0))]
        out += [message for _, message in correlation.tick(T0 + at_s * S)]
    return out


def test_nodes_that_may_not_be_taken_out_are_one_incident_that_pages() -> None:
    lost = [found("xid", gpu(f"G{n}0"), n, "xid_79", severity="critical") for n in range(4)]
    out = told(Correlation(fleet()), *lost, until_s=120)
    guard = [m for m in out if isinstance(m, Incident) and m.cause_word == "fleet_guard"]
    assert [(i.state, i.severity, i.subject.kind, i.subject.id) for i in guard if i.state == "opened"] == [
        ("opened", "critical", "pool", "default")
    ]
    last = {m.node: m for m in out if isinstance(m, NodeHealth)}
    assert [(last[f"n{n}"].state, last[f"n{n}"].cordon) for n in range(4)] == [
        ("cordoned", True),
        ("cordoned", True),
        ("suspect", False),
        ("suspect", False),
    ]


def test_a_dead_nvlink_does_not_explain_that_its_node_fell_silent() -> None:
    dead = found("gpu_link", gpu("G20"), 0, "nvlink_down", severity="critical")
    out = told(Correlation(fleet()), dead, silent(node("n2"), 20), until_s=120)
    opened = {i.cause_word for i in out if isinstance(i, Incident) and i.state == "opened"}
    assert opened == {"nvlink_down", "node_silent"}


def test_a_lost_gpu_explains_that_its_node_fell_silent() -> None:
    lost = found("xid", gpu("G20"), 0, "xid_79", severity="critical")
    out = told(Correlation(fleet()), lost, silent(node("n2"), 20), until_s=120)
    opened = {i.cause_word for i in out if isinstance(i, Incident) and i.state == "opened"}
    assert opened == {"xid_79"}


def test_a_cause_that_turns_up_after_its_symptom_does_not_pass_for_a_second_kind_of_fault() -> None:
    pending, brake = (
        found("memory", gpu("G20"), 0, "row_remap_pending"),
        found("throttle", gpu("G20"), 0.5, "power_brake"),
    )
    for order in ((pending, brake), (brake, pending)):
        correlation, out = Correlation(fleet()), list[Message]()
        for finding in order:
            out += [message for _, message in correlation.feed(finding)]
        out += [message for _, message in correlation.tick(T0 + 60 * S)]
        assert [(i.cause_word, len(i.symptoms)) for i in out if isinstance(i, Incident)][-1] == ("power_brake", 1)
        assert not [m for m in out if isinstance(m, NodeHealth) and m.cordon]
