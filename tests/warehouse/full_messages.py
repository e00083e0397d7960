"""A message of each collector's topic with every field set, and such as have nothing but themselves to tell."""

from typing import Any

from collectors.contract.beat import Beat
from collectors.contract.fabric import CounterForm, Link, Port, PortScrape
from collectors.contract.gpu import Entities, Gpu, GpuScrape
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
)
from tests.warehouse.messages import T0

GPU = Gpu(
    uuid="GPU-a",
    index=3,
    model="H100",
    pci="0000:1a:00",
    mig="1g.10gb/7",
    namespace="ml",
    pod="p",
    container="c",
    hpc_job="77",
    pod_uid="u-1",
    mig_uuid="MIG-a",
)
PLACEMENT = Placement(
    rank=1,
    node="n1",
    gpu_uuid="GPU-a",
    gpu_index=3,
    pod="ml/p",
    gpu_model="H100",
    coords=Coords(dp=1, tp=2, pp=3, cp=4, ep=5, virtual_stages=(3, 7)),
)
PLACED = JobEvent(
    cluster="east",
    ts_us=T0,
    job="train",
    attempt=2,
    kind="placed",
    placement=[PLACEMENT],
    model=ModelShape(
        params=7e9, active_params=1e9, layers=32, heads=16, head_dim=128, seq_len=4096, dtype="bf16", name="m"
    ),
    flops_per_token=4.5e10,
    config_hash="c0ffee",
    state="running",
    reason="asked",
    step=9,
    bytes=10,
    seconds=1.5,
    rank=1,
    node="n1",
    pid=7,
    source="slurm",
    aliases=["77"],
)


def full() -> list[tuple[Topic[Any], Message]]:
    """What a float column keeps to seven digits has no more here."""
    return [
        (
            GPU_SCRAPES,
            GpuScrape(
                cluster="east",
                ts_us=T0,
                node="n1",
                source="nvml",
                gpus=[GPU],
                columns={"100": [1980.0], "156": [7.0], "155": [None], "55": [1.0]},
                named={"own": [0.5]},
                errors={"1004": "not supported"},
                labels={"driver_version": "550.54"},
                entities=[
                    Entities(kind="nvlink", ids=["3"], parents=["GPU-a"], columns={"1040": [5.0]}, named={"x": [2.0]})
                ],
            ),
        ),
        (
            KERNEL_EVENTS,
            KernelEvent(
                cluster="east",
                ts_us=T0,
                node="n1",
                kind="xid",
                code=79,
                pci="0000:1a:00",
                gpu_uuid="GPU-a",
                mig="1g.10gb/7",
                device="mlx5_0",
                pid=7,
                process="python",
                detail="fell off",
                raw="NVRM: Xid",
            ),
        ),
        (
            NCCL_WINDOWS,
            CollectiveWindow(
                cluster="east",
                ts_us=T0,
                job="train",
                node="n1",
                source="flight-recorder",
                comm="pg:1",
                comm_size=2,
                comm_nodes=1,
                comm_name="dp",
                comm_ranks="0-1",
                job_rank=1,
                pid=7,
                gpu_uuid="GPU-a",
                members=[
                    CommMember(rank=1, host="n1", pid=7, gpu=1, nvml=2, pci="0000:1a:00", state="error", error="remote")
                ],
                dropped=0,
                last_enqueued=8,
                last_started=7,
                last_completed=6,
                rank=[1],
                seq=[7],
                coll=["Send"],
                bytes=[10],
                exec_us=[1.5],
                algbw_gbs=[2.5],
                busbw_gbs=[3.5],
                timing=["kernel"],
                peer=[0],
                state=["started"],
                op_id=[4],
                created_us=[T0 - 3],
                started_us=[T0 - 2],
                completed_us=[T0 - 1],
                dtype=["bf16"],
                algo=["RING_LL128"],
                size_class=["4-5GB"],
                variant=["in place"],
                wrong=[0.0],
            ),
        ),
        (
            JOB_STEPS,
            StepReport(
                cluster="east",
                ts_us=T0,
                job="train",
                attempt=2,
                node="n1",
                rank=[1],
                step=[3],
                phase=["train"],
                start_us=[T0 - 9],
                step_s=[1.5],
                compute_s=[1.0],
                wait_s=[0.25],
                transfer_s=[0.5],
                data_s=[0.125],
                checkpoint_s=[0.0],
                cpu_s=[0.75],
                tokens=[4096],
                sum_sq_len=[10],
                tflops_per_gpu=[400.5],
                global_batch_size=[512],
                microbatch_forward_s=[[0.25, 0.5]],
                microbatch_backward_s=[[0.5, 0.75]],
                config_hash="c0ffee",
            ),
        ),
        (JOB_EVENTS, PLACED),
        (JOB_PLACEMENTS, PLACED),
        (
            FABRIC_SCRAPES,
            PortScrape(
                cluster="east",
                ts_us=T0,
                device="n1/mlx5_0",
                kind="hca",
                node="n1",
                epoch="boot-1",
                ports=[
                    Port(name="1", speed_gbps=400.0, link_layer="infiniband", lossless=[3], oper_up=False),
                    Port(name="2"),
                ],
                columns={"port_rx_bytes": [5, None], "pfc_rx_frames.3": [6, 7], "ib_symbol_errors": [None, 1]},
                forms={
                    "pfc_rx_frames.3": CounterForm(kind="counter", bits=32, refresh_us=10_000_000),
                    "ib_symbol_errors": CounterForm(kind="saturating_counter", bits=16),
                },
                named={"own": ["up", 1.5]},
                baseline=True,
                errors={"port_tx_bytes": "no such path"},
                saturated={"ib_symbol_errors": [65535, None]},
            ),
        ),
        (
            FABRIC_LINKS,
            Link(
                cluster="east",
                ts_us=T0,
                device="leaf1",
                port="Ethernet0",
                far_device="n1",
                far_port="mlx5_0",
                far_kind="nic",
                node="n1",
                gpu_uuids=["GPU-a"],
                gpu_index=[3],
                rail=2,
                source="lldp",
                up=False,
            ),
        ),
        (
            NODE_STATES,
            NodeState(
                cluster="east",
                ts_us=T0,
                node="n1",
                source="slurm",
                schedulable=False,
                planned=True,
                states=["DRAIN"],
                reason="disk",
                by="mika",
                until_us=T0 + 5,
                rack="r1",
                serial="s1",
            ),
        ),
        (
            COLLECTOR_BEATS,
            Beat(
                cluster="east",
                ts_us=T0,
                collector="dcgm@n1",
                source="dcgm",
                target="http://n1:9400",
                subject="n1",
                ok=False,
                seconds=0.5,
                messages=1,
                samples=9,
                bytes=100,
                ignored={"cpu": 4},
                lost=2,
                spooled=3,
                interval_s=5.0,
                error="timed out",
            ),
        ),
    ]


def bare() -> list[tuple[Topic[Any], Message]]:
    """A message that says only that something was asked and had nothing: not the same as silence."""
    window = CollectiveWindow(ts_us=T0, job="train", node="n1", comm="c", comm_size=2, rank=[], seq=[], coll=[])
    return [
        (GPU_SCRAPES, GpuScrape(ts_us=T0, node="n1", gpus=[])),
        (NCCL_WINDOWS, window),
        (FABRIC_SCRAPES, PortScrape(ts_us=T0, device="leaf1", ports=[])),
    ]
