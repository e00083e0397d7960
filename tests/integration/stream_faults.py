"""A live minute with a fault of every plane that ends again: memory, NVLink, a lost GPU, a port, a late rank."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import structs

from collectors.contract.gpu import GpuScrape
from collectors.contract.job import JobEvent, Placement
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import (
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_PLACEMENTS,
    KERNEL_EVENTS,
    NCCL_WINDOWS,
)
from tests.streams.collectives import Nccl
from tests.streams.stories_fabric import link
from tests.streams.stories_links import links
from tests.streams.stories_lost import lost
from tests.streams.stories_memory import memory_chain
from tests.streams.story_form import Item

S = 1_000_000
LATE_STEPS = (30, 75)
TOPIC: dict[str, Topic[Any]] = {
    "GpuScrape": GPU_SCRAPES,
    "KernelEvent": KERNEL_EVENTS,
    "PortScrape": FABRIC_SCRAPES,
    "JobEvent": JOB_PLACEMENTS,
    "CollectiveWindow": NCCL_WINDOWS,
}
SOON_OVER = """\
[gpu_lost]
settled_s = 6
[gpu_link]
state_fine_s = 6
[link_quality]
clean_s = 10
[correlator]
settle_s = 5
"""
"""What is over is said after seconds here: a test has no half-hour for the calm after each fault."""


def limits_file(folder: Path) -> str:
    """A limits file for `LOCKSTEP_DETECTORS`."""
    path = folder / "soon_over.toml"
    path.write_text(SOON_OVER)
    return str(path)


def faults(start_us: int, seconds: int, calm_s: int = 0) -> list[tuple[Topic[Any], Message]]:
    """Each fault lasts from second 10 to a little after half of `seconds`, then calm to their end and `calm_s` more.

    A scrape every two seconds. By time.
    """
    calm, ill = 5, seconds // 4
    rest = (seconds + calm_s) // 2 - calm - ill
    out: list[Message] = []
    out += _told(lost([("calm", calm), ("gone", ill), ("calm", rest)]), "n30", start_us, 0.2)
    out += _told(links([("calm", calm), ("down", ill), ("calm", rest)]), "n31", start_us, 0.2)
    out += _told(memory_chain([("calm", calm), ("lost", ill), ("reset", rest)]), "n32", start_us, 0.2)
    out += _told(link([("calm", calm), ("spoiling", ill), ("calm", rest)]), None, start_us, 1 / 30)
    first, last = LATE_STEPS
    job = Nccl(
        per_node=2,
        step_s=0.8,
        compute=lambda rank, step: 1.6 if rank == 2 and first <= step < last else 1.0,
    )
    ranks = [Placement(rank=i, node=f"n{30 + i // 8}", gpu_uuid=f"n{30 + i // 8}-GPU-{i % 8}") for i in range(24)]
    out.append(JobEvent(ts_us=start_us, job="hurt", kind="placed", placement=ranks))
    out += _told([job.placed(), *job.steps(0, int((seconds + calm_s) / 0.8) - 1)], None, start_us, 1.0)
    out.sort(key=lambda m: m.ts_us)
    return [(TOPIC[type(m).__name__], m) for m in out]


def _told(items: Iterable[Item], node: str | None, start_us: int, scale: float) -> list[Message]:
    messages = [m for m in items if isinstance(m, Message)]
    base = messages[0].ts_us
    moved = [structs.replace(m, ts_us=start_us + round((m.ts_us - base) * scale)) for m in messages]
    return moved if node is None else [_on(m, node) for m in moved]


def _on(message: Message, node: str) -> Message:
    """The same on another node, whose GPUs have names of their own."""
    if not isinstance(message, GpuScrape):
        return structs.replace(message, node=node)
    gpus = [structs.replace(g, uuid=f"{node}-{g.uuid}") for g in message.gpus]
    entities = [structs.replace(e, parents=[f"{node}-{p}" for p in e.parents]) for e in message.entities]
    columns = {**message.columns, "100": [1900.0] * len(gpus)}
    return structs.replace(message, node=node, gpus=gpus, entities=entities, columns=columns)
