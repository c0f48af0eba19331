"""Differences of pairs: worked out by hand, with an interval only where there are several seeds."""

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from fairlead.sim.report.sides import ComparedRow, Comparison, compare, sides_of
from fairlead.sim.report.verdicts import Estimate, is_sure
from fairlead.sim.results.read_result import read_result
from fairlead.sim.results.result_folder import ResultFolder
from tests.sim.measures.histories import written
from tests.sim.report.small_results import JOBS, STORY, small_run, write_run

WAITS_MS = {"old": {1: 10_000, 2: 12_000, 3: 17_000}, "new": {1: 8_000, 2: 11_000, 3: 13_000}}
"""As in the docs of the measures: the differences are -2, -1 and -4 seconds."""


def compared(folder: Path, seeds: tuple[int, ...]) -> Comparison:
    """In each run y waits as long as told; all else is the same."""
    runs = {
        (side, seed): msgspec.structs.replace(
            small_run(f"{side}-seed-{seed}"), variant=side, seed=seed
        )
        for side in WAITS_MS
        for seed in seeds
    }
    with closing(ResultFolder(folder, "small", [run.name for run in runs.values()])) as result:
        for (side, seed), about in runs.items():
            wait_ms = WAITS_MS[side][seed]
            story = STORY.replace("10000", "7000").replace("12000  s", f"{wait_ms}  s")
            write_run(result.of_run(about.name), about, written(JOBS, story))
            result.ended(about)
    return compare(sides_of("result", read_result(folder).runs))


def row(comparison: Comparison, scope: str, name: str, measure: str) -> ComparedRow:
    (found,) = [
        each
        for each in comparison.rows
        if (each.scope, each.name, each.measure) == (scope, name, measure)
    ]
    return found


def test_the_difference_is_that_of_pairs_and_its_interval_holds_zero(tmp_path: Path) -> None:
    """Waits of y: means 13 s and 10.67 s; differences -2.33 s, between -6.13 s and 1.46 s.

    Of the two jobs of b, y and z, z never starts and is 25 s old, so the median is the wait of y.
    """
    waits = row(compared(tmp_path, (1, 2, 3)), "queue", "b", "wait_at_least/p50_ms")
    assert [side.mean for side in waits.sides] == [13_000, pytest.approx(32_000 / 3)]
    (difference,) = waits.differences
    assert difference.mean == pytest.approx(-7_000 / 3)
    assert difference.low == pytest.approx(-6_128, abs=1)
    assert difference.high == pytest.approx(1_461, abs=1)
    assert difference.runs == 3
    assert not is_sure(difference)


def test_with_one_seed_no_interval_is_claimed(tmp_path: Path) -> None:
    comparison = compared(tmp_path, (1,))
    (difference,) = row(comparison, "queue", "b", "wait_at_least/p50_ms").differences
    assert difference == Estimate(mean=-2_000, low=None, high=None, runs=1)
    assert all(each.low is None for found in comparison.rows for each in found.sides)


def test_what_does_not_differ_has_an_interval_of_nothing(tmp_path: Path) -> None:
    """And is not sure: 0 is in it."""
    (difference,) = row(compared(tmp_path, (1, 2, 3)), "cluster", "", "finished").differences
    assert (difference.mean, difference.low, difference.high) == (0, 0, 0)
    assert not is_sure(difference)


def test_the_cluster_comes_first_then_each_queue(tmp_path: Path) -> None:
    rows = compared(tmp_path, (1,)).rows
    assert list(dict.fromkeys(each.name for each in rows)) == ["", "a", "b", "top"]
    measures = [each.measure for each in rows if not each.name]
    assert measures[0] == "utilisation"
    assert "wait_at_least/mean_ms" in measures, "z never starts"
    assert "jain" in measures
    assert "worst_deficit" in measures
    assert "lost" in measures
