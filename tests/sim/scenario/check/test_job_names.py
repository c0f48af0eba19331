"""Two jobs of one name are told before anything runs, with the line of one of them."""

from pathlib import Path

import pytest

from fairlead.sim.scenario.read.read_scenario import SimulationFile
from tests.sim.scenario.scenario_files import NODES, QUEUES, events, indented, read, scenario
from tests.sim.scenario.scenario_files import told as in_short

SHAPES = "shapes: [{requests: {gpu: 1}, run: 1h}]"


def beside(folder: Path, source: str, name: str, more: str = "") -> SimulationFile:
    """A job called *name*, told on line 11, beside a source called s."""
    return read(folder, NODES + QUEUES + work(source, name) + indented(more or "seed: 1"))


def work(source: str, name: str) -> str:
    return indented(
        f"""
        work:
          - {{name: s, queue: a, {SHAPES}, {source}}}
          - name: told
            queue: b
            jobs: [{{name: {name}, requests: {{gpu: 1}}, run: 1h}}]
        """
    )


CLASHES = {
    "at one of the numbers": ("arrivals: {at: {times: [1h, 2h], jobs: 2}}", "s-4"),
    "within as many as there may be": ("atMost: 3, arrivals: {poisson: {perHour: 9}}", "s-3"),
    "where chance decides": ("arrivals: {poisson: {perHour: 9, until: 1h}}", "s-70"),
    "where others decide": ("backlog: {jobs: 2, until: 5h}", "s-1"),
    "where the end decides": ("arrivals: {every: {interval: 1h}}", "s-5"),
}
ENDS = "duration: 5h"


@pytest.mark.parametrize(("source", "name"), CLASHES.values(), ids=CLASHES.keys())
def test_a_job_may_not_be_called_as_a_source_calls_its_own(
    tmp_path: Path, source: str, name: str
) -> None:
    result = beside(tmp_path, source, name, ENDS)
    assert in_short(result.findings) == ["error 11 $.spec.work[1].jobs[0].name duplicate-entry"]
    (finding,) = result.findings
    assert finding.message == (
        f'found the job "{name}", as the source "s" calls one of its own, expected a name each'
    )
    assert finding.fix == "rename one of them"


NO_CLASHES = {
    "beyond the last": ("arrivals: {at: {times: [1h, 2h], jobs: 2}}", "s-5"),
    "beyond as many as there may be": ("atMost: 3, arrivals: {poisson: {perHour: 9}}", "s-4"),
    "after the end": ("arrivals: {every: {interval: 1h}}", "s-6"),
    "no number of ours": ("backlog: {jobs: 2, until: 5h}", "s-01"),
    "no number at all": ("backlog: {jobs: 2, until: 5h}", "s-x"),
    "a number of another alphabet": ("backlog: {jobs: 2, until: 5h}", "s-\u0663"),
    "the source itself": ("backlog: {jobs: 2, until: 5h}", "s"),
    "another source": ("backlog: {jobs: 2, until: 5h}", "ss-1"),
    "a number beyond all measure": ("arrivals: {at: {times: [1h]}}", "s-" + "9" * 5000),
}


@pytest.mark.parametrize(("source", "name"), NO_CLASHES.values(), ids=NO_CLASHES.keys())
def test_names_that_nobody_makes_are_free(tmp_path: Path, source: str, name: str) -> None:
    spec = NODES + QUEUES + work(source, name) + indented(ENDS)
    assert events(scenario(tmp_path, spec))


LOG = "job_id,submit_s,run_s,gpus,queue\n7,0,60,1,a\nx-2,5,60,1,b\n"


def beside_log(folder: Path, other: str) -> SimulationFile:
    (folder / "log.csv").write_text(LOG, encoding="utf-8")
    work = f"""
        work:
          - {{name: log, trace: {{path: log.csv}}}}
          - {other}
        """
    return read(folder, NODES + QUEUES + indented(work))


def test_a_job_may_not_be_called_as_one_of_a_log(tmp_path: Path) -> None:
    jobs = "{name: told, queue: b, jobs: [{name: log-7, requests: {gpu: 1}, run: 1h}]}"
    result = beside_log(tmp_path, jobs)
    assert in_short(result.findings) == ["error 9 $.spec.work[1].jobs[0].name duplicate-entry"]
    assert 'the job "log-7", which is in the log of "log" too' in result.findings[0].message
    assert beside_log(tmp_path, jobs.replace("log-7", "log-8")).findings == ()


def test_a_source_may_not_call_jobs_as_a_log_does(tmp_path: Path) -> None:
    """The log has log-x-2, and so has a source called log-x, if it has two jobs."""
    source = f"{{name: log-x, queue: b, {SHAPES}, arrivals: {{at: {{times: [1h], jobs: 2}}}}}}"
    result = beside_log(tmp_path, source)
    assert in_short(result.findings) == ["error 9 $.spec.work[1].name duplicate-entry"]
    assert 'the source "log-x", whose job "log-x-2" is in the' in result.findings[0].message
    assert beside_log(tmp_path, source.replace("jobs: 2", "jobs: 1")).findings == ()
