"""Asks for published figures of use over time: parts of the capacity, and portions.

Takes entries of the schema ``published/1`` of the kinds ``usage`` and ``portion``.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

from fairlead.model.axes import QueueName
from fairlead.usage.entries import Capacity, Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.portion import normalised_portions, portions
from fairlead.usage.window import Sliding
from tests.conformance.kai_division import MALFORMED, exact_number, named_in
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
Figures = list[Fraction]
MS_PER_HOUR = 3_600_000
QUEUE = QueueName("queue")


def check(entry: Any) -> list[Outcome]:
    """Compare one entry within its own tolerance; a malformed one fails, with why."""
    identity, kind = named_in(entry, "id"), named_in(entry, "kind")
    try:
        expected, got = CHECKS[kind](entry)
        tolerance = exact_number(entry["tolerance"])
        pairs = zip(expected, got, strict=True)
        agrees = all(abs(mine - theirs) <= tolerance for theirs, mine in pairs)
    except MALFORMED as problem:
        note = f"malformed entry: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind=kind, status="failed", note=note)]
    if agrees:
        return [Outcome(id=identity, kind=kind, status="passed")]
    return [
        Outcome(id=identity, kind=kind, status="failed", expected=_text(expected), got=_text(got))
    ]


def _usage(entry: Json) -> tuple[Figures, Figures]:
    """The use is what one queue holds for the last of the hours."""
    given = entry["input"]
    hours, used = int(given["hours"]), int(given["usedResourceHours"])
    ledger = Ledger(("gpu",), Sliding(hours * MS_PER_HOUR))
    ledger.take(Capacity(at_ms=0, amounts=(int(given["capacity"]),)))
    ledger.take(Held(at_ms=(hours - 1) * MS_PER_HOUR, queue=QUEUE, amounts=(used,)))
    [billionths] = ledger.normalised(hours * MS_PER_HOUR)[QUEUE]
    return _numbers([entry["expected"]["usage"]]), [Fraction(billionths, 10**9)]


def _portion(entry: Json) -> tuple[Figures, Figures]:
    weights, usages = (_numbers(entry["input"][key]) for key in ("weightShares", "usage"))
    expected = [_numbers(entry["expected"][key]) for key in ("portion", "normalised")]
    got = [portions(weights, usages), normalised_portions(weights, usages)]
    if [len(each) for each in expected] != [len(each) for each in got]:
        raise ValueError(f"{len(weights)} queues, but not as many expected numbers")
    return list(chain(*expected)), list(chain(*got))


def _numbers(values: Sequence[object]) -> Figures:
    return [exact_number(value) for value in values]


def _text(figures: Figures) -> str:
    return ", ".join(f"{float(value):g}" for value in figures)


CHECKS: dict[str, Callable[[Json], tuple[Figures, Figures]]] = {
    "usage": _usage,
    "portion": _portion,
}
