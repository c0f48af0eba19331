"""Asks the division for the published numbers: divisions of one level, and share weights."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from fairlead.fairness.division_weights import (
    common_scale,
    net_share_weights,
    usage_terms,
)
from tests.conformance.kai_division import MALFORMED, exact_number, named_in, shares_of
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
Figures = dict[str, Fraction]


def check(entry: Json) -> list[Outcome]:
    """Compare one entry of ``published/1``; a malformed one fails, with the reason."""
    identity, kind = named_in(entry, "id"), named_in(entry, "kind")
    if kind not in {*CHECKS, "?"}:
        return [Outcome(id=identity, kind=kind, status="unbuilt")]
    try:
        expected, got = CHECKS[kind](entry)
        tolerance = exact_number(entry["tolerance"])
        agrees = all(abs(got[name] - want) <= tolerance for name, want in expected.items())
    except MALFORMED as problem:
        note = f"malformed entry: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind=kind, status="failed", note=note)]
    if agrees:
        return [Outcome(id=identity, kind=kind, status="passed")]
    return [
        Outcome(id=identity, kind=kind, status="failed", expected=_text(expected), got=_text(got))
    ]


def _division(entry: Json) -> tuple[Figures, Figures]:
    """One level; the queues have no names, so they are called by their place."""
    given = entry["input"]
    queues = [
        {
            "name": f"{place:03}",
            "parent": "",
            "priority": queue["priority"],
            "created": queue["created"],
            "gpu": queue,
        }
        for place, queue in enumerate(given["queues"])
    ]
    shares = shares_of({"k": given["k"], "total": {"gpu": given["total"]}, "queues": queues})
    values = [shares[queue["name"]]["gpu"] for queue in queues]
    got = _numbered(values)
    got["left"] = max(Fraction(0), exact_number(given["total"]) - sum(values))
    expected = _numbered(_listed(entry["expected"]["fairShare"], len(queues)))
    expected["left"] = exact_number(entry["expected"]["left"])
    return expected, got


def _share_weight(entry: Json) -> tuple[Figures, Figures]:
    given = entry["input"]
    weights = common_scale([Decimal(str(weight)) for weight in given["weights"]])
    usages_e9 = [int(exact_number(usage) * 10**9) for usage in given["usage"]]
    terms = usage_terms(weights, usages_e9, exact_number(given["k"]))
    counted = net_share_weights(*terms, sum(weights))
    normalised = [Fraction(weight, sum(counted)) for weight in counted]
    return _numbered(_listed(entry["expected"]["normalised"], len(weights))), _numbered(normalised)


def _listed(numbers: Sequence[object], count: int) -> list[Fraction]:
    if len(numbers) != count:
        raise ValueError(f"{count} queues but {len(numbers)} expected numbers")
    return [exact_number(number) for number in numbers]


def _numbered(values: Sequence[Fraction]) -> Figures:
    return {f"{place:03}": value for place, value in enumerate(values)}


def _text(figures: Figures) -> str:
    return ", ".join(f"{name} {float(value):g}" for name, value in figures.items())


CHECKS: dict[str, Callable[[Json], tuple[Figures, Figures]]] = {
    "division": _division,
    "shareWeight": _share_weight,
}
