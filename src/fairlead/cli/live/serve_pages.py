"""Serves the pages of a live process: its health, whether it is ready, and its own."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Protocol

from fairlead.web.live_pages import Health, readiness
from fairlead.web.page_server import Pages, PageServer

_LOG: Final = logging.getLogger(__name__)


class Process(Protocol):
    """What a live process says of itself. Asked by any thread."""

    def engine_beat_s(self) -> float | None:
        """Return when the engine last looked around, by the monotonic clock; None: not yet."""

    def is_ready(self) -> bool:
        """Return whether all objects are known."""

    def awaited(self) -> list[str]:
        """Return the kinds of object of which what is known is not of now."""


@asynccontextmanager
async def serving(
    listen: tuple[str, int] | None, process: Process, pages: Pages
) -> AsyncIterator[None]:
    """Serve *pages*, ``/healthz`` and ``/readyz`` for the time of the block; None: nothing.

    Raises FairleadError if that cannot be.
    """
    if listen is None:
        yield
        return
    health = Health(process.engine_beat_s)
    own: Pages = {
        "/healthz": health.answer,
        "/readyz": lambda: readiness(process.is_ready, process.awaited),
    }
    server = PageServer(*listen, {**own, **pages})
    beating = asyncio.create_task(health.run(), name="health")
    try:
        with server.serving():
            _LOG.info("serving %s at %s", ", ".join(server.pages), server.address)
            yield
    finally:
        beating.cancel()
