from pathlib import Path

import pytest

from fairlead.sim.traces.read_rows import TraceTally
from fairlead.sim.traces.trace_job import CPU, GPU, MEMORY, TraceError, TraceJob
from fairlead.sim.traces.trace_rules import TraceRules
from tests.sim.traces.trace_files import jobs_of, rows_of, written

GIB = 2**30
TEXT = """
    JobID|Account|User|Partition|Submit|Start|End|ElapsedRaw|Timelimit|NNodes|AllocTRES
    8|bio|bob|long|2026-11-16T10:00:00|2026-11-16T10:00:30|2026-11-16T11:00:30|3600|1-02:03:04|2|cpu=16,mem=64G,gres/gpu=4
    8.batch|bio||long|2026-11-16T10:00:00|2026-11-16T10:00:30|2026-11-16T11:00:30|3600||1|cpu=8
    7|bio|ann|long|2026-11-16T09:00:00|2026-11-16T09:00:00|2026-11-16T10:00:00|1800|UNLIMITED|1|cpu=1
    9|bio|ann|long|2026-11-16T11:00:00|Unknown|Unknown|0|01:00:00|1|
    10|bio|ann|long|2026-11-16T11:00:00|2026-11-16T11:00:00|Unknown|60|01:00:00|1|cpu=1,mem=1G
"""
NINE_MS = 1_794_819_600_000  # 2026-11-16T09:00:00Z


def test_jobs_come_by_their_submit_time_whatever_the_order_of_the_text(tmp_path: Path) -> None:
    tally = TraceTally()
    rows = rows_of(written(tmp_path, TEXT, "sacct.txt"), tally=tally)
    assert rows == [
        # Slurm counts 1800 s of the hour: it was suspended for the rest
        TraceJob(
            id="7", submit_ms=NINE_MS, run_ms=1_800_000, user="ann", group="bio", queue="long",
            asks=((CPU, 1000), (GPU, 0)), wait_ms=0,
        ),
        # limit: ((1 * 24 + 2) * 60 + 3) * 60 + 4 = 93,784 s
        TraceJob(
            id="8", submit_ms=NINE_MS + 3_600_000, run_ms=3_600_000, user="bob", group="bio",
            queue="long", asks=((CPU, 16_000), (MEMORY, 64 * GIB), (GPU, 4000)), pods=2,
            asked_ms=93_784_000, wait_ms=30_000,
        ),
    ]  # fmt: skip
    assert tally.dropped == {
        "steps of jobs": 1,
        "never started": 1,
        "still ran when the trace was made": 1,
    }
    assert tally.rows == 5


def test_a_job_of_two_nodes_is_a_gang_of_two_pods(tmp_path: Path) -> None:
    """16 cpus, 64 GiB and 4 GPUs over 2 nodes are 8, 32 and 2 each."""
    [_, job] = jobs_of(written(tmp_path, TEXT, "sacct.txt"))
    assert (job.pods, job.min_pods) == (2, 2)
    assert job.requests == {CPU: 8000, MEMORY: 32 * GIB, GPU: 2000}


def test_times_are_those_of_the_zone_that_the_rules_name(tmp_path: Path) -> None:
    """In November Berlin is one hour ahead: nine o'clock there is eight in UTC."""
    rules = TraceRules(time_zone="Europe/Berlin")
    rows = rows_of(written(tmp_path, TEXT, "sacct.txt"), rules)
    assert rows[0].submit_ms == NINE_MS - 3_600_000


def test_a_time_limit_in_minutes_comes_before_the_one_in_words(tmp_path: Path) -> None:
    text = """
        JobID|Submit|Start|End|Timelimit|TimelimitRaw|AllocTRES
        1|1000|1000|1060|01:00:00|90|cpu=1
    """
    [row] = rows_of(written(tmp_path, text))
    assert row.asked_ms == 90 * 60_000
    assert (row.submit_ms, row.run_ms) == (1_000_000, 60_000)


def test_a_text_without_submit_times_is_refused_with_the_command_that_helps(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, "JobID|Start|End|AllocTRES\n1|1|2|cpu=1\n")
    with pytest.raises(TraceError, match=r"found no column Submit .* use sacct --allusers"):
        jobs_of(file)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("1|0|5|4|1|cpu=1", "found the end 4, which is before the start"),
        ("1|soon|5|6|1|cpu=1", "found the time 'soon'"),
        ("1|0|5|6|many|cpu=1", "NNodes: found 'many', expected a whole number"),
        ("1|0|5|6|1|cpu=x", "found 'cpu=x'"),
        ("1|0|5|6|1|mem=999999999E", "expected at most 9223372036854775807 in all"),
        ("1|0|5|6|1|gres/gpu=9999999999999999", "in base units"),
        ("1|0|5|6|cpu=1", "found 5 fields, expected 6"),
    ],
)
def test_a_broken_row_is_reported(tmp_path: Path, row: str, found: str) -> None:
    file = written(tmp_path, f"JobID|Submit|Start|End|NNodes|AllocTRES\n{row}\n")
    with pytest.raises(TraceError, match=f":2: warning: .*{found}"):
        jobs_of(file)


def test_a_start_before_the_submit_time_is_no_wait(tmp_path: Path) -> None:
    """Clocks of two machines differ by a second at times."""
    [row] = rows_of(written(tmp_path, "JobID|Submit|Start|End|AllocTRES\n1|11|10|20|cpu=1\n"))
    assert (row.submit_ms, row.run_ms, row.wait_ms) == (11_000, 10_000, 0)


def test_two_texts_put_together_give_each_job_once(tmp_path: Path) -> None:
    """Job 7 twice as the same row; job 8 also with another submit time: it was requeued."""
    head = "JobID|Submit|Start|End|AllocTRES"
    rows = ["7|100|100|200|cpu=1", "8|150|150|200|cpu=1", "8|300|300|400|cpu=1"]
    text = "\n".join([head, *rows[:2], head, rows[0], rows[2], ""])
    tally = TraceTally()
    jobs = jobs_of(written(tmp_path, text), tally=tally)
    assert [(job.name, job.submit_ms) for job in jobs] == [
        ("7", 0),
        ("8", 50_000),
        ("8#2", 200_000),
    ]
    assert tally.dropped == {"are listed twice": 1}
