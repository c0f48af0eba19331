"""What can go wrong between us and the API server, as one tree.

::

    ClusterError
    └── ApiError                 method, path, status, reason, and what to do
        ├── UnreachableError     no connection, or it broke
        │   └── LateError        no whole answer before the deadline
        │       └── SilentError  no line of a stream for too long
        ├── UnreadableAnswerError  an answer that no API server gives
        │   └── TooLongAnswerError an answer or a line beyond the bound
        ├── InvalidError         400, 405, 415, 422 and the like
        ├── UnauthorizedError    401, also with renewed credentials
        ├── RefusedError         403
        ├── NotFoundError        404
        ├── ConflictError        409
        ├── GoneError            410, as a status or within a watch
        ├── TooManyRequestsError 429
        └── ServerFaultError     5xx

Two questions decide what a caller does next. `retry_after_s`: the least number of seconds after
which to ask again; None: asking again will not help. `is_unknown`: whether a write may have been
carried out although it failed here; then the object has to be read before anything is repeated.
"""

from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import ClassVar, Final

import msgspec

from fairlead.errors import ClusterError

MAX_RETRY_AFTER_S: Final = 600  # a server that names more gets asked all the same
AT_ONCE_S: Final = 0  # no time was named: a caller's own back-off decides
_SHOWN_CHARACTERS: Final = 400


class ApiError(ClusterError):
    """A request to the API server failed; the text says which one, why, and what to do."""

    advice: ClassVar[str] = ""

    def __init__(
        self,
        asked: str,
        found: str,
        *,
        status: int | None = None,
        reason: str = "",
        causes: tuple[str, ...] = (),
        retry_after_s: int | None = None,
        is_unknown: bool = False,
    ) -> None:
        """Describe the request *asked*, such as ``GET /api/v1/pods``, and what was *found*."""
        super().__init__(
            f"{asked}: {found}; {self.advice}" if self.advice else f"{asked}: {found}",
            retry_after_s=retry_after_s,
        )
        self.method, _, self.path = asked.partition(" ")
        self.status = status  # None: there was no answer
        self.reason = reason  # of the Status object, such as AlreadyExists
        self.causes = causes  # in its details, such as DisruptionBudget
        self.is_unknown = is_unknown


class UnreachableError(ApiError):
    """There was no connection, or it broke before the answer was complete."""

    advice = "check the address, the network, and that the API server runs"


class LateError(UnreachableError):
    """The whole answer did not come before the deadline."""

    advice = "see whether the API server is overloaded or the network loses packets"


class SilentError(LateError):
    """A stream that had begun has sent no line for too long."""


class UnreadableAnswerError(ApiError):
    """The answer is none that an API server gives."""

    advice = "check that the address is that of an API server, and what stands between"


class TooLongAnswerError(UnreadableAnswerError):
    """The answer, or a line of it, is longer than we hold."""

    advice = "ask for less at once, or make the objects smaller"


class InvalidError(ApiError):
    """The API server does not accept a request of this form."""

    advice = "compare the versions of the API server and of Fairlead"


class UnauthorizedError(ApiError):
    """The API server does not know the user."""

    advice = "log in again, or renew the token or the client certificate"


class RefusedError(ApiError):
    """The user lacks the right, or an admission policy refused the request."""

    advice = "grant the verb with a role, or see which admission policy refused it"


class NotFoundError(ApiError):
    """The object, or its kind, does not exist."""

    advice = "see whether it was deleted, or whether its CRD is installed"


class ConflictError(ApiError):
    """The object is not as the request demands, or exists already."""

    advice = "read the object again and decide anew"


class GoneError(ApiError):
    """The server no longer knows the changes since a resourceVersion, or the rest of a list."""

    advice = "list the objects anew"


class TooManyRequestsError(ApiError):
    """The server, or a disruption budget, does not allow it now."""

    advice = "wait, then ask again"


class ServerFaultError(ApiError):
    """The server failed."""

    advice = "see the log of the API server"


_BY_STATUS: Final[dict[int, type[ApiError]]] = {
    HTTPStatus.UNAUTHORIZED: UnauthorizedError,
    HTTPStatus.FORBIDDEN: RefusedError,
    HTTPStatus.NOT_FOUND: NotFoundError,
    HTTPStatus.CONFLICT: ConflictError,
    HTTPStatus.GONE: GoneError,
    HTTPStatus.TOO_MANY_REQUESTS: TooManyRequestsError,
}
_TRANSIENT: Final = (TooManyRequestsError, ServerFaultError)


