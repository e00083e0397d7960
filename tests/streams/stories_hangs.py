"""Hangs of a job of four ranks that RAS and the flight recorder explain, one way a stretch."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import structs

from collectors.contract.job import CollectiveWindow, CommMember, OperationState
from streams.detector import Tick
from tests.streams.collectives import START_US, S
from tests.streams.stories_collectives import RANKS, poll, step
from tests.streams.story_form import Item, Story, Stretch

Row = tuple[str, int, OperationState]
DONE: Sequence[OperationState] = ("completed", "completed")
INSIDE: Sequence[OperationState] = ("completed", "started")
RECORDED: Mapping[str, Callable[[int], Sequence[OperationState]]] = {
    "absent": lambda rank: DONE if rank == 1 else INSIDE,
    "network": lambda _: INSIDE,
    "program": lambda _: DONE,
}
"""What each rank's last two operations were when it wrote them down."""
GONE: Mapping[str, Sequence[int]] = {"killed": (3,), "crashed": (2, 3)}
"""Ranks whose processes RAS cannot reach."""


def explained(stretches: Sequence[Stretch]) -> list[Item]:
    """A step and a poll every ten seconds; while the job hangs, dumps or polls of who is left."""
    out: list[Item] = []
    at = number = 0
    for word, length in stretches:
        began = at
        for tick in range(length):
            at += 10
            if word == "calm":
                number += 1
                out += [*step(at, number), poll(at + 1, [5 * number] * RANKS)]
                continue
            out.append(Tick(START_US + at * S))
            if word in GONE:
                out.append(_polled(at + 1, number, GONE[word]))
            elif tick in HEARD:
                dumped = began + 10 * HEARD[0] + 1
                out += [_dump(rank, RECORDED[word](rank), dumped, began + 5, number) for rank in range(RANKS)]
    return out


HEARD = (10, 11)
"""Ticks at which what the ranks wrote down is read: again, for a window may be lost."""


def _polled(at_s: int, number: int, gone: Sequence[int]) -> CollectiveWindow:
    counts = [5 * number + (rank not in gone) for rank in range(RANKS)]
    members = [
        CommMember(rank=r, host=f"n{r // 2}", pid=1000 + r, nvml=r % 2, state="dead" if r in gone else "ready")
        for r in range(RANKS)
    ]
    return structs.replace(poll(at_s, counts), members=members)


def _dump(rank: int, states: Sequence[OperationState], at_s: int, called_s: int, number: int) -> CollectiveWindow:
    first = 5 * number + (states[-1] == "started")
    rows: list[Row] = [("AllReduce", first + i, state) for i, state in enumerate(states)]
    return CollectiveWindow(
        job="j",
        node=f"n{rank // 2}",
        ts_us=START_US + at_s * S + rank,
        source="flight-recorder",
        comm="pg:0",
        comm_size=RANKS,
        comm_name="dp",
        comm_ranks=f"0-{RANKS - 1}",
        job_rank=rank,
        rank=[rank] * len(rows),
        coll=[coll for coll, _, _ in rows],
        seq=[seq for _, seq, _ in rows],
        state=[state for _, _, state in rows],
        created_us=[START_US + called_s * S] * len(rows),
    )


HANG_STORY = Story(
    detector="hang",
    words=("calm", *RECORDED, *GONE),
    tell=explained,
    least=20,
    most=30,
    back=400,
    examples=15,
    hears=True,
)
