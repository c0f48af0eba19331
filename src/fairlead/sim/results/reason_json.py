"""The numbers of a reason as one line of JSON, and back.

JSON has no infinity, and a share can be infinite: it is written as ``1e999``, which is a number,
and which everybody who reads it takes for infinite. Fractions are texts such as ``8/3``.
"""

import json
import math
from fractions import Fraction
from typing import Any, Final

import msgspec

from fairlead.model.plan import Reason

_INFINITY: Final = msgspec.Raw(b"1e999")
_MINUS_INFINITY: Final = msgspec.Raw(b"-1e999")


def reason_json(reason: Reason) -> str:
    """Return *reason* as JSON; what it says nothing about is left out."""
    plain = msgspec.to_builtins(reason, enc_hook=_exact)
    told = {name: value for name, value in plain.items() if value not in (None, ())}
    return msgspec.json.encode(_with_infinity(told)).decode()


def reason_of(text: str) -> Reason:
    """Return the reason that *text* tells. Raises ValueError for what is none."""
    try:
        return msgspec.convert(json.loads(text), Reason, dec_hook=_as_fraction)
    except RecursionError:
        raise ValueError("lists within lists, too deep to be read") from None
    except ArithmeticError as wrong:
        raise ValueError(f"no number: {wrong}") from None


def _with_infinity(value: Any) -> Any:
    kind = type(value)  # of plain values, so the type itself: it is quicker to compare
    if kind is dict:
        return {name: _with_infinity(each) for name, each in value.items()}
    if kind is list or kind is tuple:
        return [_with_infinity(each) for each in value]
    if kind is float and math.isinf(value):
        return _INFINITY if value > 0 else _MINUS_INFINITY
    return value


def _exact(value: object) -> str:
    assert isinstance(value, Fraction)
    return str(value)


def _as_fraction(kind: type, value: Any) -> Any:
    return kind(value)
