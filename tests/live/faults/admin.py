"""What a run itself asks of the API server, past the proxy: many requests at once, from its loop.

It shares no code with Fairlead's client, so that a defect of that one is not invisible here.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp

from tests.live.api import Object

# The API server notes it as the manager of each field that the tests have set.
AGENT: Final = "fault-tests"
_FRESH_KIND_S: Final = 10.0  # a new CRD answers 404 or 429 for a while


class RefusedError(Exception):
    """The API server does not do what a test asks."""

    def __init__(self, asked: str, code: int, text: str) -> None:
        """Say which request it was."""
        super().__init__(f"{asked}: {code} {text}")
        self.code = code


class Admin:
    """Requests as one user, over connections that are used again."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        """Ask the API server at *url*."""
        self.url = url
        self.http = http

    async def ask(
        self, method: str, path: str, body: Object | None = None, *, of_type: str = ""
    ) -> Object:
        """Return the object that answers a request."""
        headers = {"Content-Type": of_type or "application/json"} if body is not None else {}
        data = None if body is None else json.dumps(body)
        async with self.http.request(method, self.url + path, data=data, headers=headers) as answer:
            text = await answer.text()
            if answer.status >= 300:
                raise RefusedError(f"{method} {path}", answer.status, text)
            found: Object = json.loads(text)
            return found

    async def ask_kind(self, method: str, path: str, body: Object | None = None) -> Object:
        """Do as `ask`, of a kind that may be quite new, or not be served again yet."""
        async with asyncio.timeout(_FRESH_KIND_S):
            while True:
                try:
                    return await self.ask(method, path, body)
                except RefusedError as refused:
                    if refused.code not in {404, 429}:
                        raise
                await asyncio.sleep(0.05)

    async def create(self, path: str, body: Object) -> Object:
        """Create an object."""
        return await self.ask_kind("POST", path, body)

    async def patch(self, path: str, body: Object) -> Object:
        """Merge *body* into an object."""
        return await self.ask("PATCH", path, body, of_type="application/merge-patch+json")

    async def items(self, path: str) -> list[Object]:
        """Return all objects of a collection, as they are now."""
        return list((await self.ask_kind("GET", path))["items"])

    async def delete_all(self, path: str) -> None:
        """Delete the objects of a collection of one namespace, at once."""
        await self.ask("DELETE", f"{path}?gracePeriodSeconds=0")


def abandon(answer: aiohttp.ClientResponse) -> None:
    """Break the connection of an endless answer; a polite end of it outlives the event loop."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()


@asynccontextmanager
async def admin_of(url: str, certificate: Path, token: str) -> AsyncIterator[Admin]:
    """Give requests as the user of *token*."""
    tls = ssl.create_default_context(cafile=str(certificate))
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=tls),
        headers={"Authorization": f"Bearer {token}", "User-Agent": AGENT},
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=5),
    ) as http:
        yield Admin(url, http)
