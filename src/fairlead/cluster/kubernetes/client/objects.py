"""JSON of the API server to plain mappings whose numbers are exact.

A number means its decimal text, as for the readers of manifests: an int or a Decimal, never a
float. One that those readers refuse stays a text, so that the reader of its field reports it; the
other objects of a list must not suffer.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from fairlead.cluster.kubernetes.client.errors import (
    AT_ONCE_S,
    UNREADABLE,
    UnreadableAnswerError,
)
from fairlead.manifest.text.scalar import NumberError, number_value
from fairlead.manifest.text.values import Mapping

_T = TypeVar("_T")


def reader(wanted: type[_T]) -> Callable[[bytes, str], _T]:
    """Return a function that reads a body as *wanted*, given what was asked, for its error."""
    decoder = msgspec.json.Decoder(wanted, float_hook=exact_number)

    def read(body: bytes, asked: str) -> _T:
        try:
            return decoder.decode(body)
        except UNREADABLE as error:
            found = f"the answer cannot be read ({error})"
            raise UnreadableAnswerError(
                asked, found, retry_after_s=AT_ONCE_S, is_unknown=True
            ) from None

    return read


def exact_number(text: str) -> int | Decimal | str:
    """Return the number that is written, or the text itself where it is beyond our bounds."""
    try:
        return number_value(text)
    except NumberError:
        return text


read_object: Callable[[bytes, str], Mapping] = reader(dict[str, Any])
