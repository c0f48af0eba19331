"""Serves the pages of a live process while it runs."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fairlead.web.live_pages import Health
from fairlead.web.page_server import Pages, PageServer

_LOG: Final = logging.getLogger(__name__)


@asynccontextmanager
async def serving(
    listen: tuple[str, int] | None, health: Health, pages: Pages
) -> AsyncIterator[None]:
    """Serve */healthz* and *pages* on a host and port for the time of the block; None: nowhere.

    Raises FairleadError if the address is taken.
    """
    if listen is None:
        yield
        return
    server = PageServer(*listen, {"/healthz": health.answer, **pages})
    beating = asyncio.create_task(health.run(), name="health")
    try:
        with server.serving():
            _LOG.info("serving %s on %s", ", ".join(server.pages), server.address)
            yield
    finally:
        beating.cancel()
