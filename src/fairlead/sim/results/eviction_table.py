"""``evictions.csv``: a line for each eviction of pods, with the numbers that decided it.

The numbers are one line of JSON. JSON has no infinity, and a share can be infinite: it is written
as ``1e999``, which every reader takes for infinite. Fractions are texts such as ``8/3``.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from fairlead.model.plan import Reason
from fairlead.sim.engine.events import Cause, Evicted
from fairlead.sim.results.files import Cell, given_cells, read_rows

_INFINITY: Final = msgspec.Raw(b"1e999")
_MINUS_INFINITY: Final = msgspec.Raw(b"-1e999")


def reason_json(reason: Reason) -> str:
    """Return *reason* as JSON; what it says nothing about is left out."""
    plain = msgspec.to_builtins(reason, enc_hook=_exact)
    given = {name: value for name, value in plain.items() if value not in (None, ())}
    return msgspec.json.encode(_with_infinity(given)).decode()


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


class EvictionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line: pods of a job that were evicted at one moment, and why."""

    at_ms: int
    job: str = ""
    queue: str = ""
    pods: int
    cause: Cause
    beneficiary: str | None = None  # the job for which they leave
    code: str | None = None  # of the reason; None: their node is gone
    reason: str | None = None  # in JSON
    sentence: str = ""  # the reason for people


COLUMNS: Final = EvictionRow.__struct_fields__

Phrase: TypeAlias = Callable[[Reason], str]
"""Says a reason in a sentence. Sentences are made in a higher layer, so it comes from outside."""


def code_of(reason: Reason) -> str:
    """Say a reason by its code alone."""
    return reason.code


def eviction_cells(evicted: Evicted, phrase: Phrase) -> tuple[Cell, ...]:
    """Return the line of *evicted*."""
    reason = evicted.reason
    return (
        evicted.at_ms,
        evicted.job.name,
        evicted.job.queue,
        evicted.pods,
        evicted.cause,
        evicted.beneficiary,
        None if reason is None else reason.code,
        None if reason is None else reason_json(reason),
        "its node is gone" if reason is None else phrase(reason),
    )


def read_evictions(path: Path) -> Iterator[EvictionRow]:
    """Yield the lines of a table, one at a time."""

    def eviction(cells: list[str]) -> EvictionRow:
        return msgspec.convert(given_cells(COLUMNS, cells), EvictionRow, strict=False)

    return read_rows(path, COLUMNS, eviction)
