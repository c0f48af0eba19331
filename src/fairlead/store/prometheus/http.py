"""Sends a request to a Prometheus server, and explains failures in words.

The server is asked directly, without a proxy and without following redirects, so that credentials
go to no other server. Files with credentials are read for every request, because tokens are renewed
while we run. `answer` interprets the reply.
"""

import asyncio
import errno
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

import aiohttp
from yarl import URL

from fairlead.errors import StoreError
from fairlead.store.prometheus.answer import Reply, shown
from fairlead.usage.address_text import without_login
from fairlead.usage.settings import Credentials, PrometheusSource

# A sample takes some 20 bytes, so a week of 100 queues, a sample a minute, takes 20 MB and comes at
# once; that of 1,000 queues takes 200 MB and comes in pieces.
MAX_ANSWER_BYTES: Final = 2**25
_PIECE_BYTES: Final = 2**20
_ASCII_MARKS: Final = "".join(chr(code) for code in range(0x21, 0x7F))
_NAME_MISMATCH: Final = frozenset({62, 64})  # X509_V_ERR_HOSTNAME_MISMATCH, ..._IP_ADDRESS_MISMATCH
_NOT_YET_VALID: Final = 9
_EXPIRED: Final = 10


class TooLongAnswerError(StoreError):
    """The answer is too long to hold in memory; ask for a shorter time."""


class LateAnswerError(StoreError):
    """The server was reached, but did not answer in time; ask for a shorter time."""


class PrometheusHttp:
    """One server, with its credentials and the timeout of a query."""

    def __init__(self, source: PrometheusSource, environ: Mapping[str, str]) -> None:
        """Find the address of the server. Raises StoreError if there is none, or it is invalid."""
        self._url = _checked(_address(source, environ))
        self._credentials = source.credentials
        self._timeout_s = source.query_timeout_ms / 1000
        place = self._url.netloc.rpartition("@")[2]
        # What is after a slash in a mistyped password is taken for the path.
        self.name = without_login(f"{self._url.scheme}://{place}{self._url.path.rstrip('/')}")

    def ask(self, path: str, fields: Mapping[str, str]) -> Reply:
        """Send a form and return the reply, whatever its status. Raises StoreError without one.

        A long query fits only into a POST; a server that does not allow it, as some read-only
        proxies, gets a GET. The timeout of a query is the deadline of a whole exchange, from the
        connection to the last byte, both requests included. A query in the address, by which some
        servers select a tenant, is part of every request.
        """
        until_s = time.monotonic() + self._timeout_s
        target, form = _in_ascii(self._url.path.rstrip("/")) + path, urlencode(fields)
        given = _in_ascii(self._url.query)
        reply = self._sent("POST", f"{target}?{given}" if given else target, form, until_s)
        if reply.status in (HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED):
            return self._sent(
                "GET", f"{target}?{given}&{form}" if given else f"{target}?{form}", None, until_s
            )
        return reply

    def problem(self, text: str) -> StoreError:
        """Return an error that names the server."""
        return StoreError(f"Prometheus at {self.name} {text}")

    def _sent(self, method: str, target: str, form: str | None, until_s: float) -> Reply:
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            **_authorization(self._credentials, self._url),
        }
        if not all(text.isascii() and text.isprintable() for text in headers.values()):
            raise self.problem("cannot be asked: the token is not a single line of ASCII text")
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        exchange = _Exchange(method, self._resolved(target), headers, form)
        try:
            return asyncio.run(exchange.run(until_s - time.monotonic(), self._trust()))
        except _TooLongError:
            raise self._too_long(exchange.content_type) from None
        except TimeoutError as error:
            problem = self.problem(
                f"did not answer within {self._timeout_s:g} s; set queryTimeout, or in a "
                "SchedulingShard usageQueryTimeout, to wait longer"
            )
            if exchange.is_connected:
                raise LateAnswerError(str(problem)) from error
            raise problem from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self.problem(self._reason(error)) from error

    def _resolved(self, target: str) -> URL:
        """Return the URL of *target* without a login, its host name in ASCII."""
        host = self._url.hostname or ""
        try:
            host = host.encode("idna").decode()
        except UnicodeError as error:
            raise self.problem(self._unresolved()) from error
        place = f"[{host}]" if ":" in host else host
        if self._url.port is not None:
            place += f":{self._url.port}"
        return URL(f"{self._url.scheme}://{place}{target}", encoded=True)

    def _trust(self) -> ssl.SSLContext | bool:
        ca_file = self._credentials.ca_file
        if not ca_file or self._url.scheme == "http":
            return True
        try:
            return ssl.create_default_context(cafile=ca_file)
        except OSError as error:
            raise StoreError(
                f"the CA file {ca_file} cannot be used ({error}); it must contain certificates "
                "in PEM form"
            ) from error

    def _too_long(self, content_type: str) -> StoreError:
        what = f"answered with more than {MAX_ANSWER_BYTES // 2**20} MiB"
        if content_type == "application/json":
            return TooLongAnswerError(str(self.problem(what)))
        return self.problem(
            f"{what} of {content_type}, which is no answer of Prometheus; is the address right?"
        )

    def _reason(self, error: Exception) -> str:
        match error:
            case aiohttp.ClientConnectorCertificateError():
                return _certificate_reason(error.certificate_error, self._url.hostname or "")
            case aiohttp.ClientConnectorSSLError():
                return (
                    "does not speak https: this port probably speaks http; begin the address "
                    "with http://, or name the port of https"
                )
            case aiohttp.ClientConnectorDNSError():
                return self._unresolved()
            case aiohttp.ClientConnectorError(errno=errno.ECONNREFUSED):
                return "refused the connection: nothing listens there"
            case aiohttp.ClientPayloadError():
                return "closed the connection before its answer was complete"
        return f"cannot be reached ({shown(str(error) or type(error).__name__)})"

    def _unresolved(self) -> str:
        return f"cannot be reached: cannot resolve host {shown(self._url.hostname or '')}"


