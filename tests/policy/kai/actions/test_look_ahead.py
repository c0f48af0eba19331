"""Law: a second cycle evicts nothing that the first one started, if nothing else happens.

A plain cycle does not keep it. Each scenario shows what two plain cycles do, and what the plan does
that looks ahead.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.explain.plan.cycles import plan_cycles
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    NodeAdded,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadLeaving,
    WorkloadStarted,
)
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.node import Node
from fairlead.model.plan import Decision, Evict, LeftPending, Move, Reserve, Start, Unknown, Wait
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodKey, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.kai.actions.cycle import KaiCycle
from fairlead.policy.kai.actions.look_ahead import NEWCOMER_MS, look_ahead
from fairlead.policy.kai.api import new_cycle
from fairlead.policy.kai.policy import KaiPolicy, fast_backend
from fairlead.policy.kai.settings import KaiSettings
from tests.conformance import kai_cycle
from tests.model.invariants import check_invariants
from tests.model.test_state import facts
from tests.policy.kai.actions.test_attempt_laws import busy_worlds
from tests.policy.kai.random_worlds import GPU, build
from tests.scale_examples import scale_examples
from tests.text_table import rows

NOW_MS = 100_000
SECOND_MS = 1_000
VECTORS = Path(__file__).parents[3] / "vectors" / "kai-cycle-public.json"
OWN = KaiSettings()
FAITHFUL = KaiSettings(faithful=True)

Decide = Callable[[ClusterState, KaiSettings, int], tuple[Decision, ...]]


class Scenario(NamedTuple):
    """GPUs of nodes, quotas of queues, and jobs in the order of their age; then what is done."""

    nodes: str
    quotas: str
    jobs: str
    first: str
    second: str
    ahead: str


SCENARIOS = {
    # The fair shares of 3 GPUs: a wants 1 + 2 and has a quota of 3; nothing is left for b. In the
    # first cycle 1 GPU is idle when big's turn to claim comes too late: small is new there.
    "idle room beside one who must give way is not for somebody who must do so, too": Scenario(
        nodes="n0=3",
        quotas="a=3 b=0",
        jobs="""
            job    queue  pods  min  gpu  priority  at
            old    b      1     1    1    75        n0
            first  a      1     1    1    50        -
            big    a      1     1    2    50        -
            small  b      1     1    1    75        -
        """,
        first="start first@n0, start small@n0, wait big NoNodeFits",
        second="evict small for big, evict old for big, reserve big@n0",
        ahead="wait small WouldBeEvicted, start first@n0, evict old for big, reserve big@n0",
    ),
    # One queue: important needs both GPUs of the node, one of which is idle.
    "a less important job of the queue does not fill what a more important one needs": Scenario(
        nodes="n0=2",
        quotas="a=2",
        jobs="""
            job        queue  pods  min  gpu  priority  at
            old        a      1     1    1    75        n0
            new        a      1     1    1    75        -
            important  a      1     1    2    100       -
        """,
        first="wait important NoNodeFits, start new@n0",
        second="evict new for important, evict old for important, reserve important@n0",
        ahead="wait new WouldBeEvicted, evict old for important, reserve important@n0",
    ),
    # Of its three pods one fits on n1, where it is safe; two would go to n0, which big needs.
    "an elastic job starts the pods that are safe": Scenario(
        nodes="n0=4 n1=1",
        quotas="a=5 b=0",
        jobs="""
            job      queue  pods  min  gpu  priority  at
            old      b      1     1    2    50        n0
            big      a      1     1    4    50        -
            elastic  b      3     1    1    50        -
        """,
        first="start elastic@n1, start elastic@n0, start elastic@n0, wait big NoNodeFits",
        second="evict elastic for big, evict elastic for big, evict old for big, reserve big@n0",
        ahead="start elastic@n1, wait elastic WouldBeEvicted, evict old for big, reserve big@n0",
    ),
    # 4 + 3 GPUs hold 2 + 3 + 1 + 1, but not if the two of the pair go to n1 first. It starts in the
    # next cycle, in the 1 + 1 that are left then.
    "whoever would be moved at once lets the others go first": Scenario(
        nodes="n0=4 n1=3",
        quotas="a=3 b=1",
        jobs="""
            job    queue  pods  min  gpu  priority  at
            two    b      1     1    2    75        -
            three  b      1     1    3    75        -
            pair   a      2     2    1    50        -
        """,
        first="start pair@n1,n1, start two@n0, wait three NoNodeFits",
        second="move pair@n0,n0 for three, reserve three@n1",
        ahead="wait pair WouldBeEvicted, start two@n1, start three@n0",
    ),
}

# All in one queue. important takes the place of second, less important than it. So second waits,
# and in the next cycle takes the place of the least important one, which started a moment before.
# Ahead of time it is seen that second can have that place at once, without waiting.
KAI_DOES = Scenario(
    nodes="n0=3 n1=2",
    quotas="a=4",
    jobs="""
        job        queue  pods  min  gpu  priority  at
        first      a      1     1    2    75        n0
        second     a      1     1    1    75        n1
        least      a      1     1    1    50        -
        important  a      1     1    2    100       -
    """,
    first="start least@n0, evict second for important, reserve important@n1",
    second="start important@n1, evict least for second, reserve second@n0",
    ahead="wait least WouldBeEvicted, move second@n0 for important, reserve important@n1",
)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_what_the_next_cycle_would_take_back_is_held_back(scenario: Scenario) -> None:
    assert two_cycles(scenario, plain, OWN) == [scenario.first, scenario.second]
    (ahead, after) = two_cycles(scenario, planned, OWN)
    assert ahead == scenario.ahead
    assert "evict" not in after
    assert "move" not in after


def test_kai_stops_what_it_has_just_started() -> None:
    assert two_cycles(KAI_DOES, plain, FAITHFUL) == [KAI_DOES.first, KAI_DOES.second]
    assert two_cycles(KAI_DOES, planned, FAITHFUL) == [KAI_DOES.first, KAI_DOES.second]
    assert two_cycles(KAI_DOES, planned, OWN)[0] == KAI_DOES.ahead


def test_jobs_behind_are_held_back_too_and_safe_jobs_start() -> None:
    """Ten nodes have a GPU to spare, and one of the nodes is wanted. Nine of forty can start."""
    jobs = [f"old{at} b 1 1 1 50 n{at}" for at in range(10)]
    jobs += ["big a 1 1 2 50 -"]
    jobs += [f"new{at} b 1 1 1 50 -" for at in range(40)]
    table = "\n".join(["job queue pods min gpu priority at", *jobs])
    state = world(" ".join(f"n{at}=2" for at in range(10)), "a=2 b=0", table)
    outlook = look_ahead(state, OWN, NOW_MS, fast_backend(state, OWN))
    starting = [each for each in outlook.decisions if isinstance(each, Start)]
    assert len(starting) == 9
    assert len(outlook.restraint.held_back) == 31
    assert [each.workload for each in outlook.decisions if isinstance(each, Reserve)] == ["big"]


@pytest.mark.parametrize(
    ("pods", "plan"),
    [
        (1, "start first@n0, start small@n0"),
        (2, "wait small WouldBeEvicted, start first@n0"),
    ],
)
def test_a_terminating_pod_tries_in_the_next_cycle_unless_its_job_was_withdrawn(
    pods: int, plan: str
) -> None:
    """As in the first scenario, but the last pod of big still leaves a node that has no room.

    Its only pod: the job was deleted. Its second: nobody waits today, but that pod will. Of a quota
    of 5 its queue holds 2 then for the other pod of big, and 1 for first; 2 more are its right.
    """
    small = next(iter(SCENARIOS.values())).jobs.replace("big    a      1", f"big    a      {pods}")
    state = world("n0=3 full=0", "a=5 b=0", small)
    everywhere = tuple(Placement(numbered_pod("big", at), "full") for at in range(pods))
    state.apply(WorkloadStarted(workload=WorkloadName("big"), placements=everywhere, at_ms=0))
    state.apply(
        WorkloadLeaving(workload=WorkloadName("big"), pods=(numbered_pod("big", pods - 1),))
    )
    assert told(planned(state, OWN, NOW_MS)) == plan


PLANNED_AGAIN = """
    job    queue  pods  min  gpu  priority  at
    old    b      1     1    1    75        n0
    first  a      1     1    1    50        -
    big    a      1     1    2    50        -
    small  b      1     1    1    75        -
