"""One message of every topic, as small as it can be and still fill every table."""

from typing import Any

from collectors.contract.beat import Beat, Rejected
from collectors.contract.fabric import Link, Port, PortScrape
from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import (
    CollectiveWindow,
    CommMember,
    Coords,
    JobEvent,
    ModelShape,
    Placement,
    StepReport,
)
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.node import NodeState
from collectors.contract.topic import Topic
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
from streams.contract import (
    FINDINGS,
    INCIDENTS,
    NODE_HEALTH,
    ORDERS,
    Evidence,
    Finding,
    HealthReason,
    Incident,
    NodeHealth,
    Order,
    Subject,
)

T0 = 1_780_000_000_000_000
"""2026-05-28 20:26:40 UTC."""


def gpu_scrape(ts_us: int = T0, **changes: Any) -> GpuScrape:
    """Two GPUs, a wide field, a field without a column, a metric without an id."""
    whole: dict[str, Any] = {
        "node": "n1",
        "ts_us": ts_us,
        "gpus": [Gpu(uuid="GPU-a", index=0, model="H100", hpc_job="77"), Gpu(uuid="GPU-b", index=1, pod_uid="u-1")],
        "columns": {"100": [1980.0, 0.0], "156": [7.0, None], "55": [1.0, None]},
        "named": {"my_metric": [0.5, None]},
        "errors": {"1004": "not supported"},
        "labels": {"driver_version": "550.54"},
    }
    return GpuScrape(**(whole | changes))


def port_scrape(ts_us: int = T0, **changes: Any) -> PortScrape:
    """Two ports, a wide counter, a counter of a priority, a name of the source's own."""
    whole: dict[str, Any] = {
        "device": "leaf1",
        "ts_us": ts_us,
        "epoch": "boot-1",
        "ports": [Port(name="Ethernet0", speed_gbps=400.0, lossless=[3]), Port(name="Ethernet4")],
        "columns": {
            "port_rx_bytes": [2**64 - 1, 5],
            "pfc_rx_frames.3": [2**63, None],
            "queue_avg_bytes.3": [9, None],
        },
        "named": {"own": ["up", 1.5]},
        "errors": {"port_tx_bytes": "no such path"},
    }
    return PortScrape(**(whole | changes))


def job_placed(ts_us: int = T0, nodes: tuple[str, ...] = ("n1", "n2"), **changes: Any) -> JobEvent:
    """A rank a node."""
    placement = [
        Placement(rank=rank, node=node, gpu_uuid=f"GPU-{node}", coords=Coords(dp=rank, virtual_stages=(rank, rank + 2)))
        for rank, node in enumerate(nodes)
    ]
    return JobEvent(job="train", kind="placed", ts_us=ts_us, placement=placement, **changes)


def finding(state: Any = "opened", ts_us: int = T0, **changes: Any) -> Finding:
    """An edge of one episode of a hot GPU."""
    whole: dict[str, Any] = {
        "detector": "throttle",
        "state": state,
        "subject": Subject(kind="gpu", id="GPU-a", node="n1", gpu_uuid="GPU-a", gpu_index=0),
        "episode_us": T0,
        "ts_us": ts_us,
        "severity": "warning",
        "cause": "thermal_throttle",
        "value": 1200.0,
        "limit": 1782.0,
        "unit": "MHz",
        "summary": "GPU 0 of n1 runs slow",
        "evidence": [Evidence(what="SM clock", value=1200.0, unit="MHz", ts_us=ts_us)],
        "jobs": ["train"],
    }
    return Finding(**(whole | changes))


def incident(state: Any = "opened", ts_us: int = T0, **changes: Any) -> Incident:
    """An edge of one incident."""
    whole: dict[str, Any] = {
        "id": "i-1",
        "state": state,
        "severity": "critical",
        "cause": "throttle|default/gpu/GPU-a|1",
        "cause_word": "thermal_throttle",
        "detector": "throttle",
        "subject": Subject(kind="gpu", id="GPU-a", node="n1"),
        "symptoms": ["s-1"],
        "jobs": ["train"],
        "gpus": ["GPU-a"],
        "gpu_hours_lost_per_hour": 3.2,
        "opened_us": T0,
        "ts_us": ts_us,
        "summary": "one hot GPU holds up train",
        "action": "drain n1",
        "runbook": "docs/runbooks/thermal_throttle.md",
    }
    return Incident(**(whole | changes))


def one_of_each() -> list[tuple[Topic[Any], Message]]:
    """A message of every topic."""
    return [
        (GPU_SCRAPES, gpu_scrape()),
        (KERNEL_EVENTS, KernelEvent(node="n1", ts_us=T0, kind="xid", code=79, pci="0000:1a:00", raw="NVRM")),
        (
            NCCL_WINDOWS,
            CollectiveWindow(
                job="train",
                node="n1",
                ts_us=T0,
                comm="00ad56c683b0c4ef",
                comm_size=2,
                rank=[0, 1],
                seq=[5, 5],
                coll=["AllReduce", "AllReduce"],
                exec_us=[10.5, 4.25],
                last_completed=5,
                members=[CommMember(rank=0, host="n1", pid=7, gpu=0, state="ready")],
            ),
        ),
        (
            JOB_STEPS,
            StepReport(
                job="train",
                node="n1",
                ts_us=T0 + 5,
                rank=[0, 1],
                step=[3, 3],
                phase=["train", "train"],
                start_us=[T0, None],
                step_s=[1.5, 2.0],
                compute_s=[1.0, 1.75],
                tokens=[4096, None],
                global_batch_size=[512, None],
                microbatch_forward_s=[[0.25, 0.5], None],
                microbatch_backward_s=[[0.5, 1.0], []],
                config_hash="9f2c",
            ),
        ),
        (
            JOB_EVENTS,
            JobEvent(
                job="train", kind="started", ts_us=T0, model=ModelShape(name="llama", params=7e9), config_hash="9f2c"
            ),
        ),
        (JOB_PLACEMENTS, job_placed()),
        (FABRIC_SCRAPES, port_scrape()),
        (FABRIC_LINKS, Link(device="leaf1", port="Ethernet0", ts_us=T0, far_device="n1", gpu_uuids=["GPU-a"])),
        (COLLECTOR_BEATS, Beat(collector="dcgm@n1", source="dcgm", ts_us=T0, samples=9)),
        (REJECTED, Rejected(source="job.steps.v1", ts_us=T0, why="bad", raw=b"\x00{")),
        (FINDINGS, finding()),
        (INCIDENTS, incident()),
        (
            NODE_STATES,
            NodeState(node="n1", ts_us=T0, source="slurm", schedulable=False, planned=True, states=["DRAIN"]),
        ),
        (ORDERS, Order(id="o-1", ts_us=T0, kind="ack", incident="inc-1", by="mika")),
        (
            NODE_HEALTH,
            NodeHealth(
                node="n1",
                ts_us=T0,
                score=40.0,
                schedulable=False,
                state="suspect",
                reasons=[HealthReason(cause="ecc", points=60.0, part="GPU-a", since_us=T0, finding="f-1")],
            ),
        ),
    ]
