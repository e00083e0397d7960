"""What collectors read of the fleet at one moment: pages, ports, steps, and the beats that say how it went."""

from collectors.contract.beat import Beat
from collectors.contract.fabric import Port, PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.job import StepReport
from infra.fleet import exporter
from infra.fleet.layout import LOSSLESS, PORT_SPEED_GBPS
from infra.fleet.microbatches import microbatch_times
from infra.fleet.port import COUNTERS
from infra.fleet.step import Step
from infra.fleet.world import World


def gpu_scrape(world: World, node: str) -> GpuScrape:
    """The node's exporter page as its collector reads it."""
    pairs = world.seen(node)
    model, gpus = world.layout.gpu_slots[node][0].model, [gpu for _, gpu in pairs]
    return GpuScrape(
        cluster=world.cluster,
        ts_us=world.now_us,
        node=node,
        gpus=[slot.described(gpu.job) for slot, gpu in pairs],
        columns=exporter.columns(model, gpus),
        labels={"driver_version": exporter.DRIVER_VERSION},
        entities=(
            [
                exporter.nvlinks([slot for slot, _ in pairs], gpus),
                exporter.nvswitches(world.troubles.any(node, world.now_s, "nvswitch_reset")),
            ]
            if world.scenario.nvlinks
            else []
        ),
    )


def port_columns(world: World, device: str) -> dict[str, list[int]]:
    """Canonical counter -> one value per port of the switch."""
    ports = world.fabric.ports
    rows = [ports[f"{device}/{name}"].values for name in world.layout.port_names(device)]
    return {name: [row[i] for row in rows] for i, name in enumerate(COUNTERS)}


def port_scrape(world: World, device: str) -> PortScrape:
    """The switch's counters as its collector reads them."""
    blind = world.blind(device)
    return PortScrape(
        cluster=world.cluster,
        ts_us=world.now_us,
        device=device,
        epoch="1",
        ports=[
            Port(
                name=name,
                speed_gbps=PORT_SPEED_GBPS,
                link_layer="ethernet",
                lossless=list(LOSSLESS),
                oper_up=world.fabric.ports[f"{device}/{name}"].up,
            )
            for name in world.layout.port_names(device)
        ],
        columns={
            name: list(row) if name not in blind else [None] * len(row)
            for name, row in port_columns(world, device).items()
        },
    )


def report(step: Step, node: str, cluster: str) -> StepReport:
    """One node's ranks over one step."""
    rows = step.rows_of[node]

    def column(values: list[float]) -> list[float | None]:
        return [values[row] for row in rows]

    forward, backward = microbatch_times(step, rows)
    return StepReport(
        cluster=cluster,
        ts_us=step.end_us,
        job=step.job,
        attempt=step.attempt,
        node=node,
        rank=[step.members[row].rank for row in rows],
        step=[step.number] * len(rows),
        phase=[step.phase] * len(rows),
        start_us=[step.start_us] * len(rows),
        step_s=[step.step_s] * len(rows),
        compute_s=column(step.compute_s),
        wait_s=column(step.wait_s),
        transfer_s=column(step.transfer_s),
        data_s=column(step.data_s),
        checkpoint_s=[step.checkpoint_s] * len(rows),
        cpu_s=column(step.cpu_s),
        tokens=[step.tokens] * len(rows),
        sum_sq_len=[step.sum_sq_len[row] for row in rows],
        microbatch_forward_s=forward,
        microbatch_backward_s=backward,
    )


def beat(world: World, source: str, subject: str, ok: bool) -> Beat:
    """One sweep of a collector outside the hosts over one target."""
    return Beat(
        cluster=world.cluster,
        ts_us=world.now_us,
        collector=f"{source}@simulation",
        source=source,
        target=f"simulated://{subject}",
        subject=subject,
        ok=ok,
        messages=int(ok),
        interval_s=world.scenario.interval_s,
        error=None if ok else "no answer",
    )


def own_beat(world: World, source: str, node: str) -> Beat:
    """One sweep of a collector that runs on a node and reads the node itself."""
    return Beat(
        cluster=world.cluster,
        ts_us=world.now_us,
        collector=f"{source}@{node}",
        source=source,
        subject=node,
        interval_s=world.scenario.interval_s,
    )