# What the decoder raises for bytes that are not as expected, whatever they are.
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Cause(msgspec.Struct, frozen=True):
    reason: str | None = None


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    retry_after_seconds: int | None = None
    causes: list[_Cause] | None = None


class Status(msgspec.Struct, frozen=True, tag_field="kind", tag="Status"):
    """The object in which an API server says why it did not do what was asked."""

    code: int = 0
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


def read_status(body: bytes) -> Status | None:
    """Return the Status object that *body* is, or None if it is none."""
    try:
        return msgspec.json.decode(body, type=Status)
    except UNREADABLE:
        return None


def answer_error(
    asked: str, code: int, body: bytes, *, retry_after_s: int | None = None, secret: str = ""
) -> ApiError:
    """Return the error for an answer with the status *code*.

    The server's own words are shown if the body is a Status object, else the beginning of the
    body, in neither case with *secret* in it: some proxies repeat the request in their answer.
    *retry_after_s* is from the header; a Status object may name a time too, and the longer counts.
    """
    status = read_status(body)
    if status is not None:
        return status_error(asked, code, status, retry_after_s=retry_after_s, secret=secret)
    words = shown(body[: 4 * _SHOWN_CHARACTERS].decode(errors="replace"), secret)
    found = words if words.startswith(str(code)) else f"{code} {words}".strip()
    return _error_of_class(_class_of(code), asked, found, code, "", retry_after_s)


def status_error(
    asked: str, code: int, status: Status, *, retry_after_s: int | None = None, secret: str = ""
) -> ApiError:
    """Return the error that a Status object describes, in an answer or in an event of a watch."""
    if status.details is not None and status.details.retry_after_seconds is not None:
        retry_after_s = max(retry_after_s or 0, status.details.retry_after_seconds)
    reason, words = shown(status.reason or ""), shown(status.message or "", secret)
    said = (str(code), reason, words if words != reason else "")
    found = " ".join(each for each in said if each)
    causes = [each.reason or "" for each in (status.details and status.details.causes) or ()]
    return _error_of_class(
        _class_of(code), asked, found, code, reason, retry_after_s, tuple(causes)
    )


def shown(text: str, secret: str = "") -> str:
    """Return the beginning of a foreign text, on one line, without *secret*."""
    open_text = text.replace(secret, "...") if secret else text
    line = " ".join(open_text.split())
    safe = "".join(each if each.isprintable() else "?" for each in line)
    return safe if len(safe) <= _SHOWN_CHARACTERS else safe[:_SHOWN_CHARACTERS] + "..."


def read_retry_after(header: str, sent: str, now: datetime) -> int | None:
    """Return the seconds that a Retry-After header names, or None if it is not readable.

    A date counts from *sent*, the Date header of the same answer, so that a wrong clock here does
    no harm; from *now* if the server sent none.
    """
    if header.isascii() and header.isdecimal():
        return int(header[:9])
    until = read_date(header)
    if until is None:
        return None
    return max(0, round((until - (read_date(sent) or now)).total_seconds()))


def read_date(text: str) -> datetime | None:
    """Return the moment that a header names, or None if it names none."""
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _class_of(code: int) -> type[ApiError]:
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServerFaultError
    if code < HTTPStatus.BAD_REQUEST:
        return UnreadableAnswerError  # a redirect: an API server answers itself
    return _BY_STATUS.get(code, InvalidError)


def _error_of_class(
    error: type[ApiError],
    asked: str,
    found: str,
    status: int,
    reason: str,
    retry_after_s: int | None,
    causes: tuple[str, ...] = (),
) -> ApiError:
    if issubclass(error, _TRANSIENT):
        told = AT_ONCE_S if retry_after_s is None else retry_after_s
        retry_after_s = min(max(0, told), MAX_RETRY_AFTER_S)
    else:
        retry_after_s = None
    is_unknown = issubclass(error, ServerFaultError)
    return error(
        asked,
        found,
        status=status,
        reason=reason,
        causes=causes,
        retry_after_s=retry_after_s,
        is_unknown=is_unknown,
    )
