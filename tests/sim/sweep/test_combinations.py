"""Which runs a sweep consists of, and what they are called."""

from pathlib import Path

import pytest

from fairlead.errors import SimulationError
from fairlead.sim.scenario.scenario import Scenario
from fairlead.sim.sweep.combinations import Sweep, all_runs, combinations
from tests.sim.scenario.scenario_files import NODES, QUEUES, WORK, indented, scenario


@pytest.fixture
def two(tmp_path: Path) -> Scenario:
    """A scenario with two variants and the seed 4."""
    policies = indented("policies: [kai, {name: calm, policy: kueue}]\nseed: 4")
    return scenario(tmp_path, NODES + QUEUES + WORK + policies)


def test_all_combinations_come_in_the_order_in_which_they_are_reported(two: Scenario) -> None:
    over = {"kValue": ["2", "0.5"], "grace": ["0s", "10s"]}
    rows = combinations(Sweep(scenario=two, variants=two.variants, over=over))
    assert [(row.variant, *row.swept.values()) for row in rows] == [
        ("kai", "2", "0s"),
        ("kai", "2", "10s"),
        ("kai", "0.5", "0s"),
        ("kai", "0.5", "10s"),
        ("calm", "2", "0s"),
        ("calm", "2", "10s"),
        ("calm", "0.5", "0s"),
        ("calm", "0.5", "10s"),
    ]
    names = [name for name, _ in all_runs(rows)]
    assert names[:2] == ["kai-kValue=2-grace=0s", "kai-kValue=2-grace=10s"]
    assert len(set(names)) == 8


def test_each_seed_is_a_run_of_its_row(two: Scenario) -> None:
    over, settings = {"kValue": ["1"]}, {"grace": "5s"}
    sweep = Sweep(scenario=two, variants=two.variants[:1], over=over, settings=settings, seeds=3)
    [row] = combinations(sweep)
    assert [(name, order.seed) for name, order in row.runs.items()] == [
        ("kai-kValue=1-seed-4", 4),
        ("kai-kValue=1-seed-5", 5),
        ("kai-kValue=1-seed-6", 6),
    ]
    assert all(order.settings == {"grace": "5s", "kValue": "1"} for order in row.runs.values())


def test_seeds_can_be_swept_over_like_any_setting(two: Scenario) -> None:
    rows = combinations(Sweep(scenario=two, variants=two.variants[:1], over={"seed": ["7", "9"]}))
    assert [order.seed for _, order in all_runs(rows)] == [7, 9]


@pytest.mark.parametrize("seed", [None, 5])
def test_a_value_that_is_none_is_reported_before_anything_runs(
    two: Scenario, seed: int | None
) -> None:
    sweep = Sweep(scenario=two, variants=two.variants, over={"kValue": ["1", "x"]}, seed=seed)
    with pytest.raises(SimulationError, match=r'^the setting kValue: found "x", expected a number'):
        combinations(sweep)


def test_more_runs_than_anybody_can_mean_are_refused(two: Scenario) -> None:
    over = {"kValue": [str(each) for each in range(100)]}
    with pytest.raises(SimulationError, match="found 200,200 runs, expected at most 100,000"):
        combinations(Sweep(scenario=two, variants=two.variants, over=over, seeds=1001))
