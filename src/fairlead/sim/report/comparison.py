"""Runs of the same work under different rules or settings, side by side, as plain data.

Numbers are those of the measures: ms, base units x ms, ratios. A difference is that of the pairs of
runs with the same seed, so what the work of a seed does to both sides falls out of it.
"""

from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.sim.report.report_page import ShownResource
from fairlead.sim.results.about import HistoryMark

Better: TypeAlias = Literal["less", "more", "even", ""]
"""Which is better: less, more, nearer to 1, or neither."""


FEW_SEEDS: Final = 2
"""With so many there are intervals, of which hardly any is of use."""


class ComparedSide(msgspec.Struct, frozen=True, kw_only=True):
    """One set of rules and settings."""

    name: str
    variant: str
    policy: str
    settings: dict[str, str]
    history: HistoryMark | None  # None: nothing was used before the start


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over seeds; the interval of 95 % is None with fewer than two."""

    mean: float | None
    low: float | None
    high: float | None
    runs: int  # in which it is defined


class ComparedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of the cluster or of a queue, on all sides."""

    scope: Literal["cluster", "queue"]
    name: str  # empty for the cluster
    measure: str  # the fields that lead to it in a summary, without the resource
    resource: str  # empty where it is not about one
    title: str
    form: str  # count, ms, ratio, percent, amount-time
    better: Better
    sides: list[Estimate]
    differences: list[Estimate]  # from the first side, for each of the others


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All measures of all sides."""

    scenario: str
    seeds: list[int]
    resources: list[ShownResource]
    sides: list[ComparedSide]
    rows: list[ComparedRow]
    queues_left_out: int


def seeds_remark(seeds: int) -> str | None:
    """Say what can hardly be told with so few seeds; None with enough of them.

    With two, an interval reaches 12.7 standard errors to each side, with three 4.3.
    """
    if seeds == 1:
        return "with one seed any difference may be chance"
    if seeds == FEW_SEEDS:
        return "with two seeds intervals are so wide that most differences are lost in them"
    return None


def is_sure(difference: Estimate) -> bool:
    """Whether an interval does not hold 0: by chance alone so in one of twenty."""
    if difference.low is None or difference.high is None:
        return False
    return difference.low > 0 or difference.high < 0
