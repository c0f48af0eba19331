"""What it costs to measure a simulation, for each moment in which something changes.

The beginning of the month of `long_scenarios` is simulated once, with eight times the work so that
most teams wait soon, and written down: what happened in each moment, and what queues held and
wanted after it. The work to be timed tells it again to the measures, without the scheduler.
"""

import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from bench.harness import Work, benchmark
from bench.long_scenarios import MONTH_DAYS, month
from fairlead.model.accounting.queue_tree import QueueSums
from fairlead.model.axes import QueueName
from fairlead.model.state import ClusterState
from fairlead.sim.engine.events import SimulationEvent
from fairlead.sim.measures.follow_shares import ShareFollower
from fairlead.sim.measures.measures import Measures
from fairlead.sim.scenario.read.read_scenario import read_scenario
from fairlead.sim.scenario.rule_sets import RULE_SETS
from fairlead.sim.scenario.scenario import Scenario, measured_queues
from fairlead.sim.scenario.settings import with_settings
from fairlead.sim.scenario.variant.prepare import Prepared, prepare
from fairlead.usage.settings import DAY_MS

SETTINGS: Final = {"loadFactor": "8"}
CHANGES: Final = 1_000
POLICY: Final = "kueue"


class Moment(NamedTuple):
    """What happened at one time, and the sums of the queues that it touched."""

    at_ms: int
    until_ms: int
    events: list[SimulationEvent]
    queues: list[QueueName]  # of theirs
    sums: dict[QueueName, QueueSums]


class Recorder:
    """Writes down a simulation moment by moment."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.moments: list[Moment] = []
        self._events: list[SimulationEvent] = []

    def listen(self, event: SimulationEvent) -> None:
        """Take notice of what happened."""
        self._events.append(event)

    def watch(self, now_ms: int, until_ms: int, queues: Collection[QueueName]) -> None:
        """Write down what changed in the moment that is over, if something did."""
        if not self._events:
            return
        state = self._state
        sums = {name: _copy(state.sums[name]) for queue in queues for name in state.path(queue)}
        self.moments.append(Moment(now_ms, until_ms, self._events, list(queues), sums))
        self._events = []


@benchmark("measures: a change among 110 queues", goal_cpu_ms=1.0, operations=CHANGES)
def _a_change() -> Work:
    scenario = _scenario()
    prepared = prepare(scenario, scenario.by_name[POLICY])
    recorder = Recorder(prepared.state)
    simulation = prepared.simulation(recorder.listen, recorder.watch)
    simulation.run(lambda: len(recorder.moments) < CHANGES)
    assert len(recorder.moments) == CHANGES
    return lambda: _report(scenario, prepared, recorder.moments)


def _scenario() -> Scenario:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_bytes(msgspec.json.encode(month(0, None)))
        result = read_scenario(str(file))
    assert result.scenario is not None
    return with_settings(result.scenario, SETTINGS)


def _report(scenario: Scenario, prepared: Prepared, changes: Sequence[Moment]) -> None:
    """Report everything to new measures; of the state only the sums are read, and rewritten."""
    state, start_ms = prepared.state, prepared.rules.start_ms
    nothing = QueueSums.zero(len(state.axes), len(state.resources))
    for name in state.sums:
        state.sums[name] = nothing
    horizon_ms = MONTH_DAYS * DAY_MS
    parents = measured_queues(scenario, state)
    measures = Measures(state.resources, parents, start_ms=start_ms, horizon_ms=horizon_ms)
    shares = RULE_SETS[POLICY].rule_shares(state, prepared.settings)
    follower = ShareFollower(measures, state, shares, start_ms=start_ms, horizon_ms=horizon_ms)
    for each in changes:
        state.sums.update(each.sums)
        for event in each.events:
            measures(event)
        follower(each.at_ms, each.until_ms, each.queues)
    measures.end(changes[-1].until_ms)


def _copy(sums: QueueSums) -> QueueSums:
    return QueueSums(*map(list, sums.vectors()))
