"""Jobs of unequal work, of two peers, of several models, and such that report with holes: told, never paged."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from msgspec import structs

from tests.streams.steps import Job, noisy
from tests.streams.story_form import Item, Story, Stretch

STAGE = 6
"""Ranks from here on are the last pipeline stage."""


def _words(stretches: Sequence[Stretch]) -> list[str]:
    return [word for word, length in stretches for _ in range(length)]


def _told(job: Job) -> list[Item]:
    return [job.placed(), *job.reports()]


def stages(stretches: Sequence[Stretch]) -> list[Item]:
    """The last stage has a little more to do from the start; `uneven`: more than that. `slow`: one rank of it."""
    words = _words(stretches)
    plain = noisy(3, 1.0, 0.01)

    def compute(rank: int, step: int) -> float:
        more = 1.0 if rank < STAGE else 1.16 if words[step] == "uneven" else 1.07
        return plain(rank, step) * (1.4 * more if (words[step], rank) == ("slow", 7) else more)

    return _told(Job(dp=3, pp=3, per_node=3, compute=compute, steps=len(words), step_s=1.0))


def loads(stretches: Sequence[Stretch]) -> list[Item]:
    """`ragged`: in each step another rank has the longest sequences, and computes as much longer."""
    words = _words(stretches)
    plain, uneven = noisy(11, 1.0, 0.01), noisy(10, 1.0, 0.15)

    def load(rank: int, step: int) -> float:
        return uneven(rank, step) if words[step] == "ragged" else 1.0

    job = Job(dp=8, per_node=8, compute=lambda r, s: plain(r, s) * load(r, s), steps=len(words), step_s=1.0)
    fitting = [structs.replace(m, tokens=[int(4096 * load(r, m.step[0])) for r in m.rank]) for m in job.reports()]
    return [job.placed(), *fitting]


def pair(stretches: Sequence[Stretch]) -> list[Item]:
    """`parted`: of two peers one is faster than it was, so that the other looks slow. `slow`: that other is."""
    words = _words(stretches)

    def factor(rank: int, step: int) -> float:
        if words[step] == "parted" and rank == 1:
            return 1 / 1.3
        return 1.3 if words[step] == "slow" and rank == 0 else 1.0

    return _told(Job(dp=2, per_node=1, compute=noisy(7, 1.0, 0.005, factor), steps=len(words), step_s=1.0))


def models(stretches: Sequence[Stretch]) -> list[Item]:
    """Two GPU models in one role. `outpaced`: work that one of them does much faster. `slow`: one rank."""
    words = _words(stretches)

    def factor(rank: int, step: int) -> float:
        if words[step] == "outpaced" and rank >= 4:
            return 2.5
        return 1.5 if words[step] == "slow" and rank == 1 else 1.0

    job = Job(
        dp=8,
        compute=noisy(13, 1.0, 0.01, factor),
        model_of=lambda r: "NVIDIA A100-SXM4-80GB" if r >= 4 else "NVIDIA H100 80GB HBM3",
        steps=len(words),
        step_s=1.0,
    )
    return _told(job)


def holes(stretches: Sequence[Stretch]) -> list[Item]:
    """`holes`: one node of four does not report. `mute`: no rank tells its own compute."""
    words = _words(stretches)
    job = Job(dp=8, per_node=2, compute=noisy(16, 1.0, 0.01), steps=len(words), step_s=1.0)
    out: list[Item] = [job.placed()]
    for report in job.reports():
        word = words[report.step[0]]
        if word != "holes" or report.node != "n3":
            out.append(structs.replace(report, compute_s=[]) if word == "mute" else report)
    return out


def _story(words: Sequence[str], tell: Callable[[Sequence[Stretch]], list[Item]]) -> Story:
    return Story(detector="straggler", words=("calm", *words), tell=tell, least=30, most=45, back=300, examples=4)


STEP_STORIES = (
    _story(("uneven", "slow"), stages),
    replace(_story(("ragged",), loads), least=48, most=60),
    replace(_story(("parted", "slow"), pair), most=60),
    _story(("outpaced", "slow"), models),
    _story(("holes", "mute"), holes),
)
