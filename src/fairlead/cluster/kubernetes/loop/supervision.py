"""Runs parts that are to live as long as the whole, and ends all of them when one ends."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from fairlead.errors import ClusterError

Part = Callable[[], Awaitable[None]]

_LOG: Final = logging.getLogger(__name__)


class EndedError(ClusterError):
    """A part has ended although nothing asked it to."""


class Supervision:
    """The tasks of some parts, by name."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        """Start all of them."""
        self._tasks = {
            asyncio.create_task(_unending(name, part), name=name) for name, part in parts.items()
        }

    async def until(self, stop: "asyncio.Task[None]") -> None:
        """Wait until *stop* is done. Raises what ended a part before."""
        await asyncio.wait({stop, *self._tasks}, return_when=asyncio.FIRST_COMPLETED)
        self._raise()

    async def end(self) -> None:
        """End all parts, whatever they are at."""
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _raise(self) -> None:
        failures = [each for task in self._tasks if task.done() and (each := _failure(task))]
        for each in failures[1:]:
            _LOG.error("another part has ended, too: %s", each)
        if failures:
            raise failures[0]


def _failure(task: "asyncio.Task[None]") -> BaseException | None:
    if task.cancelled():
        return EndedError(f"the part {task.get_name()!r} of the scheduler was cancelled")
    return task.exception()


async def _unending(name: str, part: Part) -> None:
    await part()
    raise EndedError(f"the part {name!r} of the scheduler has ended, which it never should")
