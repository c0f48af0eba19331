"""A log that is known is not read again, and gives the same jobs and books as if it were."""

import os
from pathlib import Path

import pytest

from fairlead.sim.traces import jobs_of_trace as known_rows
from fairlead.sim.traces import jobs_of_trace as module
from fairlead.sim.traces.jobs_of_trace import jobs_of_trace
from fairlead.sim.traces.read_rows import TraceTally, read_rows
from fairlead.sim.traces.trace_rules import TraceRules

HEAD = "job_id,submit_s,run_s,gpus,queue\n"
ROWS = HEAD + "1,5,60,1,a\n2,0,60,2,b\n2,0,60,2,b\n3,7,0,1,b\n"


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_rows, "_known", [])
    monkeypatch.setattr(known_rows, "_SETTLED_NS", 0)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were really read."""
    found: list[Path] = []

    def noted(path: Path, *arguments: object, **more: object) -> object:
        found.append(path)
        return read_rows(path, *arguments, **more)  # type: ignore[arg-type]  # passed on as they are

    monkeypatch.setattr(module, "read_rows", noted)
    return found


def taken(path: Path, rules: TraceRules | None = None) -> tuple[list[object], object]:
    tally = TraceTally()
    jobs: list[object] = list(jobs_of_trace(path, rules, tally))
    return jobs, (tally.rows, tally.given, tally.dropped)


def test_the_second_time_is_as_the_first(tmp_path: Path, readings: list[Path]) -> None:
    log = tmp_path / "log.csv"
    log.write_text(ROWS)
    first = taken(log)
    assert len(first[0]) == 2
    assert taken(log) == first
    assert readings == [log]
    # Other jobs of the same rows: these rules do not say how it is read.
    jobs, _ = taken(log, TraceRules(first_jobs=1))
    assert len(jobs) == 1
    assert readings == [log]


def test_rules_that_say_how_it_is_read_are_heeded(tmp_path: Path, readings: list[Path]) -> None:
    log = tmp_path / "log.csv"
    log.write_text(ROWS)
    taken(log)
    taken(log, TraceRules(time_zone="Europe/Berlin"))
    assert readings == [log, log]


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(ROWS)
    before, _ = taken(log)
    log.write_text(ROWS.replace("1,5,60", "1,5,61"))
    os.utime(log, ns=(1, 1))  # whatever time it says it has
    after, _ = taken(log)
    assert len(after) == len(before)
    assert after != before


def test_a_file_written_just_now_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readings: list[Path]
) -> None:
    monkeypatch.setattr(known_rows, "_SETTLED_NS", 3600 * 10**9)
    log = tmp_path / "log.csv"
    log.write_text(ROWS)
    assert taken(log) == taken(log)
    assert readings == [log, log]


def test_broken_rows_are_reported_each_time(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(ROWS + "x\n")
    rules = TraceRules(allow_broken=True)
    first, again = TraceTally(), TraceTally()
    assert list(jobs_of_trace(log, rules, first)) == list(jobs_of_trace(log, rules, again))
    assert len(first.findings) == 1
    assert again.findings == first.findings


def test_few_logs_are_remembered(tmp_path: Path) -> None:
    for number in range(known_rows.MOST_LOGS + 2):
        log = tmp_path / f"{number}.csv"
        log.write_text(ROWS)
        taken(log)
    assert [known.path.name for known in known_rows._known] == ["2.csv", "3.csv", "4.csv", "5.csv"]
