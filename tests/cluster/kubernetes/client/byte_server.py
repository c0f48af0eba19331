"""An HTTP server on this machine that answers, byte for byte, as a test tells it to."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from fairlead.cluster.kubernetes.client.access import Access

_T = TypeVar("_T")

BOUND_S = 20  # no test takes longer, whatever it waits for


class Request(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]  # the names in lower case; values of one name joined by commas
    body: bytes
    connection: int  # the how many-th of the server


Playing = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


class FixedToken:
    """Credentials of which each refusal brings the next token; the last one stays."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.refusals = 0

    async def token(self) -> str | None:
        return self.tokens[0] if self.tokens else None

    def refused(self) -> None:
        self.refusals += 1
        if len(self.tokens) > 1:
            del self.tokens[0]


class ByteServer:
    """Plays its answers in order; the last one answers all further requests."""

    def __init__(self, *plays: Playing) -> None:
        self.plays = list(plays)
        self.requests: list[Request] = []
        self.connections = 0
        self.open_connections = 0
        self.url = ""

    def access(self, credentials: FixedToken | None = None, **more: Any) -> Access:
        return Access(server=self.url, ssl=None, credentials=credentials or FixedToken(), **more)

    async def has_open(self, count: int) -> None:
        """Wait until so many connections are open."""
        while self.open_connections != count:
            await asyncio.sleep(0.01)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        number = self.connections
        try:
            while (request := await _read(reader, number)) and not writer.is_closing():
                self.requests.append(request)
                play = self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]
                await play(request, writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has given up, as some tests want
        finally:
            self.open_connections -= 1
            writer.close()


@asynccontextmanager
async def serving(*plays: Playing, tls: ssl.SSLContext | None = None) -> AsyncIterator[ByteServer]:
    """Give a server that plays *plays*, until the end of the block."""
    played = ByteServer(*plays)
    tasks: set[asyncio.Task[None]] = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(played.serve(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0, ssl=tls)
    host, port = server.sockets[0].getsockname()
    played.url = f"{'http' if tls is None else 'https'}://{host}:{port}"
    try:
        yield played
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def run(story: Coroutine[Any, Any, _T]) -> _T:
    """Run a test's story to its end, in bounded time."""

    async def bounded() -> _T:
        async with asyncio.timeout(BOUND_S):
            return await story

    return asyncio.run(bounded())


def answers(
    status: int, body: object = None, *, content_type: str = "application/json", **headers: str
) -> Playing:
    """Play a whole answer; *body* is bytes, or an object to be sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {
        "Content-Type": content_type,
        "Content-Length": str(len(data)),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return sends(f"HTTP/1.1 {status} Said\r\n{head}\r\n".encode() + data)


def sends(*pieces: bytes, pause_s: float = 0, is_cut: bool = False) -> Playing:
    """Play raw bytes with a pause before each piece but the first; cut the connection if asked."""

    async def play(_request: Request, writer: asyncio.StreamWriter) -> None:
        for number, piece in enumerate(pieces):
            if number:
                await asyncio.sleep(pause_s)
            writer.write(piece)
            await writer.drain()
        if is_cut:
            writer.close()

    return play


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def streams(*lines: object, end: str = "ended") -> Playing:
    """Play a watch: a chunk for each line. *end*: ended in order, cut, or open for ever."""
    texts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    pieces = [STREAM_HEAD, *(chunk(text + b"\n") for text in texts)]
    if end == "ended":
        pieces.append(b"0\r\n\r\n")
    return sends(*pieces, is_cut=end == "cut")


def silence() -> Playing:
    """Accept the request, and never answer."""
    return sends()


def status(code: int, reason: str, message: str, **details: object) -> dict[str, object]:
    """Return a Status object as API servers send it."""
    said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return {**said, "reason": reason, "message": message, "details": details}


async def _read(reader: asyncio.StreamReader, connection: int) -> Request | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    method, target, _ = first.split(" ")
    path, _, query = target.partition("?")
    headers: dict[str, str] = {}
    for name, _, value in (line.partition(": ") for line in lines if line):
        before = headers.get(name.lower())
        headers[name.lower()] = value if before is None else f"{before}, {value}"
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(
        method=method,
        path=path,
        query=dict(parse_qsl(query)),
        headers=headers,
        body=body,
        connection=connection,
    )
