"""A session to a server of a test, closed at the end of a block."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fairlead.cluster.kubernetes.client.session import Session
from tests.cluster.kubernetes.client.byte_server import ByteServer, FixedToken


@asynccontextmanager
async def session(
    server: ByteServer, credentials: FixedToken | None = None, **options: int | float
) -> AsyncIterator[Session]:
    given = {"connections": 4, "deadline_s": 5.0, **options}
    opened = Session(server.access(credentials), **given)  # type: ignore[arg-type]
    try:
        yield opened
    finally:
        await opened.close()
