"""Asks for published figures of Kueue's dominant share and of half-life decay.

Takes entries of the schema ``published/1`` of the kinds ``drs`` and ``decay``.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from fairlead.fairness.decay import decayed
from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from tests.conformance.kueue_nodes import MALFORMED
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
MS_PER_HOUR = 3_600_000
UNITS = 10**15  # decay works on whole units; published amounts are fractions of a resource


def check(entry: Any) -> list[Outcome]:
    """Compare one entry within its own tolerance; a malformed one fails, with why."""
    known = isinstance(entry, dict)
    identity = str(entry.get("id", "?")) if known else "?"
    kind = str(entry.get("kind", "?")) if known else "?"
    try:
        expected, got = CHECKS[kind](entry)
        agrees = got == expected or abs(got - expected) <= float(entry["tolerance"])
    except MALFORMED as problem:
        note = f"malformed entry: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind=kind, status="failed", note=note)]
    if agrees:
        return [Outcome(id=identity, kind=kind, status="passed")]
    return [Outcome(id=identity, kind=kind, status="failed", expected=str(expected), got=str(got))]


def _decimal(number: object) -> Decimal:
    """A JSON number as its decimal text says, not as the nearest binary float."""
    return Decimal(str(number))


def _check_drs(entry: Json) -> tuple[float, float]:
    """A queue under a root that brings the rest of what can be lent."""
    given = entry["input"]
    nominal = given["nominal"]
    tree = QuotaTree(
        ["resource"],
        [
            _node("root", None, Decimal(1), given["lendable"] - nominal),
            _node("queue", "root", _decimal(given["weight"]), nominal),
        ],
        {"queue": [given["usage"]]},
    )
    return float(entry["expected"]["share1000"]), tree.dominant_share("queue").share


def _node(name: str, parent: str | None, weight: Decimal, nominal: int) -> QuotaNode:
    return QuotaNode(
        name=name,
        parent=parent,
        weight=weight,
        guaranteed=(nominal,),
        borrow_limit=(None,),
        lend_limit=(None,),
        listed=frozenset({0}),
    )


def _check_decay(entry: Json) -> tuple[float, float]:
    given = entry["input"]
    left = decayed(
        int(_decimal(given["amount"]) * UNITS),
        int(_decimal(given["ageHours"]) * MS_PER_HOUR),
        int(_decimal(given["halfLifeHours"]) * MS_PER_HOUR),
    )
    return float(entry["expected"]["value"]), left / UNITS


CHECKS: dict[str, Callable[[Json], tuple[float, float]]] = {
    "drs": _check_drs,
    "decay": _check_decay,
}
