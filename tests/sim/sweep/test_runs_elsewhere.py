"""Runs in other processes: what becomes of one that fails, dies, or has another Fairlead."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead import __version__
from fairlead.errors import SimulationError
from fairlead.model.plan import Reason
from fairlead.sim.results.eviction_table import Phrase, code_of
from fairlead.sim.run.run_variant import RunOrder, run_variant
from fairlead.sim.scenario.scenario import Scenario
from fairlead.sim.sweep.run_in_processes import run_in_processes
from fairlead.sim.sweep.run_on_dask import run_packed, unpack
from tests.sim.results.small_runs import contents
from tests.sim.scenario.scenario_files import NODES, indented, scenario

ONE_EVICTION = indented(
    """
    duration: 60s
    queues: [{name: a, guaranteed: {gpu: 4}}, {name: b, guaranteed: {gpu: 4}}]
    work:
      - {name: long, queue: a, jobs: [{pods: 2, requests: {gpu: 4}, run: 5m}]}
      - {name: late, queue: b, jobs: [{at: 20s, requests: {gpu: 4}, run: 5m}]}
    """
)


@pytest.fixture
def small(tmp_path: Path) -> Scenario:
    """A job that holds all, and one that takes half of it back."""
    return scenario(tmp_path, NODES + ONE_EVICTION)


def order(scenario: Scenario, seed: int = 0) -> RunOrder:
    return RunOrder(scenario=scenario, variant="kai", seed=seed)


def die(_: Reason) -> str:
    """End the process without a word, as the system does to one that needs too much memory."""
    os._exit(9)


def runs(orders: dict[str, RunOrder], to: Path, phrase: Phrase = code_of) -> Iterator[str]:
    for about in run_in_processes(orders, to, workers=1, phrase=phrase, is_stopped=lambda: False):
        yield about.name


def test_a_process_that_dies_is_reported(tmp_path: Path, small: Scenario) -> None:
    with pytest.raises(SimulationError, match="has died, perhaps for lack of memory: try with few"):
        list(runs({"one": order(small)}, tmp_path / "out", die))


def test_a_run_that_fails_is_reported_by_its_name(tmp_path: Path) -> None:
    work = "work: [{name: t, trace: {path: gone.swf, queues: {by: queue, others: a}}}]"
    row = "1 0 5 3600 4 -1 -1 4 7200 -1 1 7 1 -1 1 1 -1 -1\n"
    (tmp_path / "gone.swf").write_text(f"; UnixStartTime: 0\n{row}")
    found = scenario(tmp_path, NODES + indented(f"queues: [{{name: a}}]\n{work}"))
    (tmp_path / "gone.swf").unlink()
    with pytest.raises(SimulationError, match=r"^one: .*gone\.swf"):
        list(runs({"one": order(found)}, tmp_path / "out"))


def test_a_run_that_travels_is_the_same_as_one_written_here(
    tmp_path: Path, small: Scenario
) -> None:
    run_variant(order(small), tmp_path / "here" / "one")
    unpack(run_packed(order(small), "one", code_of, __version__), tmp_path / "there" / "one")
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_a_worker_with_another_version_refuses(small: Scenario) -> None:
    with pytest.raises(
        SimulationError, match=f"a worker has Fairlead {__version__}, and this is 0"
    ):
        run_packed(order(small), "one", code_of, "0")
