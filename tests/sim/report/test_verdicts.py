"""The verdict of a row: a change from 0 or from nothing is a change like any other."""

import pytest

from fairlead.sim.report.verdicts import Better, Estimate, is_sure, seeds_remark, verdict


def estimate(text: str) -> Estimate:
    """Read a mean, or a mean with its interval: ``3`` or ``3 2..4``; ``-`` is nothing."""
    mean, _, interval = text.partition(" ")
    if mean == "-":
        return Estimate(mean=None, low=None, high=None, runs=0)
    low, high = map(float, interval.split("..")) if interval else (None, None)
    return Estimate(mean=float(mean), low=low, high=high, runs=3 if interval else 1)


# what is better | the first side | the other side | their difference | the verdict
VERDICTS = """
    more | 0    | 0.97 | 0.97 0.9..1  | better
    less | 0    | 4    | 4 4..4       | worse
    less | 3    | 0    | -3 -4..-2    | better
         | 0    | 0.97 | 0.97 0.9..1  | more
         | 0.97 | 0    | -0.97 -1..-0.9 | less
    even | 0    | 0.97 | 0.97 0.9..1  | better
    even | 0.9  | 1.3  | 0.4 0.3..0.5 | worse
    less | 3    | 4    | 1 -1..3      | may be chance
    less | 3    | 3    | 0 -1..1      | may be chance
    less | 3    | 3    | 0 0..0       | the same
    less | 0    | 4    | 4            | one seed
    less | -    | 4    | -            | only here
    less | 4    | -    | -            | only there
    less | 4    | 5    | -            | may be chance
"""


@pytest.mark.parametrize("line", VERDICTS.strip().splitlines(), ids=str.strip)
def test_a_verdict_says_what_the_difference_means(line: str) -> None:
    better, first, other, difference, expected = (each.strip() for each in line.split("|"))
    kinds: dict[str, Better] = {"more": "more", "less": "less", "even": "even", "": ""}
    estimates = map(estimate, (first, other, difference))
    assert verdict(kinds[better], *estimates, is_random=True) == expected


@pytest.mark.parametrize(
    ("change", "expected"), [("1", "worse"), ("-1", "better"), ("0", "the same")]
)
def test_without_chance_one_seed_is_enough(change: str, expected: str) -> None:
    other = estimate(str(3 + int(change)))
    assert verdict("less", estimate("3"), other, estimate(change), is_random=False) == expected


def test_the_remark_on_seeds_is_about_chance() -> None:
    assert "simulate with --seeds 10" in (seeds_remark(1, is_random=True) or "")
    assert seeds_remark(10, is_random=True) is None
    assert "the same in every run" in (seeds_remark(1, is_random=False) or "")


@pytest.mark.parametrize(
    ("difference", "sure"), [("1 1..2", True), ("-1 -2..-1", True), ("0 -1..1", False)]
)
def test_a_difference_is_sure_if_its_interval_does_not_hold_zero(
    difference: str, sure: bool
) -> None:
    assert is_sure(estimate(difference)) is sure


def test_without_an_interval_no_difference_is_sure() -> None:
    assert not is_sure(estimate("1"))
