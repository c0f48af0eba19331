"""The examples run, and do what their remarks say."""

from itertools import pairwise

import pytest

from fairlead.sim.engine.events import CapacityChanged, Finished, Started, Submitted
from fairlead.sim.scenario.read.read_scenario import read_scenario
from fairlead.sim.scenario.scenario import Scenario
from fairlead.sim.scenario.settings import with_settings
from tests.shared_folder import ROOT
from tests.sim.scenario.scenario_files import events

EXAMPLES = ROOT / "examples" / "scenarios"


def example(name: str) -> Scenario:
    result = read_scenario(str(EXAMPLES / f"{name}.yaml"))
    assert result.scenario is not None, "\n".join(map(str, result.findings))
    warnings = [each.path for each in result.findings if each.severity == "warning"]
    assert warnings == (["$.spec.cluster.changes"] if name == "a-busy-day" else [])
    return result.scenario


def test_two_queues_take_turns_of_about_240_seconds() -> None:
    """The first turns are shorter: nobody has a history yet."""
    starts = [each for each in events(example("two-queues")) if isinstance(each, Started)]
    queues = [start.job.queue for start in starts]
    assert set(pairwise(queues)) == {("left", "right"), ("right", "left")}
    later = [start.at_ms for start in starts[3:]]
    turns = [after - before for before, after in pairwise(later)]
    assert len(turns) >= 5
    assert all(238_000 <= turn <= 242_000 for turn in turns)


@pytest.mark.parametrize("policy", ["kai", "kueue", "elastic-quota"])
def test_the_busy_day_runs_under_each_rule_set(policy: str) -> None:
    """15 hours of it: the node that fails at noon is back by then."""
    day = with_settings(example("a-busy-day"), {"duration": "15h"})
    seen = events(day, policy)
    sizes = [each.capacity["nvidia.com/gpu"] for each in seen if isinstance(each, CapacityChanged)]
    assert sizes == [32_000, 24_000, 32_000]
    came, done = (sum(isinstance(each, kind) for each in seen) for kind in (Submitted, Finished))
    assert came > 80
    assert done > came // 2


@pytest.mark.parametrize("policy", ["kai", "kueue", "elastic-quota"])
def test_the_same_seed_gives_the_same_day_and_another_seed_another(policy: str) -> None:
    morning = with_settings(example("a-busy-day"), {"duration": "8h"})
    first = events(morning, policy)
    assert events(morning, policy) == first
    assert events(morning, policy, seed=8) != first


def test_the_work_of_the_busy_day_does_not_depend_on_the_rules() -> None:
    day = with_settings(example("a-busy-day"), {"duration": "6h"})
    came = [
        [each.job for each in events(day, policy) if isinstance(each, Submitted)]
        for policy in ("kai", "kueue", "elastic-quota")
    ]
    assert came[0]
    assert came[0] == came[1] == came[2]