class _TooLongError(Exception):
    """The answer is longer than we hold."""


class _Exchange:
    """One request and its reply."""

    def __init__(self, method: str, url: URL, headers: dict[str, str], form: str | None) -> None:
        self._method = method
        self._url = url
        self._headers = headers
        self._form = form
        self.is_connected = False
        self.content_type = ""

    async def run(self, timeout_s: float, trust: ssl.SSLContext | bool) -> Reply:
        """Return the reply within *timeout_s*, or raise TimeoutError."""
        asyncio.get_running_loop().set_default_executor(_DaemonThreads())
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_end.append(self._connected)
        async with (
            asyncio.timeout(timeout_s),
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    ssl=trust, force_close=True, resolver=aiohttp.ThreadedResolver()
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                trace_configs=[trace],
            ) as session,
            session.request(
                self._method,
                self._url,
                data=self._form,
                headers=self._headers,
                allow_redirects=False,
            ) as response,
        ):
            self.content_type = response.content_type
            body = bytearray()
            async for piece in response.content.iter_chunked(_PIECE_BYTES):
                body += piece
                if len(body) > MAX_ANSWER_BYTES:
                    raise _TooLongError
            return Reply(
                status=response.status, content_type=response.content_type, body=bytes(body)
            )

    async def _connected(self, *_: object) -> None:
        self.is_connected = True


class _DaemonThreads(ThreadPoolExecutor):
    """Makes each call in a daemon thread.

    The lookup of a host name cannot be cancelled, and the end of the event loop and of the program
    wait for the usual threads: a lookup that hangs would so outlast every deadline.
    """

    def submit(self, call: Callable[..., Any], /, *args: Any, **options: Any) -> "Future[Any]":
        """Begin the call at once."""
        found: Future[Any] = Future()
        found.set_running_or_notify_cancel()

        def answer() -> None:
            try:
                found.set_result(call(*args, **options))
            except Exception as error:  # noqa: BLE001  the caller that waits gets it
                found.set_exception(error)

        Thread(target=answer, daemon=True).start()
        return found


def _certificate_reason(error: Exception, host: str) -> str:
    code = getattr(error, "verify_code", None)
    if code in _NAME_MISMATCH:
        return f"has a certificate that is not valid for {host}; use a name that it is valid for"
    if code == _EXPIRED:
        return "has a certificate that has expired; it must be renewed there"
    if code == _NOT_YET_VALID:
        return "has a certificate that is not valid yet; is the clock here right?"
    return (
        f"has a certificate that is not trusted ({getattr(error, 'verify_message', error)}); "
        "name the file of its CA as caFile"
    )


def _address(source: PrometheusSource, environ: Mapping[str, str]) -> str:
    if source.url:
        return source.url
    if not source.url_variable:
        raise StoreError("no address of Prometheus is set: name its URL")
    address = environ.get(source.url_variable, "")
    if not address:
        raise StoreError(
            f"the address of Prometheus should be in the variable {source.url_variable}, "
            "which is not set"
        )
    return address


def _checked(address: str) -> SplitResult:
    """The parts of the address; a login in it is never shown."""
    try:
        url = urlsplit(address)
        is_possible = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        is_possible = False
    if not is_possible or not address.isprintable() or " " in address:
        raise StoreError(
            f"{shown(without_login(address))!r} is no address of Prometheus; one is "
            "http://host:9090 or https://host/path"
        )
    return url


def _in_ascii(text: str) -> str:
    """A path or query as it is sent: letters beyond ASCII are quoted, all else stays as it is."""
    return quote(text, safe=_ASCII_MARKS)


def _authorization(credentials: Credentials, url: SplitResult) -> dict[str, str]:
    if credentials.token_file:
        return {"Authorization": f"Bearer {_secret(credentials.token_file)}"}
    if credentials.user:
        password = _secret(credentials.password_file) if credentials.password_file else ""
        return _basic(credentials.user, password)
    if url.username:
        return _basic(unquote(url.username), unquote(url.password or ""))
    return {}


def _basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()}


def _secret(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not text"
        raise StoreError(f"the secret for Prometheus in {file} cannot be read: {reason}") from None
