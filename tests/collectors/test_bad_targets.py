"""Whatever a target does costs one time-out and one beat with the reason, and no other target anything."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collectors import kubernetes_api
from collectors.contract.beat import Beat
from collectors.contract.kafka import kafka_settings
from collectors.gnmi import patience
from collectors.prometheus import importer
from tests.collectors.bad_proxy import Abuse
from tests.collectors.bad_targets import MIB, ROWS, TIMEOUT, Row, Scene

LONGEST_S = 20.0
SOCKETS = 48 * MIB
"""What two sockets and their programs hold beside what was read."""
_HANGS = re.compile("within|silent|nothing came|not answered")
PAIRS = [pytest.param(row, abuse, id=f"{row.name}-{abuse.name}") for row in ROWS for abuse in row.abuses]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Waits that no option shortens."""
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    monkeypatch.setattr(kubernetes_api, "WAIT_S", float(TIMEOUT))
    monkeypatch.setattr(patience, "CONNECT_TIMEOUT_S", 2 * float(TIMEOUT))
    monkeypatch.setattr(importer, "TRIES", 1)
    monkeypatch.setattr(importer, "LONGEST_WAIT_S", 0.01)
    yield
    kafka_settings.cache_clear()


async def until(true: Callable[[], bool], what: str) -> None:
    """Wait until it is so."""
    try:
        async with asyncio.timeout(LONGEST_S):
            while not true():
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"waited in vain for {what}") from None


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def endure(scene: Scene, row: Row, abuse: Abuse) -> tuple[list[Beat], list[Beat], int]:
    """Good, bad, good again: the bad target's failed beats, the other's meanwhile, and how far memory grew."""
    outlet, proxy = scene.outlet, scene.proxy

    def beats(of: Callable[[Beat], bool], ok: bool, since: int) -> list[Beat]:
        return [beat for beat in outlet.beats[since:] if of(beat) and beat.ok is ok]

    await until(lambda: bool(beats(scene.bad, True, 0)), "a first good sweep")
    proxy.half = max(1, proxy.passed // 2)
    await until(lambda: bool(beats(scene.good, True, 0)), "a first good sweep of the other")
    most = before = resident()
    begun = len(outlet.beats)

    def begin() -> None:
        """The connection that was kept has ended, which a source may tell too: what counts is what follows."""
        nonlocal begun
        begun = len(outlet.beats)

    proxy.abuse, proxy.first_asked = abuse, begin
    proxy.forget()

    def failures() -> list[Beat]:
        found = beats(scene.bad, False, begun)
        return [beat for beat in found if _HANGS.search(beat.error or "")] if abuse.hangs else found

    def enough() -> bool:
        nonlocal most
        most = max(most, resident())
        return proxy.asked > 0 and bool(failures()) and len(beats(scene.good, True, begun)) >= 2

    await until(enough, "a failed beat, and good ones of the other")
    failed, others = failures(), [beat for beat in outlet.beats[begun:] if scene.good(beat)]
    proxy.abuse = None
    sent = proxy.sent
    proxy.forget()
    assert sent <= row.most + SOCKETS, f"{sent >> 20} MiB were taken"
    healed = len(outlet.beats)
    await until(lambda: bool(beats(scene.bad, True, healed)), "a good sweep after it")
    return failed, others, most - before


@pytest.mark.parametrize(("row", "abuse"), PAIRS)
def test_a_bad_target_costs_one_beat_with_the_reason_and_no_other_target_anything(
    row: Row, abuse: Abuse, tmp_path: Path
) -> None:
    if row.needs is None:
        pytest.skip(f"a program that {row.name} needs is not installed")

    async def story() -> tuple[list[Beat], list[Beat], int]:
        async with row.play(tmp_path) as scene:
            return await endure(scene, row, abuse)

    failed, others, grown = asyncio.run(story())
    assert [beat.error for beat in others if not beat.ok] == []
    error = failed[0].error
    assert error, "a failed beat says why"
    assert len(error) < 400 and "\n" not in error and "defect" not in error and "Traceback" not in error, error
    assert grown < 3 * row.most + 100 * MIB, f"memory grew by {grown >> 20} MiB"
