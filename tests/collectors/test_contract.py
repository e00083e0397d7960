"""Golden bytes: what is on the wire today must be readable for ever."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from collectors.contract.beat import Beat, Rejected
from collectors.contract.fabric import CounterForm, Link, Port, PortScrape
from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import CollectiveWindow, Coords, JobEvent, ModelShape, Placement, StepReport
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.node import NodeState
from collectors.contract.topics import (
    COLLECTOR_BEATS,
    FABRIC_LINKS,
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    JOB_STEPS,
    KERNEL_EVENTS,
    NCCL_WINDOWS,
    NODE_STATES,
    REJECTED,
)
from infra.topics import ALL_TOPICS
from streams.contract import (
    FINDINGS,
    INCIDENTS,
    NODE_HEALTH,
    NODE_PASTS,
    ORDERS,
    Evidence,
    Finding,
    GpuPast,
    HealthReason,
    Incident,
    NodeHealth,
    NodePast,
    Order,
    Subject,
    finding_key,
)

T = 1_700_000_000_000_000
GPU = "GPU-00000000-0000-0000-0000-000000000001"
PLACED = JobEvent(
    ts_us=T,
    job="j",
    kind="placed",
    placement=[Placement(rank=0, node="n1", gpu_uuid=GPU, coords=Coords(dp=0, pp=1))],
    model=ModelShape(params=8e9, layers=32),
)
FINDING = Finding(
    ts_us=T + 1,
    detector="throttle",
    state="opened",
    subject=Subject(kind="gpu", id=GPU, node="n1"),
    episode_us=T,
    severity="warning",
    cause="thermal_throttle",
    value=1200.0,
    limit=1782.0,
    unit="MHz",
    summary="slow",
    evidence=[Evidence(what="SM clock", value=1200.0, unit="MHz")],
)

# Topic, message and key; what stands on the wire is golden/TOPIC.json.
GOLDEN: list[tuple[Any, Message, str]] = [
    (
        GPU_SCRAPES,
        GpuScrape(ts_us=T, node="n1", gpus=[Gpu(uuid=GPU, index=0)], columns={"150": [41.0], "310": [None]}),
        "default/n1",
    ),
    (
        KERNEL_EVENTS,
        KernelEvent(ts_us=T, node="n1", kind="xid", code=79, pci="0000:1a:00", raw="NVRM: Xid"),
        "default/n1",
    ),
    (
        JOB_STEPS,
        StepReport(ts_us=T, job="j", node="n1", rank=[0, 1], step=[7, 7], phase=["train", "train"], step_s=[1.5, None]),
        "default/j",
    ),
    (
        JOB_PLACEMENTS,
        PLACED,
        "default/j",
    ),
    (
        JOB_EVENTS,
        JobEvent(ts_us=T, job="j", kind="ended", state="completed"),
        "default/j",
    ),
    (
        NCCL_WINDOWS,
        CollectiveWindow(
            ts_us=T, job="j", node="n1", comm="009e7a479f95a66c", comm_size=8, rank=[0], seq=[3], coll=["AllReduce"]
        ),
        "default/j",
    ),
    (
        FABRIC_SCRAPES,
        PortScrape(
            ts_us=T,
            device="leaf1",
            ports=[Port(name="Ethernet0", speed_gbps=400.0, lossless=[3])],
            columns={"port_rx_bytes": [18446744073709551615], "queue_drop_packets.3": [None]},
            forms={"queue_drop_packets.3": CounterForm(refresh_us=10_000_000)},
        ),
        "default/leaf1",
    ),
    (
        FABRIC_LINKS,
        Link(ts_us=T, device="leaf1", port="Ethernet0", far_device="n1", far_port="eth0", far_kind="nic", node="n1"),
        "default/leaf1/Ethernet0/file",
    ),
    (
        COLLECTOR_BEATS,
        Beat(ts_us=T, collector="dcgm@h", source="dcgm", target="http://n1:9400/metrics", messages=1, samples=256),
        "default/dcgm@h",
    ),
    (
        REJECTED,
        Rejected(ts_us=T, source="gpu.scrapes.v1", partition=1, offset=2, why="no", raw=b"\xff\x00"),
        "gpu.scrapes.v1",
    ),
    (
        FINDINGS,
        FINDING,
        f"default/gpu/{GPU}",
    ),
    (
        INCIDENTS,
        Incident(
            ts_us=T,
            id="i1",
            state="opened",
            severity="critical",
            cause=finding_key(FINDING),
            cause_word="thermal_throttle",
            detector="throttle",
            subject=FINDING.subject,
            jobs=["j"],
            opened_us=T,
            summary="slow",
            action="drain",
            runbook="docs/runbooks/thermal_throttle.md",
        ),
        "default/i1",
    ),
    (
        NODE_HEALTH,
        NodeHealth(
            ts_us=T,
            node="n1",
            score=75.0,
            schedulable=True,
            state="suspect",
            reasons=[HealthReason(cause="thermal_throttle", points=25.0, part=GPU, since_us=T, finding="f")],
        ),
        "default/n1",
    ),
    (
        NODE_STATES,
        NodeState(
            ts_us=T,
            node="n1",
            source="slurm",
            schedulable=False,
            planned=True,
            states=["IDLE", "DRAIN"],
            reason="fan",
            by="ann",
            until_us=T + 1,
            rack="r1",
            serial="S1",
        ),
        "default/n1/slurm",
    ),
    (
        ORDERS,
        Order(
            ts_us=T, id="o1", kind="mute", cause="link_flap", parts=["rack:r1"], until_us=T + 1, by="ann", why="swap"
        ),
        "default/o1",
    ),
    (
        NODE_PASTS,
        NodePast(
            ts_us=T,
            node="n1",
            gpus=[
                GpuPast(uuid=GPU, days={20000: 2.0}, events={20000: 1}, correctable_remaps={20000: 1.0}, seen_days=9)
            ],
            fleet_gpu_days=100.0,
            fleet_events=2.0,
            fleet_event_days=1.0,
        ),
        "default/n1",
    ),
]


def golden(topic: Any) -> str:
    return (Path(__file__).parent / "golden" / f"{topic.name}.json").read_text().strip()


def of_then(now: Any, once: Any) -> Any:
    """What is written now, less the fields that were not there once, at any depth."""
    if isinstance(now, dict) and isinstance(once, dict):
        return {name: of_then(now[name], once[name]) for name in once}
    if isinstance(now, list) and isinstance(once, list) and len(now) == len(once):
        return [of_then(one, other) for one, other in zip(now, once, strict=True)]
    return now


def test_every_topic_has_golden_bytes() -> None:
    assert {topic.name for topic, *_ in GOLDEN} == {topic.name for topic in ALL_TOPICS}


@pytest.mark.parametrize(("topic", "message", "key"), GOLDEN, ids=[g[0].name for g in GOLDEN])
def test_a_message_is_on_the_wire_as_it_always_was(topic: Any, message: Message, key: str) -> None:
    wire = golden(topic)
    # Fields may be added: what once stood there must still read as the same message.
    assert topic.decode(wire.encode()) == message
    once = msgspec.json.decode(wire)
    assert of_then(msgspec.json.decode(topic.encode(message)), once) == once
    assert topic.decode(topic.encode(message)) == message
    assert topic.key(message) == key


@pytest.mark.parametrize(("topic", "message", "key"), GOLDEN, ids=[g[0].name for g in GOLDEN])
def test_a_field_of_tomorrow_is_ignored(topic: Any, message: Message, key: str) -> None:
    wire = golden(topic)
    assert topic.key(message) == key
    assert topic.decode(wire[:-1].encode() + b',"of_tomorrow":[1,{"a":2}]}') == message


def test_what_few_reports_hold_stands_beside_the_rest_and_a_rank_of_many_stages_names_them() -> None:
    report = StepReport(
        ts_us=T,
        job="j",
        node="n1",
        rank=[0, 1],
        step=[7, 7],
        phase=["train", "train"],
        global_batch_size=[512, None],
        microbatch_forward_s=[[0.1, 0.2], None],
        microbatch_backward_s=[[0.2, 0.4], None],
        config_hash="9f2c",
    )
    wire = JOB_STEPS.encode(report)
    assert b'"microbatch_forward_s":[[0.1,0.2],null]' in wire
    assert JOB_STEPS.decode(wire) == report
    place = Placement(rank=0, node="n1", coords=Coords(pp=0, virtual_stages=(0, 2)))
    placed = JobEvent(ts_us=T, job="j", kind="placed", placement=[place], config_hash="9f2c")
    wire = JOB_PLACEMENTS.encode(placed)
    assert b'"virtual_stages":[0,2]' in wire
    assert JOB_PLACEMENTS.decode(wire) == placed


def test_a_wrong_type_fails_and_names_the_field() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"ts_us"):
        KERNEL_EVENTS.decode(b'{"node":"n1","ts_us":"soon","kind":"xid"}')


def test_the_cluster_is_part_of_every_key_but_that_of_rejected_bytes() -> None:
    for topic, message, key in GOLDEN:
        if topic is not REJECTED:
            assert topic.key(msgspec.structs.replace(message, cluster="east")) == key.replace("default/", "east/", 1)


def test_what_lldp_sees_does_not_replace_what_the_file_says_in_the_compacted_log() -> None:
    keys = [
        FABRIC_LINKS.key(Link(ts_us=T, device="leaf1", port="Ethernet1/1", far_device="n1", source=source))
        for source in ("file", "inventory", "lldp")
    ]
    assert keys == [f"default/leaf1/Ethernet1/1/{source}" for source in ("file", "inventory", "lldp")]


@pytest.mark.parametrize("ts_us", [-1, 253_402_300_800_000_000])
def test_a_time_that_no_calendar_has_is_not_read(ts_us: int) -> None:
    wire = msgspec.json.encode({"ts_us": ts_us, "node": "n", "kind": "xid"})
    with pytest.raises(msgspec.ValidationError, match="ts_us"):
        KERNEL_EVENTS.decode(wire)
