"""What Slurm, Kubernetes and a site's own file say of nodes."""

import argparse
import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.kafka import kafka_settings
from collectors.contract.node import NodeState
from collectors.contract.topics import NODE_STATES
from collectors.kubernetes import node_states as kubernetes
from collectors.nodes import source
from collectors.nodes.file import NodeFileError, read_sheet
from collectors.nodes.listing import NodeListing, news
from collectors.slurm import node_states as slurm
from collectors.slurm.reply import ReplyError
from collectors.source import SourceError
from tests.collectors.kubernetes_api import api_server, only_at
from tests.collectors.list_outlet import ListOutlet

T = 1_767_348_000_000_000


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    yield tmp_path
    kafka_settings.cache_clear()


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--interval", type=float, default=0.01)
    source.add_arguments(parser)
    return parser.parse_args(words)


def of_slurm(*documents: dict[str, Any], rack: str | None = None) -> NodeListing:
    raws = [json.dumps({"errors": [], **document}).encode() for document in documents]
    return slurm.read_nodes(raws, T, "c", re.compile(rack) if rack else None)


def node(state: Any, name: str = "gpu-1", **more: Any) -> dict[str, Any]:
    return {"name": name, "state": state, **more}


def service(state: NodeState) -> tuple[bool | None, bool | None, str | None]:
    return state.schedulable, state.planned, state.by


SLURM: list[tuple[dict[str, Any], tuple[bool | None, bool | None, str | None]]] = [
    (node(["IDLE"]), (True, False, None)),
    (node("allocated"), (True, False, None)),
    (node(["MIXED", "PLANNED"]), (True, False, None)),
    (node(["IDLE", "RESERVED"]), (True, False, None)),
    (node(["IDLE", "DRAIN"], reason="fan", reason_set_by_user="ann"), (False, True, "ann")),
    (node("idle", state_flags=["DRAIN"], reason="fan", reason_set_by_user="ann"), (False, True, "ann")),
    (node(["MIXED", "DRAIN"], reason="NHC: gpu", reason_set_by_user="root"), (False, None, None)),
    (node(["DOWN", "NOT_RESPONDING"], reason="Not responding", reason_set_by_user="slurm"), (False, False, None)),
    (node(["DOWN"], reason="RMA", reason_set_by_user="ann"), (False, True, "ann")),
    (node(["IDLE", "MAINTENANCE"]), (False, True, None)),
    (node(["IDLE", "DRAIN", "REBOOT_REQUESTED"], reason="kernel", reason_set_by_user="root"), (False, True, None)),
    (node(["IDLE", "REBOOT_REQUESTED"]), (True, False, None)),
    (node(["IDLE", "POWERED_DOWN"]), (True, True, None)),
    (node(["UNKNOWN"]), (None, False, None)),
    (node([]), (None, None, None)),
]


@pytest.mark.parametrize(("row", "expected"), SLURM, ids=[str(row[0]["state"]) for row in SLURM])
def test_slurm_says_whether_a_node_serves_and_whether_that_is_meant(row: Any, expected: Any) -> None:
    assert service(of_slurm({"nodes": [row]}).states["gpu-1"]) == expected


