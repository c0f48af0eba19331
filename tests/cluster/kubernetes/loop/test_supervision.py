"""Parts that live as long as the whole, and what happens when one ends."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from fairlead.cluster.kubernetes.loop.supervision import EndedError, Supervision
from tests.cluster.kubernetes.virtual_time import run

ended: list[str] = []


async def lives() -> None:
    """Live until the end, which takes a second."""
    try:
        await asyncio.sleep(10**6)
    finally:
        await asyncio.sleep(1)
        ended.append("lives")


async def returns() -> None:
    await asyncio.sleep(5)


async def fails() -> None:
    await asyncio.sleep(5)
    raise ZeroDivisionError


async def is_cancelled() -> None:
    await asyncio.sleep(5)
    raise asyncio.CancelledError


async def supervised(part: Callable[[], Awaitable[None]], *, stop_after_s: float) -> None:
    ended.clear()
    supervision = Supervision({"one": lives, "two": part})
    stop = asyncio.create_task(asyncio.sleep(stop_after_s))
    try:
        await supervision.until(stop)
    finally:
        stop.cancel()
        await supervision.end()
        assert "lives" in ended


def test_everything_ends_when_it_is_asked_to() -> None:
    run(supervised(lives, stop_after_s=60))


@pytest.mark.parametrize(
    ("part", "error"),
    [(returns, EndedError), (fails, ZeroDivisionError), (is_cancelled, EndedError)],
)
def test_a_part_that_ends_unasked_ends_the_whole(
    part: Callable[[], Awaitable[None]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(supervised(part, stop_after_s=60))


def test_how_a_part_ends_after_the_end_does_not_matter() -> None:
    async def fails_late() -> None:
        try:
            await asyncio.sleep(10**6)
        finally:
            raise ZeroDivisionError

    run(supervised(fails_late, stop_after_s=1))
