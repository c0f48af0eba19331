from pathlib import Path

import pytest

from fairlead.sim.traces.read_rows import TraceTally
from fairlead.sim.traces.swf import read_swf_line
from fairlead.sim.traces.trace_job import CPU, MEMORY, RowError, TraceError, TraceJob
from fairlead.sim.traces.trace_rules import TraceRules
from tests.sim.traces.trace_files import jobs_of, rows_of, written

LOG = """
    ; Version: 2.2
    ; UnixStartTime: 1000000000
    ; MaxProcs: 100
    ;
        1   0  30  60   4 -1  -1   4  90  -1 1  7  3 -1 2 1 -1 -1
        2  10  -1  20   2 -1 512   2  -1  -1 0  7  3 -1 2 1 -1 -1

        3  20   0   5  -1 -1 512   8 600 100 1 -1 -1 -1 0 1 -1 -1
        4  30   0   9   4 -1  -1   4  90  -1 2  7  3 -1 2 1 -1 -1
        5  40   0  -1   4 -1  -1   4  90  -1 5  7  3 -1 2 1 -1 -1
"""


def line(**changed: str) -> str:
    """A row of one processor for a minute, with some of its columns changed."""
    names = (
        "id submit wait run given cpu used asked time memory status user group program queue "
        "partition before think"
    ).split()
    values = dict.fromkeys(names, "-1") | {"id": "1", "submit": "0", "run": "60", "given": "1"}
    assert changed.keys() <= values.keys()
    return " ".join((values | changed).values())


def test_a_log_gives_its_jobs_in_milliseconds_and_base_units(tmp_path: Path) -> None:
    tally = TraceTally()
    rows = rows_of(written(tmp_path, LOG, "log.swf.gz"), tally=tally)
    assert rows == [
        TraceJob(
            id="1", submit_ms=0, run_ms=60_000, user="7", group="3", queue="2",
            asks=((CPU, 4000),), asked_ms=90_000, wait_ms=30_000,
        ),
        # 512 KiB for each of 2 processors: 2 * 512 * 1024 bytes
        TraceJob(
            id="2", submit_ms=10_000, run_ms=20_000, user="7", group="3", queue="2",
            asks=((CPU, 2000), (MEMORY, 1_048_576)),
        ),
        # 8 processors asked for since none were told as given; 100 KiB asked before 512 used
        TraceJob(
            id="3", submit_ms=20_000, run_ms=5_000, queue="0",
            asks=((CPU, 8000), (MEMORY, 819_200)), asked_ms=600_000, wait_ms=0,
        ),
        TraceJob(
            id="5", submit_ms=40_000, run_ms=None, user="7", group="3", queue="2",
            asks=((CPU, 4000),), asked_ms=90_000, wait_ms=0,
        ),
    ]  # fmt: skip
    assert tally.dropped == {"parts of jobs that are listed as a whole too": 1}
    assert (tally.rows, tally.broken) == (5, 0)


def test_a_job_that_never_ran_is_dropped_and_told(tmp_path: Path) -> None:
    tally = TraceTally()
    jobs = jobs_of(written(tmp_path, LOG, "log.swf"), tally=tally)
    assert [job.name for job in jobs] == ["1", "2", "3"]
    assert tally.dropped["have no run time"] == 1


def test_a_log_is_cut_by_date_from_the_start_that_its_head_tells(tmp_path: Path) -> None:
    """The log began at 1,000,000,000 s, so job 2 came at 1,000,000,010 s, job 3 ten later."""
    rules = TraceRules(from_unix_ms=1_000_000_010_000, until_unix_ms=1_000_000_020_000)
    jobs = jobs_of(written(tmp_path, LOG, "log.swf"), rules)
    assert [(job.name, job.submit_ms) for job in jobs] == [("2", 0)]


@pytest.mark.parametrize(
    ("changed", "column", "found"),
    [
        ({"submit": "-1"}, "submit", "found -1"),
        ({"submit": "1x"}, "submit", "found '1x', expected a number"),
        ({"run": "-5"}, "run", "found '-5', expected at least 0, or -1"),
        ({"given": "1_0"}, "processors", "found '1_0'"),
        ({"given": "9" * 19}, "processors", "expected less than 1e18, or -1"),
        ({"given": "9" * 18}, "processors", "in base units"),
        ({"given": "1000000", "memory": "9" * 18}, "memory", "in base units"),
    ],
)
def test_a_broken_cell_is_reported_with_its_column(
    changed: dict[str, str], column: str, found: str
) -> None:
    assert isinstance(read_swf_line(1, line()), TraceJob)
    with pytest.raises(RowError, match=found) as raised:
        read_swf_line(1, line(**changed))
    assert raised.value.column == column


def test_a_row_of_17_columns_is_broken() -> None:
    with pytest.raises(RowError, match="found 17 columns, expected 18"):
        read_swf_line(1, line().rsplit(" ", 1)[0])


def test_seconds_with_decimals_are_cut_down_to_milliseconds() -> None:
    job = read_swf_line(1, line(submit="1.2349", run="0.5"))
    assert isinstance(job, TraceJob)
    assert (job.submit_ms, job.run_ms) == (1234, 500)


@pytest.mark.parametrize("start", ["0", "unknown"])
def test_a_start_that_is_not_known_gives_no_dates(tmp_path: Path, start: str) -> None:
    file = written(tmp_path, f"; UnixStartTime: {start}\n{line()}\n", "log.swf")
    with pytest.raises(TraceError, match="the trace has no dates"):
        jobs_of(file, TraceRules(from_unix_ms=5))
