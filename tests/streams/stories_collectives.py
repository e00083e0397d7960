"""Histories of jobs as NCCL tells them: late ranks and slow links, and hangs that RAS counts show."""

from collections.abc import Sequence

from collectors.contract.job import CollectiveWindow, CommMember, StepReport
from streams.detector import Tick
from tests.streams.collectives import START_US, Nccl, S
from tests.streams.story_form import Item, Story, Stretch

RANKS = 4


def collectives(stretches: Sequence[Stretch]) -> list[Item]:
    """`late`: rank 2 comes last. `narrow`: every transfer with it takes half as long again."""
    word = [name for name, length in stretches for _ in range(length)]
    job = Nccl(
        dp=RANKS,
        per_node=2,
        compute=lambda rank, step: 1.5 if rank == 2 and word[step] == "late" else 1.0,
        link=lambda rank, step: 1.5 if rank == 2 and word[step] == "narrow" else 1.0,
    )
    return [job.placed(), *job.steps(0, len(word))]


def pipelines(stretches: Sequence[Stretch]) -> list[Item]:
    """Stages on nodes of their own, which send to each other. `cut`: what crosses node n2 takes half as long again."""
    word = [name for name, length in stretches for _ in range(length)]
    job = Nccl(dp=2, pp=3, per_node=1, link=lambda rank, step: 1.5 if rank == 2 and word[step] == "cut" else 1.0)
    return [job.placed(), *job.steps(0, len(word))]


def poll(at_s: float, counts: Sequence[int], comm: str = "d0") -> CollectiveWindow:
    """What RAS answers: how many all-reduces each rank has launched."""
    return CollectiveWindow(
        job="j",
        node="n0",
        ts_us=START_US + int(at_s * S),
        source="nccl-ras",
        comm=comm,
        comm_size=len(counts),
        members=[
            CommMember(rank=r, host=f"n{r // 2}", pid=1000 + r, nvml=r % 2, state="ready") for r in range(len(counts))
        ],
        rank=list(range(len(counts))),
        seq=list(counts),
        coll=["AllReduce"] * len(counts),
    )


def step(at_s: float, number: int) -> list[StepReport]:
    """A step of ten seconds of both nodes."""
    return [
        StepReport(
            job="j",
            node=f"n{node}",
            ts_us=START_US + int(at_s * S) + node,
            rank=[2 * node, 2 * node + 1],
            step=[number] * 2,
            phase=["train"] * 2,
            step_s=[10.0] * 2,
        )
        for node in range(2)
    ]


def counted(stretches: Sequence[Stretch]) -> list[Item]:
    """A step and a poll every ten seconds; `stuck`: rank 3 does not launch what the others wait in."""
    out: list[Item] = []
    at, number = 0, 0
    for word, length in stretches:
        for _ in range(length):
            at += 10
            if word == "calm":
                number += 1
                out += [*step(at, number), poll(at + 1, [5 * number] * RANKS)]
            elif word == "stuck":
                out.append(poll(at + 1, [5 * number + 1] * (RANKS - 1) + [5 * number]))
            else:
                out.append(Tick(START_US + at * S))
    return out


COLLECTIVE_STORIES = (
    Story(
        detector="comm",
        words=("calm", "late", "narrow"),
        tell=collectives,
        least=60,
        most=80,
        back=900,
        examples=5,
    ),
    Story(detector="comm", words=("calm", "cut"), tell=pipelines, least=70, most=80, back=3000, examples=3),
    Story(detector="hang", words=("calm", "stuck", "silent"), tell=counted, least=15, most=25, hears=True),
)
