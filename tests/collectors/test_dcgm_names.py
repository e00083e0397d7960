"""A name that nobody answers for delays no other target."""

import asyncio
import threading

import pytest

from collectors.dcgm.access import Access
from collectors.dcgm.names import MOST, Names
from collectors.dcgm.round import read_round
from collectors.dcgm.shared import Shared
from collectors.dcgm.sweep import sweep_of
from collectors.dcgm.targets import read_target
from tests.collectors.dcgm_options import options
from tests.collectors.exporter import PAGE, plain, serving
from tests.collectors.list_outlet import ListOutlet


class Slow:
    """Names that begin with `dead` hang until the test ends."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked: list[str] = []

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        if host.startswith("dead"):
            self.gate.wait(60)
            raise OSError("too late")
        if host.startswith("none"):
            raise OSError("Name or service not known")
        return ["127.0.0.1"]


def test_many_names_that_hang_delay_no_other_target() -> None:
    slow, outlet = Slow(), ListOutlet()

    async def run() -> None:
        async with serving(lambda _: plain(PAGE)) as exporter:
            args = options("--timeout", "1")
            shared = Shared(Access(args), names=Names(slow))
            hosts = [*(f"dead-{n}" for n in range(40)), "alive"]
            targets = [read_target(f"{host}:{exporter.port}") for host in hosts]
            await read_round(targets, lambda target: sweep_of(args, target, outlet, shared))

    asyncio.run(run())
    slow.gate.set()
    ends = {str(beat.target).partition("//")[2].partition(":")[0]: beat.error for beat in outlet.beats}
    assert ends.pop("alive") is None
    assert set(ends.values()) == {"no answer within 1 s"}


def test_a_name_is_looked_up_once_however_many_wait() -> None:
    slow = Slow()

    async def run() -> list[list[str]]:
        names = Names(slow)
        return await asyncio.gather(*(names.addresses("alive") for _ in range(5)))

    assert asyncio.run(run()) == [["127.0.0.1"]] * 5
    assert slow.asked == ["alive"]


def test_who_gives_up_takes_nothing_from_the_others() -> None:
    slow = Slow()

    async def run() -> tuple[bool, str]:
        names = Names(slow)
        first, second = (asyncio.create_task(names.addresses("dead")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        slow.gate.set()
        try:
            await second
        except OSError as why:
            return first.cancelled(), str(why)
        return first.cancelled(), ""

    assert asyncio.run(run()) == (True, "too late")


def test_an_address_is_not_looked_up_and_a_name_that_is_none_is_said() -> None:
    slow = Slow()

    async def run() -> None:
        names = Names(slow)
        assert await names.addresses("10.0.0.1") == ["10.0.0.1"]
        assert await names.addresses("fd00::1") == ["fd00::1"]
        with pytest.raises(OSError, match="Name or service not known"):
            await names.addresses("none")
        assert await names.addresses("alive") == ["127.0.0.1"]

    asyncio.run(run())
    assert slow.asked == ["none", "alive"]


def test_lookups_without_end_are_bounded() -> None:
    slow = Slow()

    async def run() -> str:
        names = Names(slow)
        waiting = [asyncio.create_task(names.addresses(f"dead-{n}")) for n in range(MOST)]
        await asyncio.sleep(0)
        try:
            await names.addresses("alive")
        except OSError as why:
            return str(why)
        finally:
            slow.gate.set()
            await asyncio.gather(*waiting, return_exceptions=True)
        return ""

    assert asyncio.run(run()) == "256 names are being looked up; DNS does not answer"
