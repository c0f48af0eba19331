"""What is left of one's weight: the published examples, and that it is the limit of large k."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.usage.portion import normalised_portions, portions
from tests.conformance import published_usage

HALF = Fraction(1, 2)


def test_who_used_everything_leaves_everything_to_the_other() -> None:
    """max(1/2 - 1, 0) = 0 and max(1/2 - 0, 0) = 1/2, which is all there is."""
    weights, usages = [HALF, HALF], [Fraction(1), Fraction(0)]
    assert portions(weights, usages) == [0, HALF]
    assert normalised_portions(weights, usages) == [0, 1]


def test_where_all_used_their_weight_up_nobody_has_a_portion() -> None:
    assert normalised_portions([HALF, HALF], [HALF, HALF]) == [0, 0]


parts = st.fractions(0, 1, max_denominator=1000)


@given(queues=st.lists(st.tuples(parts, parts), min_size=1, max_size=6))
def test_it_is_the_limit_of_the_known_formula_for_a_large_k(
    queues: list[tuple[Fraction, Fraction]],
) -> None:
    """Divided by k, w + k * (w - u) differs from w - u by w / k: with k = 10**12 by very little."""
    weights, usages = [weight for weight, _ in queues], [usage for _, usage in queues]
    k = 10**12
    known = [max(Fraction(0), weight + k * (weight - usage)) / k for weight, usage in queues]
    for portion, value in zip(portions(weights, usages), known, strict=True):
        assert abs(portion - value) <= Fraction(1, k)
    found = normalised_portions(weights, usages)
    assert sum(found) == (1 if any(found) else 0)


PORTION = {
    "id": "p",
    "kind": "portion",
    "input": {"weightShares": [0.5, 0.5], "usage": [1.0, 0.0]},
    "expected": {"portion": [0, 0.5], "normalised": [0, 1]},
    "tolerance": 1e-12,
}
USAGE = {
    "id": "u",
    "kind": "usage",
    "input": {"capacity": 10, "hours": 10, "usedResourceHours": 24},
    "expected": {"usage": 0.24},
    "tolerance": 1e-12,
}


@pytest.mark.parametrize(
    ("entry", "status"),
    [
        (PORTION, "passed"),
        (USAGE, "passed"),
        (PORTION | {"expected": {"portion": [0, 0.5], "normalised": [0, 0.9]}}, "failed"),
        (PORTION | {"expected": {"portion": [0, 0.4], "normalised": [0, 1]}}, "failed"),
        (PORTION | {"expected": {"portion": [0], "normalised": [0, 1]}}, "failed"),
        (USAGE | {"expected": {"usage": 0.2400000001}}, "failed"),
        (USAGE | {"input": {}}, "failed"),
    ],
)
def test_a_published_entry_is_checked_within_its_tolerance(
    entry: dict[str, object], status: str
) -> None:
    [outcome] = published_usage.check(entry)
    assert outcome.status == status
