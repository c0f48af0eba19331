"""What a difference between two sides of a comparison means, in a word or two."""

from typing import Final, Literal, TypeAlias

import msgspec

Better: TypeAlias = Literal["less", "more", "even", ""]
"""Which is better: less, more, nearer to 1, or neither."""

Verdict: TypeAlias = Literal[
    "better",
    "worse",
    "more",  # where neither is better
    "less",
    "the same",
    "may be chance",
    "unclear",  # it leaves jobs out that never started, and more of them on the better side
    "one seed",
    "only here",  # the first side has no such number
    "only there",  # only the first side has one
    "",  # neither has one
]


FEW_SEEDS: Final = 2
"""With so many there are intervals, of which hardly any is of use."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over seeds; the interval of 95 % is None with fewer than two."""

    mean: float | None
    low: float | None
    high: float | None
    runs: int  # in which it is defined


def seeds_remark(seeds: int, *, is_random: bool) -> str | None:
    """Say what can hardly be concluded from so few seeds; None with enough of them.

    With two, an interval reaches 12.7 standard errors to each side, with three 4.3.
    """
    if not is_random:
        return "nothing is drawn by chance: the work is the same in every run, one seed is enough"
    if seeds == 1:
        return "with one seed any difference may be chance: simulate with --seeds 10"
    if seeds == FEW_SEEDS:
        return (
            "with two seeds intervals are so wide that most differences are lost in them: "
            "simulate with --seeds 10"
        )
    return None


def is_sure(difference: Estimate) -> bool:
    """Whether an interval does not hold 0: by chance alone so in one of twenty."""
    if difference.low is None or difference.high is None:
        return False
    return difference.low > 0 or difference.high < 0


def verdict(
    better: Better, first: Estimate, other: Estimate, difference: Estimate, *, is_random: bool
) -> Verdict:
    """Return what *difference*, of *other* from *first*, means where *better* is better.

    Without chance every difference is certain, with one seed as well.
    """
    change = difference.mean
    if change is None or first.mean is None or other.mean is None:
        return _verdict_of_undefined(first, other)
    if is_random and difference.low is None:
        return "one seed"
    if change == 0 and (not is_random or difference.low == difference.high):
        return "the same"
    if is_random and not is_sure(difference):
        return "may be chance"
    match better:
        case "":
            return "more" if change > 0 else "less"
        case "even":
            is_better = abs(other.mean - 1) < abs(first.mean - 1)
        case "less" | "more":
            is_better = (change > 0) == (better == "more")
    return "better" if is_better else "worse"


def _verdict_of_undefined(first: Estimate, other: Estimate) -> Verdict:
    """Return the verdict where no pair of runs has the number on both sides."""
    if first.mean is None:
        return "" if other.mean is None else "only here"
    return "only there" if other.mean is None else "may be chance"


def judged_by_unstarted(found: Verdict, first: float, other: float) -> Verdict:
    """Return *found* unless the side that it calls better left more jobs unstarted.

    *first* and *other* are how many jobs never started on each side. What these would have waited
    is not known, so the side is not better because they are missing.
    """
    if (found == "better" and other > first) or (found == "worse" and first > other):
        return "unclear"
    return found
