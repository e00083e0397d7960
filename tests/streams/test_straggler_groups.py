"""Who is compared with whom."""

from collectors.contract.job import Coords, Placement
from streams.detectors.straggler_groups import peer_groups
from tests.streams.steps import Job


def placement(job: Job) -> dict[int, Placement]:
    return {p.rank: p for p in job.placed().placement}


def groups(ranks: int, places: dict[int, Placement]) -> list[tuple[int, ...]]:
    return [g.ranks for g in peer_groups(range(ranks), places)]


def flat(_rank: int, _step: int) -> float:
    return 1.0


def test_only_data_parallel_replicas_of_one_stage_and_role_are_peers() -> None:
    assert groups(8, placement(Job(dp=2, pp=2, tp=2, compute=flat))) == [(0, 2), (1, 3), (4, 6), (5, 7)]


def test_lone_roles_are_merged_within_their_stage() -> None:
    assert groups(8, placement(Job(dp=1, pp=2, tp=4, compute=flat))) == [(0, 1, 2, 3), (4, 5, 6, 7)]


def test_a_rank_alone_in_its_stage_stays_alone() -> None:
    assert groups(4, placement(Job(dp=1, pp=4, tp=1, compute=flat))) == [(0,), (1,), (2,), (3,)]


def test_gpus_of_another_model_are_no_peers() -> None:
    places = {
        r: Placement(rank=r, node="n", gpu_model="H100" if r < 2 else "A100", coords=Coords(dp=r)) for r in range(4)
    }
    assert groups(4, places) == [(0, 1), (2, 3)]


def test_without_a_placement_the_job_is_one_group() -> None:
    assert groups(4, {}) == [(0, 1, 2, 3)]


def test_ranks_that_the_placement_leaves_out_are_compared_with_each_other() -> None:
    places = placement(Job(dp=2, compute=flat))
    assert groups(4, places) == [(0, 1), (2, 3)]
