"""What a Prometheus server answered: series of samples, or why there are none.

A proxy's login page, a page of another server and an error of Prometheus all arrive the same way.
They are distinguished here, so that none is taken for "nothing was used".
"""

from decimal import Decimal, InvalidOperation
from http import HTTPStatus
from typing import Final, TypeAlias

import msgspec

Labels: TypeAlias = dict[str, str]
Samples: TypeAlias = list[tuple[int, Decimal]]

_SHOWN_CHARACTERS: Final = 80


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply over HTTP: an answer or error of Prometheus, or a page of another server."""

    status: int
    content_type: str
    body: bytes


class AnswerError(Exception):
    """There is no usable answer; the text goes on after the name of the server."""


class TooManySamplesError(AnswerError):
    """The server would have to load more samples than it may; ask for a shorter time."""


class TimedOutError(AnswerError):
    """The server was not done with the query in its time; ask for a shorter one."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The samples of one set of labels, in the order of time."""

    labels: Labels
    samples: Samples


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """All series of a query, and what the server warned of: such an answer may be partial."""

    series: list[Series]
    warnings: tuple[str, ...] = ()


class _RawSeries(msgspec.Struct):
    metric: Labels = {}
    values: list[tuple[float, str]] = []


class _Range(msgspec.Struct, tag_field="resultType", tag="matrix"):
    result: list[_RawSeries]


class _Body(msgspec.Struct, rename="camel"):
    status: str
    error_type: str = ""
    error: str = ""
    warnings: list[str] = []
    data: _Range | None = None


_DECODER = msgspec.json.Decoder(_Body)


def range_answer(reply: Reply) -> Answer:
    """Read the answer to a range query; AnswerError says why there is none.

    Law: a sample's number is the decimal text that the server wrote. Cost: O(samples); a number
    that occurs a million times is read once.
    """
    body = _body(reply)
    if body.data is None:
        raise AnswerError("answered a range query without series")
    numbers = _Numbers()
    try:
        series = [
            Series(
                labels=each.metric,
                samples=[(round(at_s * 1000), numbers[text]) for at_s, text in each.values],
            )
            for each in body.data.result
        ]
    except OverflowError:
        raise AnswerError("answered with a sample of a time that no clock shows") from None
    if len({tuple(sorted(each.labels.items())) for each in series}) < len(series):
        raise AnswerError("answered with two series of the same labels")
    return Answer(series=series, warnings=tuple(map(shown, body.warnings)))


class _Numbers(dict[str, Decimal]):
    """Numbers by their text, each read when it is first asked for."""

    def __missing__(self, text: str) -> Decimal:
        number = self[text] = _number(text)
        return number


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = None
    if number is None or number.is_snan():  # which cannot even be compared
        raise AnswerError(f"answered with {shown(text)!r} in the place of a number")
    return number


def _body(reply: Reply) -> _Body:
    if reply.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise AnswerError(
            f"does not let us in (status {reply.status}); check the user, password or token"
        )
    if HTTPStatus.MULTIPLE_CHOICES <= reply.status < HTTPStatus.BAD_REQUEST:
        raise AnswerError(
            f"sends us elsewhere (status {reply.status}); set the address to where it really is"
        )
    try:
        body = _DECODER.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise AnswerError(_not_an_answer(reply)) from None
    if body.status != "success":
        text = f"reports an error: {shown(body.error or body.status)}"
        if "too many samples" in body.error:
            raise TooManySamplesError(text)
        if body.error_type == "timeout":
            raise TimedOutError(text)
        raise AnswerError(text)
    return body


def _not_an_answer(reply: Reply) -> str:
    text = shown(reply.body[:400].decode("utf-8", errors="replace"))
    return (
        f"answered with status {reply.status} and {reply.content_type} that is no answer of "
        f"Prometheus ({text!r}); is the address right?"
    )


def shown(text: str) -> str:
    """Return the beginning of a foreign text, on one line and safe to print."""
    line = " ".join(text.split())
    safe = "".join(each if each.isprintable() else "?" for each in line)
    return safe if len(safe) <= _SHOWN_CHARACTERS else safe[:_SHOWN_CHARACTERS] + "..."
