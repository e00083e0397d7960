"""Who is compared with whom."""

from collectors.contract.job import Coords, Placement
from streams.detectors.straggler_groups import Stage, peer_groups
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


def layout(stages: dict[int, tuple[int, ...]], dp: int = 2) -> dict[int, Placement]:
    """A pipeline whose ranks hold these virtual stages, `dp` replicas of it."""
    return {
        pp * dp + replica: Placement(
            rank=pp * dp + replica, node="n", coords=Coords(pp=pp, dp=replica, virtual_stages=held)
        )
        for pp, held in stages.items()
        for replica in range(dp)
    }


def test_virtual_stages_that_all_replicas_share_change_no_group() -> None:
    interleaved = layout({0: (0, 2), 1: (1, 3)})
    assert groups(4, interleaved) == groups(4, layout({0: (), 1: ()})) == [(0, 1), (2, 3)]
    assert [g.name for g in peer_groups(range(4), interleaved)] == [
        "stage 0 (virtual stages 0, 2)",
        "stage 1 (virtual stages 1, 3)",
    ]


def test_ranks_of_one_stage_that_hold_other_virtual_stages_are_no_peers() -> None:
    places = layout({0: (0, 2)}, dp=4) | {
        r: Placement(rank=r, node="n", coords=Coords(pp=0, dp=r, virtual_stages=(0, 3))) for r in (2, 3)
    }
    assert groups(4, places) == [(0, 1), (2, 3)]


def test_a_lone_role_is_not_merged_with_another_layout() -> None:
    places = {
        r: Placement(rank=r, node="n", coords=Coords(pp=0, tp=r, virtual_stages=(0, 2) if r < 2 else (0, 3)))
        for r in range(4)
    }
    assert groups(4, places) == [(0, 1), (2, 3)]


def test_virtual_stages_alone_are_a_pipeline() -> None:
    places = {
        r: Placement(rank=r, node="n", coords=Coords(dp=r % 2, virtual_stages=(r // 2, 3 - r // 2))) for r in range(4)
    }
    found = peer_groups(range(4), places)
    assert [(g.ranks, g.name) for g in found] == [((0, 1), "virtual stages 0, 3"), ((2, 3), "virtual stages 1, 2")]
    assert [g.stage for g in found] == [Stage(-1, (0, 3)), Stage(-1, (1, 2))]
