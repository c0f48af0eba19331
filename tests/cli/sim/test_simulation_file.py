"""What is shown of a file that is to be simulated, and of one that is refused."""

from pathlib import Path

import pytest

from tests.cli.run_cli import run_cli
from tests.sim.scenario.scenario_files import HEAD, NODES, QUEUES

LOG = "job_id,submit_s,run_s,gpus,queue\n"


def write_trace(folder: Path, rows: str, more: str = "") -> str:
    """Write a scenario whose work is a log with *rows*."""
    (folder / "log.csv").write_text(LOG + rows, encoding="utf-8")
    work = f"  work: [{{name: log, trace: {{path: log.csv{more}}}}}]\n"
    file = folder / "traced.yaml"
    file.write_text(HEAD + NODES + QUEUES + work, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("command", [["simulate"], ["sweep", "--over", "seed=1,2"]])
def test_broken_rows_of_a_log_that_is_refused_are_shown(tmp_path: Path, command: list[str]) -> None:
    ran = run_cli(*command, write_trace(tmp_path, "1,0,60,1,a\n2,x,60,1,b\n"))
    assert ran.exit_code == 1
    assert "1 of 2 rows are broken" in ran.err
    assert "log.csv:3: " in ran.err
    assert "found 'x', expected a number such as 12 or 0.5" in ran.err


# Rows of which none gives a job, what more the trace says, the cure, and whether rows are counted.
NO_JOB = {
    "no queue": ("1,0,60,1,x\n", "", "see below why they give none", True),
    "cut off": ("1,0,60,1,a\n", ", from: 1h", "cut off less\n", False),
    "both": ("1,0,60,1,a\n2,7200,60,1,x\n", ", from: 1h", "cut off less, or see below why", True),
}


@pytest.mark.parametrize(("rows", "more", "fix", "counts"), NO_JOB.values(), ids=NO_JOB.keys())
def test_why_no_row_gives_a_job_is_shown(
    tmp_path: Path, rows: str, more: str, fix: str, *, counts: bool
) -> None:
    queues = ', queues: {named: {a: a}, others: ""}'
    ran = run_cli("simulate", write_trace(tmp_path, rows, queues + more))
    assert ran.exit_code == 1
    assert f"none of which gives a job [no-objects]\n    fix: {fix}" in ran.err
    assert ("rows that give no job: they belong to no queue" in ran.err) == counts


def test_rows_that_give_no_job_beside_others_that_do_are_no_warning(tmp_path: Path) -> None:
    queues = ', queues: {named: {a: a}, others: ""}'
    file = write_trace(tmp_path, "1,0,60,1,a\n2,0,60,1,x\n", queues)
    ran = run_cli("simulate", file, "--to", str(tmp_path / "out"))
    assert (ran.exit_code, ran.err) == (0, "")
