"""Asks a Prometheus server over HTTP, and says in words what went wrong.

The server is asked directly, without a proxy and without following it elsewhere, so that a secret
goes to nobody but the server that was named. Files with secrets are read for every request, because
tokens are renewed while we run. What the answer means is for `fairlead.store.prometheus.answer`.
"""

import http.client
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

import msgspec

from fairlead.errors import StoreError
from fairlead.store.prometheus.tls_problem import (
    TlsServer,
    certificate_problem,
    is_no_tls,
    trust_of,
)
from fairlead.usage.address_text import without_login
from fairlead.usage.settings import Credentials, PrometheusSource

# A sample takes some 20 bytes, so a week of 100 queues, a sample a minute, takes 20 MB and comes at
# once; that of 1,000 queues takes 200 MB and comes in pieces.
MAX_ANSWER_BYTES: Final = 2**25
_PIECE_BYTES: Final = 2**20
_SHOWN_CHARACTERS: Final = 80
_ASCII_MARKS: Final = "".join(chr(code) for code in range(0x21, 0x7F))


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: it may be an error of the server's, or a page of somebody else's."""

    status: int
    content_type: str
    body: bytes


class TooLongAnswerError(StoreError):
    """The answer would not fit into memory; ask for a shorter time."""


class LateAnswerError(StoreError):
    """No answer came in time; one about a shorter time may."""


class PrometheusHttp:
    """One server, with how it knows us and how long it is waited for."""

    def __init__(self, source: PrometheusSource, environ: Mapping[str, str]) -> None:
        """Find out where the server is; StoreError if that is not said, or is no address."""
        self._url = _checked(_address(source, environ))
        self._credentials = source.credentials
        self._timeout_ms = source.query_timeout_ms
        place = self._url.netloc.rpartition("@")[2]
        # What is after a slash in a mistyped password is taken for the path.
        self.name = without_login(f"{self._url.scheme}://{place}{self._url.path.rstrip('/')}")

    def ask(self, path: str, fields: Mapping[str, str]) -> Reply:
        """Send a form and return the reply, whatever its status; StoreError if there is none.

        A long query fits only into a POST; who does not take those, as some that only let people
        read, is asked with a GET. Waits no longer than the timeout of a query for each of them,
        however slowly the text of the answer drips. A query in the address, by which some servers
        choose whose series they show, goes along with every request, as KAI sends it.
        """
        target, form = _in_ascii(self._url.path.rstrip("/")) + path, urlencode(fields)
        given = _in_ascii(self._url.query)
        reply = self._sent("POST", f"{target}?{given}" if given else target, form)
        if reply.status in (HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED):
            return self._sent(
                "GET", f"{target}?{given}&{form}" if given else f"{target}?{form}", None
            )
        return reply

    def _sent(self, method: str, target: str, form: str | None) -> Reply:
        authorization = _authorization(self._credentials, self._url)
        if not all(text.isascii() and text.isprintable() for text in authorization.values()):
            raise self.problem("cannot be asked: the token is no single line of ASCII text")
        headers = {"Accept": "application/json", **authorization}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        deadline_s = time.monotonic() + self._timeout_ms / 1000
        connection = self._connection()
        try:
            connection.request(method, target, form, headers)
            return self._reply(connection, deadline_s)
        except _TooLongError as problem:
            raise self._too_long(problem.content_type) from None
        except (OSError, http.client.HTTPException, ValueError) as problem:
            raise self.problem(self._in_words(problem)) from problem
        finally:
            connection.close()

    def _reply(self, connection: http.client.HTTPConnection, deadline_s: float) -> Reply:
        try:
            return _read(connection, deadline_s)
        except TimeoutError as problem:  # a server that cannot be reached in time is another matter
            raise LateAnswerError(str(self.problem(self._in_words(problem)))) from problem

    def problem(self, text: str) -> StoreError:
        """An error that says which server it is about."""
        return StoreError(f"Prometheus at {self.name} {text}")

    def _too_long(self, content_type: str) -> StoreError:
        what = f"answered with more than {MAX_ANSWER_BYTES // 2**20} MiB"
        if content_type == "application/json":
            return TooLongAnswerError(str(self.problem(what)))
        return self.problem(
            f"{what} of {content_type}, which is no answer of Prometheus; is the address right?"
        )

    def _connection(self) -> http.client.HTTPConnection:
        host = self._url.hostname or ""
        timeout_s = self._timeout_ms / 1000
        if self._url.scheme == "http":
            return http.client.HTTPConnection(host, self._url.port, timeout=timeout_s)
        ca_file = self._credentials.ca_file
        try:
            trust = trust_of(ca_file)
        except OSError as problem:
            raise StoreError(
                f"the CA file {ca_file} cannot be used ({problem}); it must hold certificates "
                "in PEM form"
            ) from problem
        return http.client.HTTPSConnection(host, self._url.port, timeout=timeout_s, context=trust)

    def _in_words(self, problem: Exception) -> str:
        match problem:
            case TimeoutError():
                return (
                    f"did not answer within {self._timeout_ms / 1000:g} s; "
                    "queryTimeout sets how long is waited, in a SchedulingShard usageQueryTimeout"
                )
            case ssl.SSLCertVerificationError():
                return certificate_problem(problem, self._server(), self._credentials.ca_file)
            case ssl.SSLError() if is_no_tls(problem):
                return (
                    "does not speak https: this port speaks http, it seems; begin the address "
                    "with http://, or name the port of https"
                )
            case ConnectionRefusedError():
                return "refused the connection: nothing listens there"
            case socket.gaierror() | UnicodeError():
                return "is not known by that name of the host"
            case http.client.IncompleteRead():
                return f"broke off its answer after {len(problem.partial)} bytes"
        return f"cannot be reached ({shown(str(problem) or type(problem).__name__)})"

    def _server(self) -> TlsServer:
        return TlsServer(
            host=self._url.hostname or "",
            port=self._url.port or http.client.HTTPS_PORT,
            timeout_s=self._timeout_ms / 1000,
        )


class _TooLongError(Exception):
    """The answer is longer than we hold."""

    def __init__(self, content_type: str) -> None:
        super().__init__()
        self.content_type = content_type


def shown(text: str) -> str:
    """The beginning of a text that somebody else wrote, on one line and safe to print."""
    line = " ".join(text.split())
    safe = "".join(each if each.isprintable() else "?" for each in line)
    return safe if len(safe) <= _SHOWN_CHARACTERS else safe[:_SHOWN_CHARACTERS] + "..."


def _read(connection: http.client.HTTPConnection, deadline_s: float) -> Reply:
    """Read the reply piece by piece, so that no piece can use up the time of all."""
    line = connection.sock  # the reply may take it away, but the file below it stays
    pieces = []
    size = 0
    with connection.getresponse() as response:  # which the connection does not always close
        content_type = response.headers.get_content_type()
        while True:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            if line.fileno() >= 0:
                line.settimeout(left_s)
            piece = response.read1(_PIECE_BYTES)
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
            if size > MAX_ANSWER_BYTES:
                raise _TooLongError(content_type)
        if response.length:  # read1 does not mind an early end
            raise http.client.IncompleteRead(b"".join(pieces))
        return Reply(status=response.status, content_type=content_type, body=b"".join(pieces))


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


def is_redirect(status: int) -> bool:
    """Whether a status sends us elsewhere."""
    return HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
