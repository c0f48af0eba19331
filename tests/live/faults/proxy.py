"""Stands between a scheduler and the API server, notes each write, and makes one of them fail.

It is as good as no proxy at all until the write comes by at which the fault is to be: answers,
watches and connections are passed on as they are. It verifies the API server and shows the
scheduler the same certificate, so a kubeconfig differs in the port only.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from tests.live.faults.admin import abandon
from tests.live.faults.fault import (
    DELAYS_S,
    EXPIRED,
    KILLS,
    NOT_ANSWERED,
    NOT_FORWARDED,
    OF_WATCHES,
    REFUSALS,
    Fault,
    Kind,
    Refusal,
)
from tests.live.faults.writes import METHODS, Journal, Write

# These are about one connection, or are written anew.
_OF_ONE_CONNECTION: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "content-length", "host"}
)


async def _no_process() -> None:
    raise AssertionError("there is no process to kill")


class Proxy:
    """One proxy, with at most one fault."""

    def __init__(
        self, upstream: str, http: aiohttp.ClientSession, fault: Fault | None = None
    ) -> None:
        """Pass everything on to *upstream*, but for the write of *fault*."""
        self.journal = Journal()
        self.watched: set[Write] = set()  # writes during which a watch was open
        self.url = ""
        self.fault = fault
        self.is_met = False  # the write has come
        self.is_delivered = False  # and the fault is over
        self.kill: Callable[[], Awaitable[None]] = _no_process
        self._upstream = upstream
        self._http = http
        self._watches: dict[asyncio.Future[bytes], web.BaseRequest] = {}
        self._writes: set[asyncio.Task[web.StreamResponse]] = set()

    @property
    def open_watches(self) -> int:
        """How many watches the scheduler has."""
        return len(self._watches)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        body = await request.read()
        if request.method not in METHODS:
            return await self._forward(request, body)
        # A write goes on when its client gives up, as it does without a proxy.
        write = asyncio.create_task(self._write(request, body))
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)
        return await asyncio.shield(write)

    def cut_watches(self) -> None:
        """Break the connection of each watch."""
        for request in list(self._watches.values()):
            _cut(request)

    def expire_watches(self) -> None:
        """End each watch with a 410."""
        event = json.dumps({"type": "ERROR", "object": json.loads(EXPIRED.body())})
        for last in list(self._watches):
            if not last.done():
                last.set_result(event.encode() + b"\n")

    async def _write(self, request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        write = self.journal.note(request.method, request.path, body)
        if self._watches:
            self.watched.add(write)
        if self.fault is None or self.is_met or write != self.fault.write:
            return await self._forward(request, body)
        if self.fault.kind in OF_WATCHES and not self._watches:
            return await self._forward(request, body)
        self.is_met = True
        answer = await self._fail(request, body, self.fault.kind)
        self.is_delivered = True
        return answer

    async def _fail(self, request: web.BaseRequest, body: bytes, kind: Kind) -> web.StreamResponse:
        """Deliver the fault: this is its write."""
        if kind in REFUSALS:
            return _refuse(REFUSALS[kind])
        if kind is Kind.WATCHES_CUT:
            self.cut_watches()
        if kind is Kind.WATCHES_EXPIRED:
            self.expire_watches()
        answer: web.StreamResponse = web.Response()
        if kind not in NOT_FORWARDED:
            answer = await self._forward(request, body)
        if kind in KILLS:
            await self.kill()
        if kind in NOT_ANSWERED:
            _cut(request)
        await asyncio.sleep(DELAYS_S.get(kind, 0))
        return answer

    async def _forward(self, request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        """Pass a request on, once; where the API server breaks off, so do we."""
        try:
            async with self._http.request(
                request.method,
                URL(self._upstream + request.raw_path, encoded=True),
                data=body or None,
                headers=_passed_on(request.headers),
                allow_redirects=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                middlewares=(_once,),
            ) as response:
                if _is_watch(request):
                    return await self._stream(request, response)
                return web.Response(
                    status=response.status,
                    body=await response.read(),
                    headers=_passed_on(response.headers),
                )
        except (aiohttp.ClientError, _BrokenError, OSError):
            _cut(request)
            return web.Response()

    async def _stream(
        self, request: web.BaseRequest, upstream: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        """Pass a watch on until one of its ends breaks, or its last line is given to us."""
        answer = web.StreamResponse(status=upstream.status, headers=_passed_on(upstream.headers))
        await answer.prepare(request)
        last: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._watches[last] = request
        copying = asyncio.create_task(_copy(upstream, answer))
        try:
            ends: set[asyncio.Future[Any]] = {copying, last}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if last.done():
                await answer.write(last.result())
            else:
                copying.result()
        except OSError:  # the scheduler is gone
            _cut(request)
        finally:
            copying.cancel()
            abandon(upstream)
            del self._watches[last]
        return answer


async def _copy(upstream: aiohttp.ClientResponse, answer: web.StreamResponse) -> None:
    """Pass on whole lines, so that a last one can follow at any moment."""
    is_lines = upstream.content_type == "application/json"
    rest = b""
    async for piece in upstream.content.iter_any():
        whole, end, rest = (rest + piece).rpartition(b"\n") if is_lines else (piece, b"", b"")
        if whole:
            await answer.write(whole + end)


class _BrokenError(Exception):
    """The connection to the API server broke."""


async def _once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a request again when a used connection breaks."""
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _BrokenError from error


def _cut(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.abort()


def _refuse(refusal: Refusal) -> web.Response:
    headers = {"Content-Type": "application/json"}
    if refusal.retry_after_s is not None:
        headers["Retry-After"] = str(refusal.retry_after_s)
    return web.Response(status=refusal.code, body=refusal.body(), headers=headers)


def _is_watch(request: web.BaseRequest) -> bool:
    return request.query.get("watch", "0") not in {"0", "false"}


def _passed_on(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    kept = [(key, value) for key, value in headers.items() if key.lower() not in _OF_ONE_CONNECTION]
    return CIMultiDict(kept)


@asynccontextmanager
async def proxied(
    upstream: str, certificate: Path, fault: Fault | None = None
) -> AsyncIterator[Proxy]:
    """Run a proxy before the API server at *upstream*, whose certificate lies with its key."""
    inside = ssl.create_default_context(cafile=str(certificate))
    outside = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    outside.load_cert_chain(certificate, certificate.with_suffix(".key"))
    connector = aiohttp.TCPConnector(limit=0, ssl=inside)
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, sock_read=None),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    ) as http:
        proxy = Proxy(upstream, http, fault)
        runner = web.ServerRunner(
            web.Server(proxy.handle, handler_cancellation=True, access_log=None),
            shutdown_timeout=0.1,
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=outside)
            await site.start()
            host, port = runner.addresses[0][:2]
            proxy.url = f"https://{host}:{port}"
            yield proxy
        finally:
            await runner.cleanup()
