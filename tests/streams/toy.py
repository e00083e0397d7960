"""A detector small enough to read in a test: a GPU hotter than its limit is an episode."""

from collections.abc import Sequence
from typing import Any

import msgspec

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES
from streams.contract import Finding, Subject
from streams.detector import Tick

TEMPERATURE = "150"
LIMIT_C = 90.0


class HotState(msgspec.Struct):
    """Open episodes by GPU."""

    open: dict[str, int] = msgspec.field(default_factory=dict)
    latest_us: int = 0


class HotDetector:
    """Opens above 90 degrees, clears below."""

    name = "throttle"
    topics: tuple[Topic[Any], ...] = (GPU_SCRAPES,)

    def fresh(self) -> HotState:
        return HotState()

    def step(self, state: HotState, batch: Sequence[Message | Tick]) -> tuple[HotState, list[Finding]]:
        out: list[Finding] = []
        for m in batch:
            if not isinstance(m, GpuScrape) or m.ts_us <= state.latest_us:
                continue
            state.latest_us = m.ts_us
            for gpu, c in zip(m.gpus, m.columns.get(TEMPERATURE, []), strict=False):
                if c is None:
                    continue
                if c > LIMIT_C and gpu.uuid not in state.open:
                    state.open[gpu.uuid] = m.ts_us
                    out.append(hot(m, gpu, c, "opened", m.ts_us))
                elif c <= LIMIT_C and gpu.uuid in state.open:
                    out.append(hot(m, gpu, c, "cleared", state.open.pop(gpu.uuid)))
        return state, out

    def keep(self, state: HotState) -> bytes | None:
        return msgspec.json.encode(state.open) if state.open else None

    def restore(self, kept: bytes) -> HotState:
        return HotState(open=msgspec.json.decode(kept, type=dict[str, int]))


def hot(m: GpuScrape, gpu: Gpu, c: float, state: Any, episode_us: int) -> Finding:
    return Finding(
        cluster=m.cluster,
        ts_us=m.ts_us,
        detector="throttle",
        state=state,
        subject=Subject(kind="gpu", id=gpu.uuid, node=m.node, gpu_uuid=gpu.uuid, pci=gpu.pci),
        episode_us=episode_us,
        severity="warning",
        cause="thermal_throttle",
        value=c,
        limit=LIMIT_C,
        unit="C",
        summary=f"{c:g} C, limit {LIMIT_C:g} C",
    )


def scrape(node: str, ts_us: int, temperatures: list[float | None]) -> GpuScrape:
    """GPUs `node-0`, `node-1`, ... of a node."""
    return GpuScrape(
        node=node,
        ts_us=ts_us,
        gpus=[Gpu(uuid=f"{node}-{i}", index=i, pci=f"0000:{i:02x}:00") for i in range(len(temperatures))],
        columns={TEMPERATURE: temperatures},
    )