"""


@pytest.mark.parametrize(("age_ms", "is_spared"), [(NEWCOMER_MS, True), (NEWCOMER_MS + 1, False)])
def test_newcomers_are_spared_that_the_unrestrained_cycle_did_not_evict(
    age_ms: int, *, is_spared: bool
) -> None:
    """The plain cycle may not preempt: old and other are spared then, if they are new."""
    state = world("n0=3 n1=1", "a=3 b=0", PLANNED_AGAIN)
    state.apply(WorkloadAdded(job("other", "b")))
    place = (Placement(numbered_pod("other", 0), "n1"),)
    state.apply(
        WorkloadStarted(workload=WorkloadName("other"), placements=place, at_ms=NOW_MS - age_ms)
    )
    spared = look_ahead(state, OWN, NOW_MS, fast_backend(state, OWN)).restraint.spared
    assert spared == ({("other", numbered_pod("other", 0))} if is_spared else set())


def test_of_jobs_that_would_take_from_each_other_one_gets_the_room() -> None:
    """Three GPUs, of which j8 holds one. Held back together, nobody would ever start.

    j1 is due the one GPU of q0; j2 needs two; j5 and the second pod of j8 would fill up.
    """
    state = world(
        "n0=3",
        "q0=1 q1=0",
        """
        job  queue  pods  min  gpu  priority  at
        j1   q0     1     1    1    50        -
        j2   q0     2     2    1    50        -
        j5   q1     1     1    1    50        -
        j8   q1     2     1    1    75        n0
        """,
    )
    *_, last = cycles(state, OWN, planned, 8)
    held = sum(len(run.pods) for run in state.runs.values())
    assert held == 3
    assert not any(each.reason.code == "WouldBeEvicted" for each in last)


@pytest.mark.parametrize("name", ["kc-0036", "kc-0044", "kc-0238"])
def test_recorded_clusters_that_never_rest_come_to_rest(name: str) -> None:
    case = next(each for each in json.loads(VECTORS.read_text())["cases"] if each["id"] == name)
    faithful = kai_cycle.settings(case, "cycle")
    own = replace(faithful, faithful=False)
    for mode, decide, comes_to_rest in ((faithful, plain, False), (own, planned, True)):
        last = list(cycles(kai_cycle.world(case), mode, decide, 12))[-1]
        assert all(isinstance(each, LeftPending) for each in last) == comes_to_rest


all_settings = st.builds(
    KaiSettings,
    reclaim_min_runtime_ms=st.sampled_from([0, 0, 200_000]),
    preempt_min_runtime_ms=st.sampled_from([0, 0, 200_000]),
    signatures=st.booleans(),
)


@settings(max_examples=scale_examples(60))
@given(state=busy_worlds(), chosen=all_settings)
def test_no_plan_takes_back_what_the_one_before_started(
    state: ClusterState, chosen: KaiSettings
) -> None:
    plans = [plan.decisions for plan in plan_cycles(KaiPolicy(chosen), state, NOW_MS, 4)]
    for before, after in pairwise(plans):
        assert not taken(after) & placed(before, Start)


@settings(max_examples=scale_examples(60))
@given(state=busy_worlds(), chosen=all_settings)
def test_no_plan_takes_back_what_was_promised_by_the_one_before(
    state: ClusterState, chosen: KaiSettings
) -> None:
    plans = list(cycles(state, chosen, planned, 4, keeps_reservations=True))
    for before, after in pairwise(plans):
        assert not taken(after) & (placed(before, Start) | placed(before, Reserve))


@settings(max_examples=scale_examples(40))
@given(state=busy_worlds(), chosen=all_settings, most_rounds=st.sampled_from([1, 2, 10]))
def test_looking_ahead_changes_nothing_and_can_be_repeated(
    state: ClusterState, chosen: KaiSettings, most_rounds: int
) -> None:
    """A cycle under the same restraint decides the same: so it can be watched and explained."""
    before = facts(state)
    with mock.patch("fairlead.policy.kai.actions.look_ahead.MOST_ROUNDS", most_rounds):
        outlook = look_ahead(state, chosen, NOW_MS, fast_backend(state, chosen))
    assert facts(state) == before
    check_invariants(state)
    with state.trial():
        watched = new_cycle(state, chosen, NOW_MS, outlook.restraint)
        assert tuple(watched.decisions()) == outlook.decisions
    for name, pods in outlook.restraint.held_back.items():
        assert pods.isdisjoint(pod for job, pod in placed(outlook.decisions, Start) if job == name)


@given(state=busy_worlds(), is_faithful=st.booleans())
def test_without_victim_actions_there_is_no_look_ahead(
    state: ClusterState, *, is_faithful: bool
) -> None:
    """The peer does not; and where nobody may claim, nothing can be taken back."""
    chosen = FAITHFUL if is_faithful else replace(OWN, actions=("allocate", "stalegangeviction"))
    assert planned(state, chosen, NOW_MS) == plain(state, chosen, NOW_MS)


def plain(state: ClusterState, chosen: KaiSettings, now_ms: int) -> tuple[Decision, ...]:
    with state.trial():
        return tuple(KaiCycle(state, chosen, now_ms, fast_backend(state, chosen)).decisions())


def planned(state: ClusterState, chosen: KaiSettings, now_ms: int) -> tuple[Decision, ...]:
    return KaiPolicy(chosen).plan(state, now_ms).decisions


def cycles(
    state: ClusterState,
    chosen: KaiSettings,
    decide: Decide,
    most: int,
    *,
    keeps_reservations: bool = False,
) -> Iterator[tuple[Decision, ...]]:
    """Yield what is decided second after second, until nothing more happens."""
    for at in range(most):
        now_ms = NOW_MS + at * SECOND_MS
        decisions = decide(state, chosen, now_ms)
        yield decisions
        if all(isinstance(each, LeftPending) for each in decisions):
            return
        carry_out(state, decisions, now_ms, keeps_reservations=keeps_reservations)


def two_cycles(scenario: Scenario, decide: Decide, chosen: KaiSettings) -> list[str]:
    state = world(scenario.nodes, scenario.quotas, scenario.jobs)
    return [told(each) for each in cycles(state, chosen, decide, 2)]


def placed(decisions: Iterable[Decision], job_class: type[Start | Reserve]) -> set[PodKey]:
    return {
        (each.workload, place.pod)
        for each in decisions
        if isinstance(each, job_class)
        for place in each.placements
    }


def taken(decisions: Iterable[Decision]) -> set[PodKey]:
    """The pods that lose their place or are moved."""
    lost = {
        (each.workload, pod) for each in decisions if isinstance(each, Evict) for pod in each.pods
    }
    moved = {
        (each.workload, place.pod)
        for each in decisions
        if isinstance(each, Move)
        for place in each.placements
    }
    return lost | moved


def told(decisions: Iterable[Decision]) -> str:
    return ", ".join(map(in_words, decisions))


def in_words(decision: Decision) -> str:
    name = decision.workload
    match decision:
        case Evict():
            return f"evict {' '.join([name] * len(decision.pods))} for {decision.beneficiary}"
        case Wait() | Unknown():
            return f"wait {name} {decision.reason.code}"
        case Move():
            return f"move {name}@{nodes_of(decision)} for {decision.beneficiary}"
        case Start() | Reserve():
            return f"{type(decision).__name__.lower()} {name}@{nodes_of(decision)}"


def nodes_of(decision: Start | Reserve | Move) -> str:
    return ",".join(str(place.node) for place in decision.placements)


def world(nodes: str, quotas: str, jobs: str) -> ClusterState:
    """Read nodes and queues as ``name=gpus`` and jobs from a table; ``at`` is where each pod is."""
    state = build(
        [
            *(
                NodeAdded(Node(name=name, allocatable=(64_000, 10**9, gpus)))
                for name, gpus in pairs(nodes)
            ),
            *(QueueChanged(queue(name, quota)) for name, quota in pairs(quotas)),
        ]
    )
    for age, row in enumerate(rows(jobs)):
        made = job(row["job"], row["queue"], int(row["pods"]), int(row["min"]), int(row["gpu"]))
        priority = int(row["priority"])
        made = replace(made, created_ms=age, priority=priority, preemptible=priority < 100)
        state.apply(WorkloadAdded(made))
        if row["at"] != "-":
            places = tuple(
                Placement(numbered_pod(row["job"], at), node)
                for at, node in enumerate(row["at"].split(","))
            )
            state.apply(WorkloadStarted(workload=made.name, placements=places, at_ms=0))
    return state


def pairs(text: str) -> list[tuple[str, int]]:
    split = (each.split("=") for each in text.split())
    return [(name, int(gpus) * GPU) for name, gpus in split]


def queue(name: str, quota: int) -> Queue:
    return Queue(
        name=QueueName(name),
        weights=(Decimal(1),) * 3,
        guaranteed=(None, None, quota),
        ceiling=(None,) * 3,
        borrow_limit=(None,) * 3,
        lend_limit=(None,) * 3,
    )


def job(name: str, queue_name: str, pods: int = 1, minimum: int = 1, gpus: int = 1) -> Workload:
    asked = PodSet(name=name, count=pods, min_count=0, requests=(100, 10**6, gpus * GPU))
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(queue_name),
        pod_sets=PodSets((asked,)),
        min_count=minimum,
        priority=50,
        extension=KaiJob(),
    )
