"""Sources that break are started again, the others go on, and the process says which do not run."""

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable

import pytest

from collectors.config_file import Configured
from collectors.keeper import Keeper
from collectors.source import Outlet, SourceError
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.test_bad_targets import until

Serving = Callable[[], Awaitable[None]]


def keeper(outlet: ListOutlet, sources: dict[str, Serving], restart_s: tuple[float, float] = (0.01, 0.02)) -> Keeper:
    async def serve(source: Configured, outlet: Outlet) -> None:
        await sources[source.name]()

    wanted = [Configured(name, Namespace()) for name in sources]
    return Keeper(wanted, outlet, "many", "c", serve, restart_s)


async def for_ever() -> None:
    await asyncio.Event().wait()


def failing(why: Exception) -> tuple[Serving, list[int]]:
    lives: list[int] = []

    async def serve() -> None:
        lives.append(len(lives))
        raise why

    return serve, lives


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (SourceError("--file x: no such file"), "bad does not run: --file x: no such file"),
        (OSError(28, "No space left on device"), "bad does not run: [Errno 28] No space left"),
        (ZeroDivisionError("of ours"), "bad does not run: defect: ZeroDivisionError: of ours at "),
    ],
)
def test_a_source_that_breaks_is_started_again_and_told_and_the_others_go_on(why: Exception, said: str) -> None:
    outlet, began = ListOutlet(), list[bool]()
    serve, lives = failing(why)

    async def good() -> None:
        began.append(True)
        await for_ever()

    async def story() -> None:
        task = asyncio.create_task(keeper(outlet, {"bad": serve, "good": good}).run())
        await until(lambda: len(lives) > 3, "a fourth life")
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(story())
    assert began == [True]
    beat = outlet.beats[0]
    assert (beat.source, beat.target, beat.ok, beat.samples) == ("collect", None, False, 1)
    assert str(beat.error).startswith(said)


def test_a_lone_sources_own_mistake_ends_the_process() -> None:
    serve, _ = failing(SourceError("give --file"))
    with pytest.raises(SourceError, match="give --file"):
        asyncio.run(keeper(ListOutlet(), {"bad": serve}).run())


def test_sources_that_have_ended_end_the_process() -> None:
    async def ends() -> None:
        """At once."""

    asyncio.run(asyncio.wait_for(keeper(ListOutlet(), {"a": ends, "b": ends}).run(), 10))


def test_a_source_that_cannot_even_be_loaded_stops_no_other() -> None:
    outlet, ran = ListOutlet(), asyncio.Event()

    async def good() -> None:
        ran.set()
        await for_ever()

    async def story() -> None:
        sources = [Configured("nothing-of-this-name", Namespace()), Configured("good", Namespace())]

        def serve(source: Configured, outlet: Outlet) -> "Awaitable[None]":
            if source.name != "good":
                raise ModuleNotFoundError("No module named 'kubernetes'")
            return good()

        task = asyncio.create_task(Keeper(sources, outlet, "many", "c", serve).run())  # type: ignore[arg-type]
        await asyncio.wait_for(ran.wait(), 10)
        await until(lambda: bool(outlet.beats), "a beat of the process")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(story())
    assert "No module named 'kubernetes'" in str(outlet.beats[0].error)
