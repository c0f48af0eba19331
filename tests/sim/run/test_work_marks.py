"""Marks of work: equal for the same jobs, whatever the rules and wherever the files are."""

import gzip
from pathlib import Path

import pytest

from fairlead.sim.results.about import WorkMarks
from fairlead.sim.run.run_variant import work_marks
from fairlead.sim.scenario.settings import with_settings
from tests.sim.scenario.scenario_files import indented, scenario

SCENARIO = indented(
    """
    duration: 10m
    cluster: {nodes: [{name: node, count: 2, capacity: {cpu: 8, gpu: 4}}]}
    queues: [{name: a, guaranteed: {gpu: 4}}, {name: b}]
    policies: [kai]
    work:
      - name: drawn
        queue: a
        shapes: [{requests: {gpu: 2, cpu: 1}, run: {exponential: {mean: 90s}}}]
        arrivals: {poisson: {perHour: 4.5}}
      - name: log
        trace: {path: log.csv, queues: {others: b}}
    """
)
LOG = "job_id,submit_s,run_s,queue,user,gpus\n1,0,60,x,ann,1\n2,5,60,x,bo,2\n"


def marks(
    folder: Path, change: tuple[str, str] = ("", ""), log: str = LOG, **settings: str
) -> WorkMarks:
    """Return the marks of the scenario after *change*, a text and what takes its place."""
    folder.mkdir(exist_ok=True)
    (folder / "log.csv").write_text(log, encoding="utf-8")
    old, new = change
    assert old in SCENARIO
    read = scenario(folder, SCENARIO.replace(old, new) if old else SCENARIO)
    return work_marks(with_settings(read, settings))


SAME_WORK = {
    "other rules": ("[kai]", "[kueue, elastic-quota]"),
    "another guarantee": ("guaranteed: {gpu: 4}", "guaranteed: {gpu: 3}"),
    "another weight": ("{name: b}", "{name: b, weight: 2}"),
    "more nodes": ("count: 2", "count: 3"),
    "pods that take their time": ("policies:", "pods: {grace: 30s}\n  policies:"),
    "another seed, which runs keep themselves": ("duration:", "seed: 5\n  duration:"),
    "the same number written otherwise": ("perHour: 4.5", "perHour: 4.50"),
    "the same requests in another order": ("{gpu: 2, cpu: 1}", "{cpu: 1, gpu: 2}"),
}


@pytest.mark.parametrize("change", SAME_WORK.values(), ids=SAME_WORK.keys())
def test_what_does_not_change_which_jobs_come_leaves_the_marks(
    tmp_path: Path, change: tuple[str, str]
) -> None:
    assert marks(tmp_path, change) == marks(tmp_path)


OTHER_WORK = {
    "larger jobs": (("gpu: 2", "gpu: 4"), "drawn"),
    "longer jobs": (("mean: 90s", "mean: 91s"), "drawn"),
    "more jobs": (("perHour: 4.5", "perHour: 5"), "drawn"),
    "another queue": (("queue: a", "queue: b"), "drawn"),
    "a log for another queue": (("others: b", "others: a"), "log"),
}


@pytest.mark.parametrize(("change", "source"), OTHER_WORK.values(), ids=OTHER_WORK.keys())
def test_other_jobs_have_another_mark(tmp_path: Path, change: tuple[str, str], source: str) -> None:
    before, after = marks(tmp_path).sources, marks(tmp_path, change).sources
    assert {name for name in before if before[name] != after[name]} == {source}


def test_a_setting_that_changes_the_work_changes_its_marks(tmp_path: Path) -> None:
    plain = marks(tmp_path)
    assert marks(tmp_path, kValue="2") == plain
    assert marks(tmp_path, loadFactor="2").sources["drawn"] != plain.sources["drawn"]
    assert marks(tmp_path, duration="5m").duration_ms == 300_000


def test_a_log_is_marked_by_what_it_says_and_not_by_where_it_lies(tmp_path: Path) -> None:
    plain = marks(tmp_path / "here")
    assert marks(tmp_path / "there") == plain
    longer = LOG.replace("5,60", "5,61")
    assert marks(tmp_path / "there", log=longer).sources["log"] != plain.sources["log"]


def test_a_log_that_is_packed_is_the_same_log(tmp_path: Path) -> None:
    plain = marks(tmp_path)
    (tmp_path / "log.csv").write_bytes(gzip.compress(LOG.encode()))
    assert work_marks(scenario(tmp_path, SCENARIO)) == plain


def test_a_load_that_is_a_part_of_the_cluster_changes_with_it(tmp_path: Path) -> None:
    """Half of eight GPUs is other work than half of twelve."""
    (tmp_path / "log.csv").write_text(LOG, encoding="utf-8")
    text = SCENARIO.replace("perHour: 4.5", "load: 0.5")
    eight = work_marks(scenario(tmp_path, text))
    twelve = work_marks(scenario(tmp_path, text.replace("count: 2", "count: 3")))
    assert eight.sources["drawn"] != twelve.sources["drawn"]
    assert eight.sources["log"] == twelve.sources["log"]
