"""Jobs that never started count in a comparison: no side is better because they are missing."""

from contextlib import closing
from pathlib import Path

import pytest

from fairlead.sim.report.lower_bounds import bound_of
from fairlead.sim.report.sides import ComparedRow, compare, sides_of
from fairlead.sim.report.verdicts import Verdict, judged_by_unstarted
from fairlead.sim.results.read_result import read_result
from fairlead.sim.results.result_folder import ResultFolder
from tests.sim.measures.histories import written
from tests.sim.report.small_results import small_run, write_run

JOBS = """
    job  queue  submit  run   pods  gpu
    x    a      0       1000  1     4000
    y    b      0       1000  1     4000
"""
BOTH_START = """
    at     what      to  pods  more
    0      capacity  -   4000  -
    0      submit    x   -     -
    0      submit    y   -     -
    2000   start     x   1     -
    3000   finish    x   1     -
    6000   start     y   1     -
    7000   finish    y   1     -
"""
ONE_STARTS = "\n".join(BOTH_START.splitlines()[:-2])


def wait_row(folder: Path) -> ComparedRow:
    """Compare a side on which x waits 2 s and y 6 s with one on which y never starts in 30 s."""
    runs = [small_run("both"), small_run("one")]
    with closing(ResultFolder(folder, "small", ["both", "one"])) as result:
        for about, story in zip(runs, (BOTH_START, ONE_STARTS), strict=True):
            write_run(result.of_run(about.name), about, written(JOBS, story))
            result.ended(about)
    rows = compare(sides_of("result", read_result(folder).runs)).rows
    (row,) = [each for each in rows if (each.name, each.title) == ("", "wait, mean")]
    return row


def test_a_job_that_never_started_makes_the_mean_wait_longer(tmp_path: Path) -> None:
    """(2 + 6) / 2 = 4 s against at least (2 + 30) / 2 = 16 s; of those that started it is 2 s."""
    row = wait_row(tmp_path)
    assert [side.mean for side in row.sides] == [4_000, 16_000]
    assert row.at_least == [False, True]
    assert row.measure == "wait_at_least/mean_ms"
    assert row.differences[0].mean == 12_000


def test_only_waits_have_a_bound() -> None:
    assert bound_of("wait/p90_ms") == "wait_at_least/p90_ms"
    assert bound_of("slowdown/mean") is None


@pytest.mark.parametrize(
    ("found", "first", "other", "expected"),
    [
        ("better", 1, 2, "unclear"),
        ("better", 2, 2, "better"),
        ("worse", 2, 1, "unclear"),
        ("worse", 1, 2, "worse"),
        ("may be chance", 1, 2, "may be chance"),
    ],
)
def test_no_side_is_better_that_left_more_jobs_unstarted(
    found: Verdict, first: float, other: float, expected: Verdict
) -> None:
    assert judged_by_unstarted(found, first, other) == expected