def test_a_reservation_for_maintenance_is_planned_work_until_its_end() -> None:
    def number(us: int) -> dict[str, Any]:
        return {"set": True, "infinite": False, "number": us // 1_000_000}

    hour = 3_600_000_000
    during = {"name": "pm", "flags": ["MAINT", "SPEC_NODES"], "node_list": "gpu-[1-2]", "start_time": number(T - hour)}
    later = {**during, "name": "next", "start_time": number(T + hour), "end_time": number(T + 3 * hour)}
    plain = {**during, "flags": ["SPEC_NODES"], "node_list": "gpu-3", "end_time": number(T + hour)}
    reservations = {"reservations": [{**during, "end_time": number(T + 2 * hour)}, later, plain]}
    states = of_slurm({"nodes": [node(["IDLE"], f"gpu-{n}") for n in (1, 3)]}, reservations).states
    assert (service(states["gpu-1"]), states["gpu-1"].until_us) == ((False, True, None), T + 2 * hour)
    assert states["gpu-1"].reason == "reservation pm"
    assert (service(states["gpu-3"]), states["gpu-3"].until_us) == ((True, False, None), None)


def test_sinfo_says_the_same_of_nodes_that_are_alike() -> None:
    group = {
        "node": {"state": ["IDLE", "DRAIN"]},
        "nodes": {"nodes": ["gpu-[01-02]"]},
        "reason": {"description": "fan", "user": "ann"},
        "features": {"total": "h100,rack7"},
    }
    states = of_slurm({"sinfo": [group]}, rack=r"^rack(\d+)$").states
    assert {name: (service(s), s.rack) for name, s in states.items()} == {
        "gpu-01": ((False, True, "ann"), "7"),
        "gpu-02": ((False, True, "ann"), "7"),
    }


def test_a_rack_may_stand_in_the_name_of_a_node() -> None:
    assert of_slurm({"nodes": [node(["IDLE"], "r12n03")]}, rack=r"(r\d+)n").states["r12n03"].rack == "r12"


def test_one_bad_node_is_said_and_hides_no_other() -> None:
    found = of_slurm({"nodes": [{"state": ["IDLE"]}, node(["IDLE"])]})
    assert (list(found.states), found.complete, len(found.unread)) == (["gpu-1"], False, 1)


def test_an_error_of_slurm_is_no_empty_cluster() -> None:
    with pytest.raises(ReplyError, match="unable to contact"):
        of_slurm({"nodes": [], "errors": [{"description": "unable to contact slurm controller"}]})


def kube(
    labels: dict[str, str] | None = None,
    *,
    ready: str = "True",
    cordoned: bool = False,
    taints: tuple[tuple[str, str], ...] = (),
) -> dict[str, Any]:
    spec: dict[str, Any] = {"taints": [{"key": key, "effect": effect} for key, effect in taints]}
    if cordoned:
        spec["unschedulable"] = True
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    return {"kind": "Node", "metadata": {"name": "gpu-1", "labels": labels or {}}, "spec": spec, "status": status}


CORDON = ("node.kubernetes.io/unschedulable", "NoSchedule")
DEAD = ("node.kubernetes.io/unreachable", "NoExecute")
KUBERNETES: list[tuple[str, dict[str, Any], tuple[bool | None, bool | None, list[str]]]] = [
    ("ready", kube(), (True, False, ["Ready"])),
    ("kept for GPUs", kube(taints=(("nvidia.com/gpu", "NoSchedule"),)), (True, False, ["Ready"])),
    ("cordoned", kube(cordoned=True, taints=(CORDON,)), (False, True, ["Ready", "SchedulingDisabled"])),
    ("dead", kube(ready="Unknown", taints=(DEAD,)), (False, False, ["NotReady"])),
    ("drained and rebooting", kube(ready="False", cordoned=True), (False, True, ["NotReady", "SchedulingDisabled"])),
    ("closed for a fault", kube(taints=(("lockstep.dev/faulty", "NoSchedule"),)), (False, False, ["Ready"])),
    ("maintenance", kube(taints=(("example.com/maintenance", "NoSchedule"),)), (False, True, ["Ready"])),
    (
        "quarantined for a fault",
        kube({"dgxc.nvidia.com/nvsentinel-state": "quarantined"}, cordoned=True),
        (False, False, ["Ready", "SchedulingDisabled"]),
    ),
]


@pytest.mark.parametrize(("row", "expected"), [k[1:] for k in KUBERNETES], ids=[k[0] for k in KUBERNETES])
def test_kubernetes_says_whether_a_node_serves_and_whether_that_is_meant(row: Any, expected: Any) -> None:
    state = kubernetes.read_nodes([row], T, "c").states["gpu-1"]
    assert (state.schedulable, state.planned, state.states) == expected


def test_the_rack_is_that_of_the_first_label_that_a_node_has() -> None:
    row = kube({"topology.kubernetes.io/rack": "r1", "site/rack": "r2"})
    assert kubernetes.read_nodes([row], T, "c").states["gpu-1"].rack == "r1"
    assert kubernetes.read_nodes([row], T, "c", ("site/rack",)).states["gpu-1"].rack == "r2"


def test_the_api_server_is_asked_page_by_page(state: Path) -> None:
    def answer(query: dict[str, str]) -> tuple[int, Any]:
        second = "continue" in query
        row = {**kube(), "metadata": {"name": "gpu-2" if second else "gpu-1"}}
        return 200, {"items": [row], "metadata": {} if second else {"continue": "more"}}

    with api_server(only_at("/api/v1/nodes", answer), state) as kubeconfig:
        outlet = ListOutlet()
        assert source.once(options("--from", "kubernetes", "--kubeconfig", str(kubeconfig)), outlet) == 2
        assert [s.node for s in outlet.of(NODE_STATES)] == ["gpu-1", "gpu-2"]


def test_an_api_server_that_says_no_names_the_right_that_is_needed(state: Path) -> None:
    with (
        api_server(only_at("/api/v1/nodes", lambda _: (403, {})), state) as kubeconfig,
        pytest.raises(SourceError, match="role with list of nodes"),
    ):
        source.once(options("--from", "kubernetes", "--kubeconfig", str(kubeconfig)), ListOutlet())


TOML = """
[[node]]
name = "gpu-[1-2]"
rack = "r1"
serial = "S1"
[[maintenance]]
nodes = ["gpu-2", "gpu-3"]
from = 2026-01-02T09:00:00Z
until = 2026-01-02T11:00:00+00:00
reason = "fans"
by = "ann"
"""
CSV = """node,rack,serial,from,until,reason,by
gpu-[1-2],r1,S1,,,,
gpu-[2-3],,,2026-01-02T09:00:00Z,2026-01-02T11:00:00Z,fans,ann
"""


@pytest.mark.parametrize("text", [TOML, CSV], ids=["TOML", "CSV"])
def test_a_file_tells_racks_and_planned_work(text: str) -> None:
    sheet = read_sheet(text, "nodes")
    now, later = sheet.at(T, "c").states, sheet.at(T + 7_200_000_000, "c").states
    assert {n: (s.rack, s.planned, s.reason, s.by) for n, s in now.items()} == {
        "gpu-1": ("r1", None, None, None),
        "gpu-2": ("r1", True, "fans", "ann"),
        "gpu-3": (None, True, "fans", "ann"),
    }
    assert now["gpu-2"].until_us == T + 3_600_000_000
    assert {n: s.planned for n, s in later.items()} == {"gpu-1": None, "gpu-2": False, "gpu-3": False}


BAD = {
    "node,rack\ngpu-1\n": "n:2: 1 cells, 2 columns",
    "name,rack\n": "n:1: the first line names no columns",
    "node,rac\n": "n:1: no such column 'rac'",
    "node,from,until\ng,2026-01-02T09:00:00,2026-01-02T11:00:00Z\n": "n:2: from: '2026-01-02T09:00:00' is not a time",
    "node,from\ng,2026-01-02T09:00:00Z\n": "n:2: until: 'None' is not a time",
    "[[nodes]]\n": "n: no such table 'nodes'",
    "[[node]]\nnmae = 'x'\n": "n: [[node]] 1: no such key 'nmae'",
    "[[node]]\nname = 'gpu[1-'\n": "n: [[node]] 1: name: ",
    "[[maintenance]]\nnodes='a'\nfrom=2026-01-02T09:00:00Z\nuntil=2026-01-01T09:00:00Z\n": "ends before it begins",
}


@pytest.mark.parametrize(("text", "said"), BAD.items())
def test_a_mistake_in_a_file_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(NodeFileError, match=re.escape(said)):
        read_sheet(text, "n")


def test_only_what_changed_is_news_and_a_node_that_left_is_unknown() -> None:
    first = of_slurm({"nodes": [node(["IDLE"], "a"), node(["IDLE"], "b")]})
    told = dict(first.states)
    assert news(told, first, T + 1) == []
    assert [(s.node, s.states) for s in news(told, of_slurm({"nodes": [node(["DOWN"], "a")]}), T + 1)] == [
        ("a", ["DOWN"]),
        ("b", ["REMOVED"]),
    ]
    told["b"] = NodeState(cluster="c", node="b", ts_us=T, source="slurm", states=["REMOVED"])
    assert [s.node for s in news(told, of_slurm({"nodes": [node(["IDLE"], "a")]}), T + 2)] == []


def test_words_are_told_on_change_and_a_broken_file_changes_nothing(state: Path) -> None:
    path, outlet = state / "nodes.csv", ListOutlet()
    path.write_text("node,rack\na,r1\nb,r1\n")

    async def run() -> None:
        serving = asyncio.create_task(source.serve(options("--file", str(path)), outlet))
        await _until(lambda: len(outlet.beats) >= 2)
        path.write_text("node,rack\na\n")
        await _until(lambda: not outlet.beats[-1].ok)
        path.write_text("node,rack\na,r2\nb,r1\n")
        await _until(lambda: outlet.beats[-1].ok)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(run())
    assert [(s.node, s.rack) for s in outlet.of(NODE_STATES)] == [("a", "r1"), ("b", "r1"), ("a", "r2")]
    assert next(b.error for b in outlet.beats if not b.ok) == f"{path}:2: 1 cells, 2 columns"


def test_everything_is_told_again_now_and_then(state: Path) -> None:
    path, outlet = state / "nodes.csv", ListOutlet()
    path.write_text("node,rack\na,r1\n")

    async def run() -> None:
        serving = asyncio.create_task(source.serve(options("--file", str(path), "--again", "0.02"), outlet))
        await _until(lambda: len(outlet.of(NODE_STATES)) >= 3)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(run())
    assert {s.node for s in outlet.of(NODE_STATES)} == {"a"}


def test_a_check_says_how_many_nodes_lack_a_rack(state: Path) -> None:
    path = state / "nodes.csv"
    path.write_text("node,rack\na,r1\nb,\n")
    (sight,) = source.check(options("--file", str(path)))
    assert (sight.ok, sight.sees) == (False, "2 nodes in 1 racks, 0 closed, 0 out on purpose")
    assert sight.lacks == "the rack of 1 nodes"


def test_who_knows_the_nodes_has_to_be_said(state: Path) -> None:
    with pytest.raises(SourceError, match="say who knows them"):
        source.once(options(), ListOutlet())


def test_a_saved_answer_is_known_by_its_form(state: Path) -> None:
    for document, by in (({"nodes": [node(["IDLE"])]}, "slurm"), ({"items": [kube()]}, "kubernetes")):
        path, outlet = state / f"{by}.json", ListOutlet()
        path.write_text(json.dumps(document))
        source.once(options("--file", str(path)), outlet)
        assert [(s.node, s.source) for s in outlet.of(NODE_STATES)] == [("gpu-1", by)]


async def _until(done: Any) -> None:
    for _ in range(500):
        if done():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("not within 5 s")
