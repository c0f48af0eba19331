"""How many jobs are foretold, against those that a run has when all is done."""

from pathlib import Path

import pytest

from fairlead.sim.scenario.scenario import jobs_to_come
from fairlead.sim.scenario.settings import with_settings
from tests.sim.results.small_runs import run_all
from tests.sim.scenario.scenario_files import NODES, QUEUES, indented, scenario

LOG = "job_id,submit_s,run_s,gpus,queue\n1,0,60,1,a\n2,5,0,1,b\n3,6,60,1,b\n4,7,60,1,b\n"
SHAPE = "shapes: [{requests: {gpu: 1}, run: 1m}]"
# Sources, and how many jobs come of them: of the log only those that have run.
SOURCES = {
    "{name: w, queue: a, jobs: [{requests: {gpu: 1}, run: 1m}, {requests: {gpu: 1}, run: 1m}]}": 2,
    "{name: log, trace: {path: log.csv}}": 3,
    "{name: log, trace: {path: log.csv, from: 6s}}": 2,
    "{name: log, trace: {path: log.csv}, atMost: 2}": 2,
    f"{{name: w, queue: a, {SHAPE}, arrivals: {{every: {{interval: 5m}}}}, atMost: 4}}": 4,
    f"{{name: w, queue: a, {SHAPE}, arrivals: {{at: {{times: [0s, 1m], jobs: 3}}}}}}": 6,
    f"{{name: w, queue: a, {SHAPE}, backlog: {{jobs: 2}}, atMost: 5}}": 5,
}


def with_work(folder: Path, *sources: str) -> str:
    """Return a scenario with these sources, whose log is there."""
    (folder / "log.csv").write_text(LOG)
    return NODES + QUEUES + indented(f"policies: [kai]\nwork: [{', '.join(sources)}]")


@pytest.mark.parametrize(("source", "jobs"), SOURCES.items())
def test_as_many_jobs_come_as_are_foretold(tmp_path: Path, source: str, jobs: int) -> None:
    read = scenario(tmp_path, with_work(tmp_path, source))
    assert jobs_to_come(read) == jobs
    (run,) = run_all(read, tmp_path / "out").runs
    assert (run.summary.of_cluster.submitted, run.summary.of_cluster.finished) == (jobs, jobs)


def test_sources_add_up(tmp_path: Path) -> None:
    (told, *_), log = SOURCES, "{name: log, trace: {path: log.csv}}"
    assert jobs_to_come(scenario(tmp_path, with_work(tmp_path, told, log))) == 2 + 3


@pytest.mark.parametrize(
    "source",
    [
        f"{{name: x, queue: a, {SHAPE}, backlog: {{jobs: 2, until: 1h}}}}",
        f"{{name: x, queue: a, {SHAPE}, backlog: {{jobs: 2, until: 1h}}, atMost: 5}}",
    ],
)
def test_nothing_is_foretold_where_other_jobs_decide(tmp_path: Path, source: str) -> None:
    log = "{name: log, trace: {path: log.csv}}"
    assert jobs_to_come(scenario(tmp_path, with_work(tmp_path, log, source))) is None


def test_settings_do_not_make_a_log_forgotten(tmp_path: Path) -> None:
    read = scenario(tmp_path, with_work(tmp_path, "{name: log, trace: {path: log.csv}}"))
    assert jobs_to_come(with_settings(read, {"seed": "3", "loadFactor": "2"})) == 3
