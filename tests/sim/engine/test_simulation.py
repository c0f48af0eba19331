"""What happens when, on small clusters that can be worked out by hand."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from fairlead.errors import SimulationError
from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadChanged
from fairlead.model.plan import Plan
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Policy
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from fairlead.sim.engine.events import (
    CapacityChanged,
    Evicted,
    Finished,
    SimulationEvent,
    Started,
    Stopped,
    Submitted,
)
from fairlead.sim.engine.job import Job
from fairlead.sim.engine.job_progress import Delays
from fairlead.sim.engine.simulation import Simulation
from fairlead.sim.engine.simulation_rules import NodeChange, SimulationRules
from fairlead.sim.engine.workload_maker import WorkloadMaker
from fairlead.sim.scenario.kai.rule_set import kai_address_book
from tests.model.invariants import check_invariants
from tests.sim.small_cluster import (
    DEVICE,
    GPU,
    SECOND,
    FixedWork,
    cluster,
    job,
    node,
    queue,
)

TWO_HALVES = (queue("a", gpus=1), queue("b", gpus=1))
"""Each of two queues owns one GPU."""


def simulate(
    state: ClusterState,
    jobs: Sequence[Job],
    rules: SimulationRules | None = None,
    changes: Sequence[NodeChange] = (),
    policy: Policy | None = None,
) -> tuple[list[str], Simulation]:
    """What happened, a line each; the state is looked over after everything that happens."""
    told: list[str] = []

    def listen(event: SimulationEvent) -> None:
        check_invariants(state)
        if not isinstance(event, CapacityChanged):
            told.append(line(event))

    simulation = Simulation(
        state,
        policy or KaiPolicy(KaiSettings()),
        WorkloadMaker(state, kai_address_book(state)),
        FixedWork(jobs),
        rules or SimulationRules(),
        listen,
        node_changes=changes,
    )
    simulation.run()
    return told, simulation


def line(event: SimulationEvent) -> str:
    at = f"{event.at_ms / SECOND:g}"
    match event:
        case Submitted():
            return f"{at} {event.job.name} comes"
        case Started():
            return f"{at} {event.job.name} starts {event.pods}"
        case Evicted():
            whom = event.beneficiary or event.cause
            return f"{at} {event.job.name} is to leave for {whom}"
        case Stopped():
            return f"{at} {event.job.name} stops and loses {event.lost_ms / SECOND:g}"
        case Finished():
            held = event.held_ms / SECOND
            return f"{at} {event.job.name} is done, held {held:g}"
        case CapacityChanged():
            return f"{at} the cluster has {event.capacity[GPU] // DEVICE}"


def lines(text: str) -> list[str]:
    return [each.strip() for each in text.strip().splitlines()]


def test_a_job_starts_when_another_ends() -> None:
    state = cluster([queue("a")], {"n": 2})
    jobs = [job(f"j{i}", "a", gpus=1, at=i, run=10) for i in range(3)]
    told, simulation = simulate(state, jobs)
    assert told == lines("""
        0 j0 comes
        0 j0 starts 1
        1 j1 comes
        1 j1 starts 1
        2 j2 comes
        10 j0 is done, held 10
        10 j2 starts 1
        11 j1 is done, held 10
        20 j2 is done, held 10
    """)
    assert simulation.now_ms == 20 * SECOND
    assert not state.workloads


def test_a_claim_takes_a_gpu_back_and_who_gave_way_starts_anew() -> None:
    state = cluster(TWO_HALVES, {"n": 2})
    jobs = [
        job("a1", "a", gpus=1, run=20),
        job("a2", "a", gpus=1, run=20),
        job("b1", "b", gpus=1, at=5, run=30),
    ]
    told, _ = simulate(state, jobs, SimulationRules(grace_ms=3 * SECOND))
    assert told[4:] == lines("""
        5 b1 comes
        5 a2 is to leave for b1
        8 a2 stops and loses 5
        8 b1 starts 1
        20 a1 is done, held 20
        20 a2 starts 1
        38 b1 is done, held 30
        40 a2 is done, held 28
    """)


def test_what_a_checkpoint_keeps_is_not_done_again() -> None:
    state = cluster(TWO_HALVES, {"n": 2})
    jobs = [
        job("a1", "a", gpus=1, run=20),
        msgspec.structs.replace(job("a2", "a", gpus=1, run=20), checkpoint_ms=0),
        job("b1", "b", gpus=1, at=5, run=30),
    ]
    rules = SimulationRules(delays=Delays(restart_ms=2 * SECOND))
    told, _ = simulate(state, jobs, rules)
    assert told[4:] == lines("""
        5 b1 comes
        5 a2 is to leave for b1
        5 a2 stops and loses 0
        6 b1 starts 1
        20 a1 is done, held 20
        20 a2 starts 1
        36 b1 is done, held 30
        37 a2 is done, held 22
    """)  # 5 were done before: 15 are left, and 2 to begin again


def test_cycles_keep_their_distance() -> None:
    state = cluster([queue("a")], {"n": 4})
    jobs = [job(f"j{i}", "a", gpus=1, at=i, run=100) for i in range(4)]
    told, simulation = simulate(state, jobs, SimulationRules(at_most_every_ms=10 * SECOND))
    assert [each for each in told if "starts" in each] == lines("""
        0 j0 starts 1
        10 j1 starts 1
        10 j2 starts 1
        10 j3 starts 1
    """)
    assert simulation.cycles < 12  # ends that free nothing anybody wants are looked at once


def test_cycles_can_have_a_fixed_period() -> None:
    state = cluster([queue("a")], {"n": 1})
    rules = SimulationRules(every_ms=7 * SECOND, until_ms=50 * SECOND)
    told, simulation = simulate(state, [job("j", "a", gpus=1, at=1, run=10)], rules)
    assert told == ["1 j comes", "7 j starts 1", "17 j is done, held 10"]
    assert simulation.cycles == 8  # at 0, 7, ... 49
    assert simulation.now_ms == 50 * SECOND


def test_at_a_fixed_period_too_it_ends_when_nothing_can_happen() -> None:
    """Who is too large waits for ever; the cycle at 28 finds that nothing can be done for it."""
    state = cluster(TWO_HALVES, {"n": 1})
    jobs = [
        job("one", "a", gpus=1, run=10),
        job("two", "a", gpus=1, run=10),
        job("three", "b", gpus=5, run=10),
    ]
    told, simulation = simulate(state, jobs, SimulationRules(every_ms=7 * SECOND))
    assert [each for each in told if "comes" not in each] == lines("""
        0 one starts 1
        10 one is done, held 10
        14 two starts 1
        24 two is done, held 10
    """)
    assert simulation.now_ms == 28 * SECOND


class FromSecond100(KaiPolicy):
    """Starts nothing before that; until when its answer holds it may know."""

    def __init__(self, valid_until_ms: int | None) -> None:
        super().__init__(KaiSettings())
        self._valid_until_ms = valid_until_ms

    def plan(self, state: ClusterState, now_ms: int, **options: Any) -> Plan:
        plan = super().plan(state, now_ms, **options)
        decisions = () if now_ms < 100 * SECOND else plan.decisions
        return msgspec.structs.replace(
            plan,
            decisions=decisions,
            time_dependent=True,
            valid_until_ms=self._valid_until_ms,
        )


@pytest.mark.parametrize(
    ("holds_until", "start"),
    [
        (None, 120),  # nobody knows, so it is tried once a minute
        (100, 100),
        (0, 100),  # as often as there may be a cycle, which is each second
        (300, 300),
    ],
)
def test_where_time_alone_decides_it_is_asked_again_when_the_answer_may_differ(
    holds_until: int | None, start: int
) -> None:
    policy = FromSecond100(None if holds_until is None else holds_until * SECOND)
    rules = SimulationRules(at_most_every_ms=SECOND, look_again_ms=60 * SECOND)
    jobs = [job("j", "a", gpus=1, run=5)]
    told, _ = simulate(cluster(TWO_HALVES, {"n": 2}), jobs, rules, policy=policy)
    assert told == ["0 j comes", f"{start} j starts 1", f"{start + 5} j is done, held 5"]


def test_a_gang_that_loses_a_node_begins_anew_elsewhere() -> None:
    state = cluster([queue("a")], {"m": 1, "n": 1})
    gang = msgspec.structs.replace(job("g", "a", gpus=1, run=10), pods=2, min_pods=2)
    changes = [
        NodeChange(at_ms=4 * SECOND, lost=("n",)),
        NodeChange(at_ms=6 * SECOND, added=(node("o", 1),)),
    ]
    told, _ = simulate(state, [gang], changes=changes)
    assert told == lines("""
        0 g comes
        0 g starts 2
        4 g is to leave for node-lost
        4 g stops and loses 8
        6 g starts 2
        16 g is done, held 28
    """)


class WithRaisedMinimum(KaiPolicy):
    """At second 4 the owner of the gang g says that it needs all of its three pods."""

    def plan(self, state: ClusterState, now_ms: int, **options: Any) -> Plan:
        gang = state.workloads[WorkloadName("g")]
        if now_ms >= 4 * SECOND and gang.min_count < 3:
            state.apply(WorkloadChanged(msgspec.structs.replace(gang, min_count=3)))
        return super().plan(state, now_ms, **options)


def test_a_gang_that_stays_incomplete_is_evicted_after_a_minute() -> None:
    """It has 2 of 3 pods since 4, when a cycle is held because j comes; 4 + 60 = 64."""
    state = cluster([queue("a")], {"n": 2})
    gang = msgspec.structs.replace(job("g", "a", gpus=1, run=600), pods=3, min_pods=2)
    told, _ = simulate(
        state, [gang, job("j", "a", gpus=1, at=4, run=5)], policy=WithRaisedMinimum(KaiSettings())
    )
    assert told == lines("""
        0 g comes
        0 g starts 2
        4 j comes
        64 g is to leave for evicted
        64 g stops and loses 128
        65 j starts 1
        70 j is done, held 5
    """)


def test_it_ends_where_nothing_can_happen_any_more() -> None:
    state = cluster([queue("a")], {"n": 1})
    told, simulation = simulate(state, [job("j", "a", gpus=2, run=1)])
    assert told == ["0 j comes"]
    assert simulation.cycles == 1


def test_a_job_beyond_all_times_is_refused_where_nobody_told_the_end() -> None:
    far = job("j", "a", gpus=1, at=301 * 365 * 86_400, run=1)
    with pytest.raises(SimulationError, match="job j would come more than 300 years after the"):
        simulate(cluster([queue("a")], {"n": 1}), [far])
    told, _ = simulate(cluster([queue("a")], {"n": 1}), [far], SimulationRules(until_ms=SECOND))
    assert told == []


def test_a_run_beyond_all_times_is_refused_where_nobody_told_the_end() -> None:
    """Each job runs for a hundred years, so the third ends at the last moment that may be."""
    century = 100 * 365 * 86_400
    jobs = [job(name, "a", gpus=1, run=century) for name in "jkl"]
    _, simulation = simulate(cluster([queue("a")], {"n": 1}), jobs)
    assert simulation.now_ms == 3 * century * SECOND
    jobs.append(job("m", "a", gpus=1, run=1))
    with pytest.raises(SimulationError, match="not all is done 300 years after the start; add a"):
        simulate(cluster([queue("a")], {"n": 1}), jobs)
    whole, _ = simulate(cluster([queue("a")], {"n": 1}), jobs, SimulationRules(until_ms=10**18))
    assert sum("is done" in each for each in whole) == 4


def test_of_two_jobs_with_one_name_the_second_is_refused() -> None:
    jobs = [job("j", "a", gpus=1, run=10), job("j", "a", gpus=1, at=1, run=10)]
    with pytest.raises(SimulationError, match="found a second job j, now of the source a, expec"):
        simulate(cluster([queue("a")], {"n": 1}), jobs)


def test_a_job_for_a_queue_that_is_not_there_is_refused() -> None:
    state = cluster([queue("a")], {"n": 1})
    with pytest.raises(SimulationError, match="job j is for queue z, which does not exist"):
        simulate(state, [job("j", "z", gpus=1)])


def test_a_job_that_asks_for_what_no_node_has_is_refused() -> None:
    state = cluster([queue("a")], {"n": 1})
    odd = msgspec.structs.replace(job("j", "a", gpus=1), requests={"tpu": 1})
    with pytest.raises(SimulationError, match="job j asks for tpu, which no node has"):
        simulate(state, [odd])
