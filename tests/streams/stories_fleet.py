"""Faults of a small fleet that no single detector can name: what parts, hosts, cables and nodes show together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.fabric import Link, Port, PortScrape
from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import JobEvent, Placement
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.node import NodeState
from collectors.contract.topic import Topic
from collectors.contract.topics import (
    FABRIC_LINKS,
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    KERNEL_EVENTS,
    NODE_STATES,
)
from streams.contract import FINDINGS, INCIDENTS, NODE_HEALTH, Incident
from streams.correlation import Output
from streams.detector import Tick
from streams.pipeline import Pipeline
from tests.streams.scrapes import H100, SECOND, T0
from tests.streams.story_form import Stretch

Told = tuple[Topic[Any], Message] | Tick
NODES = 4
GPUS = 2
PERIOD_S = 10
WORDS = ("calm", "dark", "retrying", "spoiling", "fallen", "failed")
"""Three nodes silent at once; three hosts that retry; errors at one end of a cable; a lost GPU in every node; a lost
GPU, and its job fails."""
LEAST, MOST = 36, 42
"""Sweeps of a stretch: six minutes, for retries end after five without any, and a reset GPU is well after five."""
SILENT, RETRYING = (0, 1, 2), (0, 1, 2)


@dataclass
class Fleet:
    """Counters as the stretches move them."""

    at_s: int = 0
    attempt: int = 0
    retries: int = 0
    errors: int = 0
    lost: set[int] = field(default_factory=set)
    reset_s: dict[int, int] = field(default_factory=dict)
    """Node -> when its GPUs were reset: their energy counts from there."""

    @property
    def now_us(self) -> int:
        return T0 + self.at_s * SECOND

    def standing(self) -> list[Told]:
        """Racks, cables and the job."""
        out: list[Told] = []
        for n in range(NODES):
            rack = NodeState(ts_us=self.now_us, node=f"n{n}", source="slurm", rack="r0" if n < 3 else "r1")
            out.append((NODE_STATES, rack))
            out.append(
                (
                    FABRIC_LINKS,
                    Link(
                        ts_us=self.now_us,
                        device="leaf1",
                        port=f"E{n}",
                        far_device=f"n{n}-nic",
                        far_port="p0",
                        far_kind="nic",
                        node=f"n{n}",
                    ),
                )
            )
        return [*out, self.placed()]

    def placed(self) -> Told:
        rows = [Placement(rank=r, node=f"n{r // GPUS}", gpu_uuid=f"G{r // GPUS}{r % GPUS}") for r in range(4)]
        event = JobEvent(ts_us=self.now_us, job="train", attempt=self.attempt, kind="placed", placement=rows)
        return JOB_PLACEMENTS, event

    def sweep(self, word: str) -> list[Told]:
        """One round of all collectors."""
        out: list[Told] = [Tick(self.now_us), Tick(self.now_us + 5 * SECOND)]
        for n in range(NODES):
            if word == "dark" and n in SILENT:
                continue
            gpus = [Gpu(uuid=f"G{n}{i}", index=i, model=H100, pci=f"0000:{i}a:00") for i in range(GPUS)]
            here = [g for g in gpus if g.index or n not in self.lost]
            energy = 1e9 + self.at_s if n not in self.reset_s else 1.0 + self.at_s - self.reset_s[n]
            cells = {"100": 1900.0, "156": energy, "1002": 0.9}
            columns: dict[str, list[float | None]] = {f: [value] * len(here) for f, value in cells.items()}
            out.append((GPU_SCRAPES, GpuScrape(node=f"n{n}", ts_us=self.now_us + n, gpus=here, columns=columns)))
            retries = self.retries if n in RETRYING else 0
            nic = PortScrape(
                ts_us=self.now_us + n,
                device=f"n{n}-nic",
                kind="nic",
                node=f"n{n}",
                epoch="1",
                ports=[Port(name="p0", speed_gbps=400.0, link_layer="ethernet", oper_up=True)],
                columns={"rdma_ack_timeouts": [retries], "port_rx_fcs_error_frames": [0]},
            )
            out.append((FABRIC_SCRAPES, nic))
        leaf = PortScrape(
            ts_us=self.now_us,
            device="leaf1",
            epoch="1",
            ports=[Port(name=f"E{n}", speed_gbps=400.0, link_layer="ethernet", oper_up=True) for n in range(NODES)],
            columns={"port_rx_fcs_error_frames": [0, 0, 0, self.errors]},
        )
        return [*out, (FABRIC_SCRAPES, leaf)]

    def begin(self, word: str) -> list[Told]:
        """The first second of a stretch: what was lost comes back, and what the word says begins."""
        out: list[Told] = []
        self.reset_s |= dict.fromkeys(self.lost, self.at_s)
        self.lost.clear()
        if word == "fallen":
            self.lost = set(range(NODES))
        elif word == "failed":
            self.lost = {0}
        for n in sorted(self.lost):
            raw = f"NVRM: Xid (PCI:0000:0a:00): 79, GPU has fallen off the bus. {self.at_s}"
            ts_us = self.now_us + 6 * SECOND + n
            line = KernelEvent(node=f"n{n}", ts_us=ts_us, kind="xid", code=79, pci="0000:0a:00", detail=raw, raw=raw)
            out.append((KERNEL_EVENTS, line))
        if word == "failed":
            ts_us = self.now_us + 8 * SECOND
            ended = JobEvent(ts_us=ts_us, job="train", attempt=self.attempt, kind="ended", state="failed")
            out.append((JOB_EVENTS, ended))
        return out


def fleet(stretches: Sequence[Stretch]) -> list[Told]:
    """All messages in the order of their times."""
    now = Fleet()
    out = now.standing()
    before = "calm"
    for word, length in stretches:
        for tick in range(length):
            now.at_s += PERIOD_S
            now.retries += 40 if word == "retrying" else 0
            now.errors += 7 if word == "spoiling" else 0
            if tick == 0 and before == "failed":
                now.attempt += 1
                out.append(now.placed())
            begun = now.begin(word) if tick == 0 else []
            out += [*now.sweep(word), *begun]
        before = word
    return out


def play(items: Sequence[Told], pipeline: Pipeline | None = None) -> list[Output]:
    """What the pipeline brings about."""
    pipeline = pipeline or Pipeline()
    out: list[Output] = []
    for item in items:
        out += pipeline.tick(item.ts_us) if isinstance(item, Tick) else pipeline.feed(*item)
    return out


def causes_told(told: Sequence[Output]) -> set[str]:
    """Every word that a finding, an incident or a node's health names."""
    out: set[str] = set()
    for topic, message in told:
        if topic.name == FINDINGS.name:
            out.add(message.cause)  # type: ignore[attr-defined]
        elif topic.name == INCIDENTS.name:
            out.add(message.cause_word)  # type: ignore[attr-defined]
        elif topic.name == NODE_HEALTH.name:
            out |= {reason.cause for reason in message.reasons}  # type: ignore[attr-defined]
    return out


def incidents(told: Sequence[Output]) -> list[Incident]:
    return [message for _, message in told if isinstance(message, Incident)]
