"""A hand-over that was begun by hand goes on as if nothing had happened."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from streams.faust_consumer import rest


async def put(queue: "asyncio.Queue[int]", numbers: int) -> str:
    for number in range(numbers):
        await queue.put(number)
    return "all taken"


def begun(hand_over: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
    return rest(hand_over, hand_over.send(None))


def test_a_hand_over_that_waits_again_and_again_ends_with_its_value() -> None:
    async def story() -> tuple[str, list[int]]:
        queue = asyncio.Queue[int](1)
        going = asyncio.ensure_future(begun(put(queue, 4)))
        taken = [await queue.get() for _ in range(4)]
        return await going, taken

    assert asyncio.run(story()) == ("all taken", [0, 1, 2, 3])


def test_one_that_is_cancelled_hears_of_it_where_it_waits() -> None:
    heard: list[str] = []

    async def hand_over() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    async def story() -> None:
        going = asyncio.ensure_future(begun(hand_over()))
        await asyncio.sleep(0)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going

    asyncio.run(story())
    assert heard == ["cancelled"]


def test_an_error_after_a_wait_comes_out() -> None:
    async def hand_over() -> None:
        await asyncio.sleep(0)
        raise KeyError("no such stream")

    async def story() -> None:
        with pytest.raises(KeyError, match="no such stream"):
            await begun(hand_over())

    asyncio.run(story())


def test_one_that_handles_an_error_of_what_it_waits_for_goes_on() -> None:
    async def hand_over(future: "asyncio.Future[None]") -> str:
        try:
            await future
        except ValueError:
            await asyncio.sleep(0)
            return "handled"
        return "not told"

    async def story() -> str:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        going = asyncio.ensure_future(begun(hand_over(future)))
        await asyncio.sleep(0)
        future.set_exception(ValueError())
        return str(await going)

    assert asyncio.run(story()) == "handled"
