"""Requests to one API server: one deadline each, typed errors, and connections used again.

A session is one lane. Acts, watches and the lease have their own, so that a hundred binds in flight
delay neither a watch nor a renewal. A session does not repeat a request but for one reason: after
a 401, which says that nothing was done, it asks once more with renewed credentials.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.errors import (
    AT_ONCE_S,
    ApiError,
    LateError,
    TooLongAnswerError,
    UnreadableAnswerError,
    answer_error,
    read_date,
    read_retry_after,
    shown,
)
from fairlead.cluster.kubernetes.client.lines import Lines
from fairlead.cluster.kubernetes.client.unreachable import BrokenError, unreachable
from fairlead.errors import ClusterError

JSON: Final = "application/json"
MAX_BODY_BYTES: Final = 2**26
MAX_LINE_BYTES: Final = 2**24  # an object has at most 1.5 MiB in etcd, more as JSON
_MAX_ERROR_BYTES: Final = 2**16
_PIECE_BYTES: Final = 2**18
# The API server closes what was idle for 90 s. A request on a connection that is being closed has
# an unknown outcome, so ours are closed before.
_KEEP_ALIVE_S: Final = 60.0

Query = tuple[tuple[str, str], ...]


class Session:
    """One lane of connections to an API server."""

    def __init__(
        self,
        access: Access,
        *,
        connections: int,
        deadline_s: float,
        max_body_bytes: int = MAX_BODY_BYTES,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        """Use at most so many *connections*, 0 for any number, each request within *deadline_s*.

        To be made and used in one event loop.
        """
        self._access = access
        self._connections = connections
        self._deadline_s = deadline_s
        self._max_body_bytes = max_body_bytes
        self._max_line_bytes = max_line_bytes
        self._pool = _Pool(connections)
        self._old_pools: list[_Pool] = []

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        deadline_s: float | None = None,
    ) -> bytes:
        """Return the body of a successful answer. Raises ApiError for every other outcome.

        An answer that is not of the type *accept* is none: a login page of what stands between
        must not be taken for success.

        The deadline is that of the whole exchange: credentials, a free connection, the request, a
        second one after a 401, and the last byte of the answer.
        """
        deadline_s = self._deadline_s if deadline_s is None else deadline_s
        exchange = _Exchange(method, path, query, body, content_type, accept)
        with _explained(exchange, deadline_s):
            async with asyncio.timeout(deadline_s), self._answered(exchange) as response:
                return await self._whole_body(exchange, response)
        raise AssertionError("an exchange ends in an answer or an error")

    async def server_time(self) -> datetime | None:
        """Return the time of the server, in whole seconds; None: it does not say it.

        Raises ApiError as `ask` does.
        """
        exchange = _Exchange("GET", "/version", ())
        with _explained(exchange, self._deadline_s):
            async with asyncio.timeout(self._deadline_s), self._answered(exchange) as response:
                await self._whole_body(exchange, response)
                return read_date(response.headers.get("Date", ""))
        raise AssertionError("an exchange ends in an answer or an error")

    @asynccontextmanager
    async def stream(self, path: str, *, query: Query = (), idle_s: float) -> AsyncIterator[Lines]:
        """Give the lines of an answer that does not end.

        The deadline is that until its first line may begin; from then on *idle_s* is the longest
        time that a line may take. Raises ApiError as `ask` does.
        """
        exchange = _Exchange("GET", path, query)
        async with AsyncExitStack() as stack:
            with _explained(exchange, self._deadline_s):
                async with asyncio.timeout(self._deadline_s):
                    response = await stack.enter_async_context(self._answered(exchange))
            stack.callback(_abort, response)
            yield Lines(response.content, exchange.asked, idle_s, self._max_line_bytes)

    async def close(self) -> None:
        """Close all connections; requests in flight fail."""
        for pool in (self._pool, *self._old_pools):
            await pool.http.close()

    @asynccontextmanager
    async def _answered(self, exchange: "_Exchange") -> AsyncIterator[aiohttp.ClientResponse]:
        """Give a response whose status says success, its body unread."""
        is_renewed = False
        while True:
            headers = await self._headers(exchange)
            pool = self._pool
            async with pool.used(), pool.sent(exchange, self._access, headers) as response:
                if response.status == HTTPStatus.UNAUTHORIZED and not is_renewed:
                    is_renewed = True
                    self._renew(pool)
                    continue
                if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
                    raise await _refusal(exchange, response)
                if response.content_type != exchange.accept:
                    raise _strange(exchange, response)
                yield response
                return

    def _renew(self, pool: "_Pool") -> None:
        """Forget credentials and connections; of many requests refused at once the first does it.

        A client certificate belongs to a connection, so new ones are needed. What is in flight on
        the old ones ends undisturbed.
        """
        if pool is not self._pool:
            return
        self._access.credentials.refused()
        self._old_pools = [each for each in self._old_pools if not each.http.closed]
        self._old_pools.append(pool)
        pool.is_old = True
        self._pool = _Pool(self._connections)

    async def _headers(self, exchange: "_Exchange") -> CIMultiDict[str]:
        headers = CIMultiDict({"Accept": exchange.accept, "Accept-Encoding": "identity"})
        headers.extend(self._access.headers)  # each group of an impersonated user is one more
        if exchange.body is not None:
            headers["Content-Type"] = exchange.content_type
        token = await self._access.credentials.token()
        if token:
            if not (token.isascii() and token.isprintable()):
                raise ClusterError("the token for the API server is not a single line of ASCII")
            exchange.secret = token
            headers["Authorization"] = f"Bearer {token}"
        return headers

    async def _whole_body(self, exchange: "_Exchange", response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in response.content.iter_chunked(_PIECE_BYTES):
            body += piece
            if len(body) > self._max_body_bytes:
                found = f"the answer has more than {self._max_body_bytes:,} bytes"
                raise TooLongAnswerError(
                    exchange.asked, found, status=response.status, is_unknown=True
                )
        return bytes(body)


class _Exchange:
    """One request, and how far it came."""

    def __init__(
        self,
        method: str,
        path: str,
        query: Query,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.body = body
        self.content_type = content_type
        self.accept = accept
        self.asked = f"{method} {path}"  # not the query, which may be long
        self.secret = ""
        self.is_sent = False


class _Pool:
    """The connections that were made with one state of the credentials."""

    def __init__(self, connections: int) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(_note_sent)
        self.http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=connections,
                keepalive_timeout=_KEEP_ALIVE_S,
                resolver=aiohttp.ThreadedResolver(),
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            auto_decompress=False,
            trace_configs=[trace],
        )
        self.is_old = False
        self._users = 0

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """Keep the connections open for the block; old ones are closed after the last."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if self.is_old and not self._users:
                await self.http.close()

    def sent(
        self, exchange: _Exchange, access: Access, headers: CIMultiDict[str]
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Send the request, once, to no other server than ours."""
        url = URL(access.server.rstrip("/") + exchange.path, encoded=True)
        return self.http.request(
            exchange.method,
            url.with_query(exchange.query) if exchange.query else url,
            data=exchange.body,
            headers=headers,
            allow_redirects=False,
            ssl=True if access.ssl is None else access.ssl,
            server_hostname=access.server_name or None,
            proxy=access.proxy or None,
            trace_request_ctx=exchange,
            middlewares=(_once,),
        )


async def _once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a PUT or DELETE again when a used connection breaks.

    The first one may have been carried out, and the second would then report a conflict.
    """
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise BrokenError(error) from None


async def _note_sent(_http: object, context: Any, _sent: object) -> None:
    context.trace_request_ctx.is_sent = True


def _abort(response: aiohttp.ClientResponse) -> None:
    """Close the connection of a stream at once, if the stream is left before its end.

    To close it politely would wait for the server's part of a TLS shutdown, up to 30 s, and a
    stream is often left because the server is silent.
    """
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


def _strange(exchange: _Exchange, response: aiohttp.ClientResponse) -> ApiError:
    found = f"the answer is {shown(response.content_type)}, not {exchange.accept}"
    return UnreadableAnswerError(
        exchange.asked, found, status=response.status, retry_after_s=AT_ONCE_S, is_unknown=True
    )


async def _refusal(exchange: _Exchange, response: aiohttp.ClientResponse) -> ApiError:
    body = bytearray()
    async for piece in response.content.iter_chunked(_MAX_ERROR_BYTES):
        body += piece
        if len(body) >= _MAX_ERROR_BYTES:
            break
    retry_after_s = read_retry_after(
        response.headers.get("Retry-After", ""),
        response.headers.get("Date", ""),
        datetime.now(UTC),
    )
    return answer_error(
        exchange.asked,
        response.status,
        bytes(body),
        retry_after_s=retry_after_s,
        secret=exchange.secret,
    )


@contextmanager
def _explained(exchange: _Exchange, deadline_s: float) -> Iterator[None]:
    """Turn what aiohttp raises into our errors, which hold no header and no login."""
    try:
        yield
    except TimeoutError:
        raise LateError(
            exchange.asked,
            f"no whole answer within {deadline_s:g} s",
            retry_after_s=AT_ONCE_S,
            is_unknown=exchange.is_sent,
        ) from None
    except (BrokenError, aiohttp.ClientError, OSError, ValueError) as error:
        raise unreachable(exchange.asked, error, is_sent=exchange.is_sent) from None
