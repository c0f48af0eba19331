"""Waits for what must come true on a live cluster, and says what was seen if it does not."""

import asyncio
import time
from collections.abc import Callable
from pprint import pformat
from typing import TypeVar

import pytest

_BETWEEN_LOOKS_S = 0.02
_SHOWN_CHARACTERS = 2_000

Found = TypeVar("Found")


def wait_until(
    expected: str,
    look: Callable[[], Found],
    accept: Callable[[Found], bool] = bool,
    *,
    within_s: float = 15.0,
) -> Found:
    """Return what *look* finds as soon as *accept* takes it.

    After *within_s* the test fails with what was *expected* and what was seen last. An error
    of *look* fails the test at once.
    """
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if accept(found):
            return found
        _fail_after(deadline, within_s, expected, found)
        time.sleep(_BETWEEN_LOOKS_S)


async def eventually(
    expected: str,
    look: Callable[[], Found],
    accept: Callable[[Found], bool] = bool,
    *,
    within_s: float = 15.0,
) -> Found:
    """Wait as `wait_until` does, while the tasks of the event loop go on."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if accept(found):
            return found
        _fail_after(deadline, within_s, expected, found)
        await asyncio.sleep(_BETWEEN_LOOKS_S)


def _fail_after(deadline: float, within_s: float, expected: str, found: object) -> None:
    if time.monotonic() > deadline:
        seen = pformat(found, width=100)[-_SHOWN_CHARACTERS:]
        pytest.fail(f"expected within {within_s:g} s: {expected}\nlast seen: {seen}")


def assert_stays(
    expected: str,
    look: Callable[[], Found],
    accept: Callable[[Found], bool],
    *,
    for_s: float = 1.0,
) -> None:
    """Fail as soon as *accept* refuses what *look* finds, for a time: what must not happen."""
    deadline = time.monotonic() + for_s
    while time.monotonic() < deadline:
        found = look()
        if not accept(found):
            seen = pformat(found, width=100)[:_SHOWN_CHARACTERS]
            pytest.fail(f"expected for {for_s:g} s: {expected}\nseen: {seen}")
        time.sleep(_BETWEEN_LOOKS_S)
