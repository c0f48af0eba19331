"""Points of the default scheduler, and what comes after the points."""

from fractions import Fraction
from math import floor, sqrt
from statistics import pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.placement.scored_nodes import (
    ABOVE_ALL_SCORES,
    FULL,
    POINT,
    WHOLE_POINT,
    Fill,
    Scoring,
    balance_score,
    fit_score,
    node_score,
)
from tests.text_table import rows

# used/size of cpu and memory once the pod is there
SCENARIOS = """
    cpu        memory  least  most  balance  because
    0/4        0/8     100    0     100      empty
    3000/4000  5/10    37     62    87       (25+50)/2=37.5,(75+50)/2=62.5,100-25/2=87.5
    1/3        1/3     66     33    100      2/3=66.6,1/3=33.3,even
    2/3        1/2     41     58    91       (33+50)/2=41.5,(66+50)/2,100-16.6/2=91.6
    4/4        0/8     50     50    50       (0+100)/2,(100+0)/2,100-100/2
    9/4        4/8     25     75    75       over_is_full:(0+50)/2,(100+50)/2,100-50/2
    9/4        8/8     0      100   100      full_both
    0/0        2/8     75     25    100      cpu_left_out,one_is_even
    0/0        0/0     0      0     100      nothing_to_score,nothing_uneven
"""


def fill(text: str) -> Fill:
    used, size = text.split("/")
    return int(used), int(size)


@pytest.mark.parametrize("row", rows(SCENARIOS), ids=lambda row: row["because"])
def test_points_are_those_of_the_default_scheduler(row: dict[str, str]) -> None:
    fills = [fill(row["cpu"]), fill(row["memory"])]
    least, _ = fit_score(fills, "LeastAllocated")
    most, _ = fit_score(fills, "MostAllocated")
    balance = balance_score(fills) // POINT
    assert (least, most, balance) == (int(row["least"]), int(row["most"]), int(row["balance"]))


def test_among_equal_points_millionths_decide() -> None:
    """Of 64 cores, 0.1 is a sixth of a point: 1/640 = 0.156 %, 2/640 = 0.312 %."""
    emptier = node_score([(100, 64_000)], None, "LeastAllocated")
    fuller = node_score([(200, 64_000)], None, "LeastAllocated")
    assert emptier == 99 * WHOLE_POINT + 99_843_750
    assert fuller == 99 * WHOLE_POINT + 99_687_500


def test_points_go_before_millionths() -> None:
    """To the peer, 50.9 + 50.9 is 50 + 50, and less than 51 + 50, though it is more."""
    fine = node_score([(491, 1000)], [(982, 1000), (0, 1)], "LeastAllocated")
    coarse = node_score([(490, 1000)], [(1, 1), (0, 1)], "LeastAllocated")
    assert fine == (50 + 50) * WHOLE_POINT + 50_900_000 + 50_900_000
    assert coarse == (51 + 50) * WHOLE_POINT + 51_000_000 + 50_000_000
    assert coarse > fine


def test_the_balance_counts_only_for_whom_it_is_given() -> None:
    assert node_score([(1, 2)], None, "LeastAllocated") == 50 * WHOLE_POINT + 50 * POINT
    assert node_score([(1, 2)], [], "LeastAllocated") == 150 * WHOLE_POINT + 150 * POINT


fills = st.lists(st.tuples(st.integers(0, 2**41), st.integers(0, 2**40)), max_size=4)
scorings: st.SearchStrategy[Scoring] = st.sampled_from(["LeastAllocated", "MostAllocated"])


def plain_points(fit: list[Fill], balance: list[Fill], scoring: Scoring) -> int:
    """The peer's formulas, in fractions."""
    used = [min(Fraction(1), Fraction(used, size)) for used, size in fit if size]
    better = [1 - part for part in used] if scoring == "LeastAllocated" else used
    mean = floor(Fraction(sum(floor(100 * part) for part in better), len(better))) if better else 0
    uneven = [min(Fraction(1), Fraction(used, size)) for used, size in balance if size]
    deviation = abs(uneven[0] - uneven[1]) / 2 if len(uneven) == 2 else 0
    return mean + floor(100 * (1 - deviation))


@given(fills, fills.map(lambda each: each[:2]), scorings)
def test_the_score_begins_with_the_points_of_the_peer(
    fit: list[Fill], balance: list[Fill], scoring: Scoring
) -> None:
    score = node_score(fit, balance, scoring)
    points, millionths = divmod(score, WHOLE_POINT)
    assert points == plain_points(fit, balance, scoring)
    assert 0 <= score < ABOVE_ALL_SCORES
    assert points * POINT <= millionths <= 2 * FULL


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 40)), min_size=2, max_size=2))
def test_the_balance_is_what_is_left_of_the_standard_deviation(balance: list[Fill]) -> None:
    """Written with floats as the peer does, so equal but for their rounding."""
    used = [min(1.0, used / size) for used, size in balance]
    mean = sum(used) / 2
    deviation = sqrt(sum((part - mean) ** 2 for part in used) / 2)
    assert deviation == pytest.approx(pstdev(used))
    assert balance_score(balance) == pytest.approx(FULL * (1 - deviation), abs=1.001)


@given(fills, st.integers(0, 3), st.integers(1, 2**40))
def test_more_use_is_never_better_for_spreading_nor_worse_for_packing(
    fit: list[Fill], place: int, more: int
) -> None:
    fuller = [
        (used + more, size) if at == place else (used, size) for at, (used, size) in enumerate(fit)
    ]
    assert node_score(fuller, None, "LeastAllocated") <= node_score(fit, None, "LeastAllocated")
    assert node_score(fuller, None, "MostAllocated") >= node_score(fit, None, "MostAllocated")
