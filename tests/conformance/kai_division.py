"""Asks the division what KAI answered: fair shares of whole queue trees.

Takes cases of the kind ``division`` of the schema ``kai-oracle/1`` and builds the tree directly
from them, without the manifest readers. Amounts may have any number of decimals: each resource
is counted in a base unit fine enough to hold them all exactly.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from fairlead.fairness.division import Claim
from fairlead.fairness.division_tree import DivisionTree, ShareQueue, fair_shares
from fairlead.fairness.division_weights import common_scale
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
Shares = dict[str, dict[str, Fraction]]

KIND = "division"
RESOURCES = ("gpu", "cpu", "memory")
AMOUNTS = ("deserved", "limit", "request")
ABSENT: Json = {"deserved": 0, "limit": None, "weight": 0, "request": 0}
TOLERANCE = Fraction(1, 10**6)
MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


def check(case: Json) -> list[Outcome]:
    """Compare every share of the tree; a malformed case fails, with the reason."""
    identity = named_in(case, "id")
    try:
        got = shares_of(case)
        differences = [_differences(answer, got) for answer in accepted_answers(case)]
    except MALFORMED as problem:
        note = f"malformed case: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind=KIND, status="failed", note=note)]
    if not all(differences):
        return [Outcome(id=identity, kind=KIND, status="passed")]
    closest = min(differences, key=len)
    return [
        Outcome(
            id=identity,
            kind=KIND,
            status="failed",
            expected=", ".join(f"{where} {_text(want)}" for where, want, _ in closest),
            got=", ".join(f"{where} {_text(have)}" for where, _, have in closest),
            note=str(case.get("why", "")),
        )
    ]


def named_in(case: object, key: str) -> str:
    """What a case calls itself, if it is one at all."""
    return str(case.get(key, "?")) if isinstance(case, dict) else "?"


def shares_of(case: Json) -> Shares:
    """What the division gives every queue of the case, by resource."""
    scales = [_scale(case, resource) for resource in RESOURCES]
    claims = [
        _claims(case["queues"], resource, scale)
        for resource, scale in zip(RESOURCES, scales, strict=True)
    ]
    tree = DivisionTree.from_queues(
        ShareQueue(
            name=queue["name"],
            parent=queue["parent"] or None,
            priority=queue["priority"],
            created_ms=int(exact_number(queue["created"]) * 1000),
            claims=row,
        )
        for queue, row in zip(case["queues"], zip(*claims, strict=True), strict=True)
    )
    total = [
        int(exact_number(case["total"].get(resource, 0)) * scale)
        for resource, scale in zip(RESOURCES, scales, strict=True)
    ]
    shares = fair_shares(tree, total, units=scales, k=exact_number(case["k"]))
    return {
        name: {
            resource: Fraction(share, scale)
            for resource, share, scale in zip(RESOURCES, row, scales, strict=True)
        }
        for name, row in shares.items()
    }


def accepted_answers(case: Json) -> list[Shares]:
    """Every answer that is right for us: the exact one alone, where it is told apart."""
    result = case["result"]
    recorded = {
        name: {resource: exact_number(value) for resource, value in row.items()}
        for name, row in result["fairShare"].items()
    }
    named = {queue["name"] for queue in case["queues"]}
    if recorded.keys() != named or not all(recorded.values()):
        raise ValueError("fairShare does not list every queue")
    exact = case.get("exactArithmetic") or result.get("exactArithmetic")
    if exact:
        return [_overlaid(recorded, exact)]
    alternatives = [*(case.get("alternatives") or ()), *(result.get("alternatives") or ())]
    return [recorded, *(_overlaid(recorded, each) for each in alternatives)]


def _overlaid(recorded: Shares, changed: Mapping[str, Mapping[str, Any]]) -> Shares:
    return {
        name: row
        | {resource: exact_number(value) for resource, value in changed.get(name, {}).items()}
        for name, row in recorded.items()
    }


def _differences(expected: Shares, got: Shares) -> list[tuple[str, Fraction, Fraction]]:
    return [
        (f"{name}.{resource}", want, have)
        for name, row in expected.items()
        for resource, want in row.items()
        if abs((have := got[name][resource]) - want) > TOLERANCE * max(Fraction(1), abs(want))
    ]


def _claims(queues: Iterable[Json], resource: str, scale: int) -> list[Claim]:
    rows = [queue.get(resource, ABSENT) for queue in queues]
    weights = common_scale([Decimal(str(row["weight"])) for row in rows])
    return [
        Claim(
            guaranteed=_base_units(row["deserved"], scale),
            ceiling=_base_units(row["limit"], scale),
            weight=weight,
            requested=int(exact_number(row["request"]) * scale),
            usage_e9=int(exact_number(row.get("usage", 0)) * 10**9),
        )
        for row, weight in zip(rows, weights, strict=True)
    ]


def _base_units(number: object, scale: int) -> int | None:
    return None if number is None else int(exact_number(number) * scale)


def _scale(case: Json, resource: str) -> int:
    """Base units per whole unit: the smallest power of ten that keeps every amount whole."""
    rows = [queue.get(resource, ABSENT) for queue in case["queues"]]
    amounts = [case["total"].get(resource, 0), *(row[key] for row in rows for key in AMOUNTS)]
    scale = 1
    for amount in amounts:
        while amount is not None and (exact_number(amount) * scale).denominator != 1:
            scale *= 10
    return scale


def exact_number(number: object) -> Fraction:
    """A JSON number as its decimal text says, not as the nearest binary float."""
    return Fraction(Decimal(str(number)))


def _text(number: Fraction) -> str:
    return str(number if number.denominator == 1 else float(number))
