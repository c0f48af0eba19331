"""What a difference between two sides of a comparison means, in a word or two."""

from typing import Literal, TypeAlias

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
    "one seed",
    "only here",  # the first side has no such number
    "only there",  # only the first side has one
    "",  # neither has one
]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over seeds; the interval of 95 % is None with fewer than two."""

    mean: float | None
    low: float | None
    high: float | None
    runs: int  # in which it is defined


def is_sure(difference: Estimate) -> bool:
    """Whether an interval does not hold 0: by chance alone so in one of twenty."""
    if difference.low is None or difference.high is None:
        return False
    return difference.low > 0 or difference.high < 0


def verdict(better: Better, first: Estimate, other: Estimate, difference: Estimate) -> Verdict:
    """Return what *difference*, of *other* from *first*, means where *better* is better."""
    change = difference.mean
    if change is None or first.mean is None or other.mean is None:
        return _verdict_of_undefined(first, other)
    if difference.low is None:
        return "one seed"
    if not is_sure(difference):
        return "the same" if difference.low == difference.high else "may be chance"
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
