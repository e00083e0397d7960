"""Edges of an episode: one opening, damped updates, one clearing."""

import msgspec

from streams.contract import Finding, Severity, Subject, finding_key
from streams.episodes import Damping, Episodes, graver

GPU = Subject(kind="gpu", id="GPU-1", node="n1", gpu_uuid="GPU-1")
MINUTE = 60_000_000


def found(
    ts_us: int,
    value: float | None = None,
    severity: Severity = "warning",
    cause: str = "c",
    subject: Subject = GPU,
) -> Finding:
    return Finding(
        detector="d",
        state="opened",
        subject=subject,
        episode_us=ts_us,
        ts_us=ts_us,
        severity=severity,
        cause=cause,
        value=value,
        summary="s",
    )


def test_the_first_report_opens_and_the_same_again_says_nothing() -> None:
    episodes = Episodes()
    first = episodes.report("GPU-1", found(5))
    assert first is not None
    assert (first.state, first.episode_us) == ("opened", 5)
    assert episodes.report("GPU-1", found(6)) is None


def test_an_update_keeps_the_start_of_its_episode() -> None:
    episodes = Episodes()
    episodes.report("GPU-1", found(5))
    edge = episodes.report("GPU-1", found(9, severity="critical"))
    assert edge is not None
    assert (edge.state, edge.episode_us, edge.ts_us, edge.severity) == ("updated", 5, 9, "critical")


def test_a_value_that_doubles_is_told_only_after_the_damping_time() -> None:
    episodes = Episodes()
    episodes.report("GPU-1", found(0, value=10.0))
    assert episodes.report("GPU-1", found(MINUTE - 1, value=40.0)) is None
    assert episodes.report("GPU-1", found(MINUTE, value=19.0)) is None
    assert episodes.report("GPU-1", found(MINUTE, value=20.0)) is not None


def test_a_milder_severity_is_no_news() -> None:
    episodes = Episodes()
    episodes.report("GPU-1", found(0, value=1.0, severity="critical"))
    assert episodes.report("GPU-1", found(MINUTE * 9, value=99.0, cause="other")) is None


def test_growth_from_zero_is_growth() -> None:
    episodes = Episodes()
    episodes.report("GPU-1", found(0, value=0.0))
    assert episodes.report("GPU-1", found(MINUTE, value=0.0)) is None
    assert episodes.report("GPU-1", found(MINUTE, value=1.0)) is not None


def test_clearing_ends_the_episode_once() -> None:
    episodes = Episodes()
    episodes.report("GPU-1", found(5, value=3.0))
    edge = episodes.clear("GPU-1", 50, "gone")
    assert edge is not None
    assert (edge.state, edge.episode_us, edge.ts_us, edge.value, edge.summary) == (
        "cleared",
        5,
        50,
        3.0,
        "gone",
    )
    assert episodes.clear("GPU-1", 51, "gone") is None
    assert episodes.open == {}


def test_two_episodes_of_one_part_never_share_a_key() -> None:
    episodes = Episodes()
    a = episodes.report("GPU-1/a", found(5, cause="a"))
    b = episodes.report("GPU-1/b", found(5, cause="b"))
    assert a is not None and b is not None
    assert finding_key(a) != finding_key(b)


def test_open_episodes_are_bounded() -> None:
    episodes = Episodes()
    assert episodes.report("a", found(1), most=1) is not None
    assert episodes.report("b", found(2), most=1) is None
    assert list(episodes.open) == ["a"]


def test_episodes_survive_encoding() -> None:
    episodes = Episodes()
    episodes.report("GPU-1", found(5), Damping())
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(episodes), type=Episodes)
    assert again == episodes
    assert again.report("GPU-1", found(6)) is None


def test_gravity_is_ordered() -> None:
    assert graver("critical", "warning") and graver("warning", "info") and not graver("info", "info")
