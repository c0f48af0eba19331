"""Files that are not as they were written: told with where, never misread, never a crash."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead.errors import ResultError
from fairlead.sim.engine.events import Submitted
from fairlead.sim.engine.job import Job
from fairlead.sim.results.about import RUN_FILE, SUMMED_FILES
from fairlead.sim.results.files import file_sums
from fairlead.sim.results.job_table import JobTable, read_jobs
from fairlead.sim.results.read_result import read_result
from tests.cli.run_cli import run_cli
from tests.sim.report.small_results import small_run, write_result

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One run, called first."""
    return write_result(tmp_path / "out", small_run()).folder


def read_all(folder: Path) -> None:
    for run in read_result(folder).runs:
        _ = run.summary, run.series
        list(run.jobs())
        list(run.evictions())


def seal(run: Path, change: Change = lambda _: None) -> None:
    """Change what stands in run.json, and let its sums be those of the files as they are."""
    about = json.loads((run / RUN_FILE).read_text(encoding="utf-8"))
    about["files"] = file_sums(run, SUMMED_FILES)
    change(about)
    (run / RUN_FILE).write_text(json.dumps(about), encoding="utf-8")


FILES = {
    "another format": ("result.json", '{"format": "x", "version": 1}', "is not of a simulation"),
    "a newer version": (
        "result.json",
        '{"format": "fairlead-simulation", "version": 99, "more": 1}',
        "has version 99, and this Fairlead knows 3: read it with a newer one",
    ),
    "an older version": (
        "result.json",
        '{"format": "fairlead-simulation", "version": 1, "more": 1}',
        "has version 1, and this Fairlead knows 3: read it with the one that wrote it, or simulate",
    ),
    "no JSON": ("result.json", "{", "result.json is damaged"),
    "lists within lists": ("result.json", "[" * 100_000, "result.json is damaged"),
    "lists within a field": (
        "first/run.json",
        '{"name": ' + "[" * 100_000,
        "run.json is damaged",
    ),
    "a run elsewhere": (
        "result.json",
        '{"format": "fairlead-simulation", "version": 3, "scenario": "s", "runs": ["../x"]}',
        "'../x' is no name of a run",
    ),
    "a run without its file": ("first/run.json", None, "run.json is missing"),
    "no summary": ("first/summary.json", None, "summary.json is missing: simulate again"),
    "no jobs": ("first/jobs.csv", None, "jobs.csv is missing"),
    "another table": ("first/jobs.csv", "a,b\n", "jobs.csv is damaged: it was cut or changed"),
    "not text": ("first/series.csv", b"\xff\xfe", "series.csv is damaged: it was cut or changed"),
}


@pytest.mark.parametrize(("file", "text", "message"), FILES.values(), ids=FILES.keys())
def test_what_is_wrong_with_a_file_is_reported(
    folder: Path, file: str, text: str | bytes | None, message: str
) -> None:
    path = folder / file
    if text is None:
        path.unlink()
    else:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ResultError, match=message.replace(".", r"\.")):
        read_all(folder)


@pytest.mark.parametrize("name", SUMMED_FILES)
def test_a_file_that_ends_too_early_is_reported_as_soon_as_its_run_is_opened(
    folder: Path, name: str
) -> None:
    """It is cut at the end of a line, where nothing else tells."""
    path = folder / "first" / name
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(ResultError, match=rf"{name} is damaged: it was cut or changed.*restore it"):
        read_result(folder)


def _circle(about: dict[str, Any]) -> None:
    about["parents"] = {"a": "b", "b": "a", "top": None}


ABOUTS: dict[str, tuple[Change, str]] = {
    "time that goes back": (lambda it: it.update(end_ms=-1), "time does not go on in it"),
    "no time in a bucket": (lambda it: it.update(bucket_ms=0), "time does not go on in it"),
    "more buckets than memory": (
        lambda it: it.update(end_ms=10**17),
        "found 6,666,666,666,666,667 buckets of time, expected at most 2,000",
    ),
    "queues in a circle": (_circle, "found the queue 'a' above itself"),
    "a queue above itself": (
        lambda it: it["parents"].update(top="top"),
        "found the queue 'top' above itself",
    ),
    "no such parent": (
        lambda it: it["parents"].update(top="gone"),
        "found 'gone' above other queues, and no such queue",
    ),
    "another queue": (lambda it: it["parents"].update(new=None), "other queues than in run.json"),
    "another resource": (
        lambda it: it.update(resources=["gpu", "cpu"]),
        "other resources than in run.json",
    ),
    "a resource twice": (lambda it: it.update(resources=["gpu", "gpu"]), "a resource twice"),
    "no sum": (lambda it: it["files"].pop("jobs.csv"), "found no sum of jobs.csv"),
    "no marks": (lambda it: it.pop("work"), "missing required field `work`"),
}


@pytest.mark.parametrize(("change", "message"), ABOUTS.values(), ids=ABOUTS.keys())
@pytest.mark.parametrize("command", ["report", "compare"])
def test_a_run_that_cannot_be_is_reported_by_every_command(
    folder: Path, command: str, change: Change, message: str
) -> None:
    seal(folder / "first", change)
    ran = run_cli(command, *([str(folder)] * (2 if command == "compare" else 1)))
    assert (ran.exit_code, ran.out) == (1, "")
    assert message in ran.err
    assert "is damaged" in ran.err


ROWS = {
    "too few cells": ("jobs.csv", "xxx", "damaged: found 1 cells"),
    "no number": ("evictions.csv", "1,j,q,one,evicted,,,,", "damaged: found a row that cannot be"),
    "no cause": ("evictions.csv", "1,j,q,1,bored,,,,", "damaged: found a row that cannot be"),
    "no bucket": (
        "series.csv",
        "7,a,gpu,1,1,1,1,,",
        "cannot be: no bucket begins",
    ),
    "no such queue": ("series.csv", "0,q,gpu,1,1,1,1,,", "damaged: found a row that cannot be"),
    "no such resource": ("series.csv", "0,a,cpu,1,1,1,1,,", "damaged: found a row that cannot be"),
}


@pytest.mark.parametrize(("file", "row", "message"), ROWS.values(), ids=ROWS.keys())
def test_a_row_that_is_not_ours_is_reported_with_its_line(
    folder: Path, file: str, row: str, message: str
) -> None:
    path = folder / "first" / file
    count = len(path.read_text(encoding="utf-8").splitlines())
    path.write_text(path.read_text(encoding="utf-8") + row + "\n", encoding="utf-8")
    seal(folder / "first")
    with pytest.raises(ResultError, match=rf"{file}:{count + 1} is .*{message}"):
        read_all(folder)


def test_lines_are_counted_as_editors_do_where_names_have_several(tmp_path: Path) -> None:
    """The head is on line 1, the first job on 2 and 3, and the broken row on 4."""
    path = tmp_path / "jobs.csv"
    table = JobTable(path, ())
    job = Job(name="two\nlines", queue="a", submit_ms=0, run_ms=1, pods=1, min_pods=1, requests={})
    table(Submitted(at_ms=0, job=job))
    table.end(5)
    assert [row.job for row in read_jobs(path, ())] == ["two\nlines"]
    path.write_text(path.read_text(encoding="utf-8") + "short\n", encoding="utf-8")
    with pytest.raises(ResultError, match=r"jobs\.csv:4 is damaged: found 1 cells"):
        list(read_jobs(path, ()))
