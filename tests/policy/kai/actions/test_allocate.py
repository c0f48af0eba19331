"""Laws of the allocate action: only jobs meet for which there may be room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Event
from fairlead.model.plan import Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.actions.allocate import AllocateAction
from fairlead.policy.kai.actions.context import CycleContext
from fairlead.policy.kai.actions.cycle import KaiCycle
from fairlead.policy.kai.actions.prefilter import TryEverything
from fairlead.policy.kai.ordering.pending_jobs import NO_PODS
from fairlead.policy.kai.ordering.tournament import Draw, QueueTournament
from fairlead.policy.kai.policy import fast_backend
from fairlead.policy.kai.settings import KaiSettings
from tests.policy.kai.actions.test_look_ahead import cycles, planned, told, world
from tests.policy.kai.random_worlds import build, worlds

NOW_MS = 0
ALLOCATE = KaiSettings(actions=("allocate",))

# One of 18 GPUs is idle, a is due 6 and b 12. With big a would hold (4 + 4) / 6 of its due, with
# small (4 + 1) / 6. b would hold (13 + 1) / 12, which is between them.
LARGE_JOB_IN_FRONT = (
    "n0=18",
    "a=6 b=12",
    """
    job    queue  pods  min  gpu  priority  at
    own    a      1     1    4    50        n0
    much   b      1     1    12   50        n0
    one    b      1     1    1    50        n0
    big    a      1     1    4    50        -
    small  a      1     1    1    50        -
    other  b      1     1    1    50        -
    """,
)


def test_a_job_without_room_does_not_cost_jobs_behind_it_their_turn() -> None:
    """In KAI's order the room is for b, which holds more than its due already."""
    first = {
        faithful: told(*cycles(world(*LARGE_JOB_IN_FRONT), chosen, planned, 1))
        for faithful in (True, False)
        for chosen in [KaiSettings(faithful=faithful)]
    }
    assert first[True] == "start other@n0, wait big NoNodeFits, wait small NoNodeFits"
    assert first[False] == "wait big NoNodeFits, start small@n0, wait other NoNodeFits"


# 2 GPUs are idle. When small1 has one of them, big, for which there is no room, is the first of a.
# With it a would hold (1 + 8) / 8 of its due, with small2 (1 + 1) / 8; b would hold 1 / 2.
LARGE_JOB_BEHIND = (
    "n0=2 n1=8",
    "a=8 b=2 c=8",
    """
    job     queue  pods  min  gpu  priority  at
    all     c      1     1    8    50        n1
    small1  a      1     1    1    50        -
    big     a      1     1    8    50        -
    small2  a      1     1    1    50        -
    small3  b      1     1    1    50        -
    """,
)


def test_a_job_without_room_that_comes_next_is_passed_over_too() -> None:
    first = told(*cycles(world(*LARGE_JOB_BEHIND), ALLOCATE, planned, 1))
    assert first == (
        "start small1@n0, wait big NoNodeFits, start small2@n0, wait small3 NoNodeFits"
    )


@pytest.mark.exhaustive
@given(events=worlds(), more=st.sampled_from([(), (("allocate", 1),), (("allocate", 2),)]))
def test_turns_go_as_if_each_were_the_first(
    events: list[Event], more: tuple[tuple[str, int], ...]
) -> None:
    """Whether every_candidate asks why or not, and whatever is remembered from turn to turn."""
    chosen = replace(ALLOCATE, queue_depth=more)
    state = build(events)
    with state.trial():
        expected = turn_by_turn(state, chosen)
    for explain in (False, True):
        with state.trial():
            cycle = KaiCycle(state, chosen, NOW_MS, fast_backend(state, chosen), explain=explain)
            found = [
                (each.workload, place.pod, place.node)
                for each in cycle.decisions()
                if isinstance(each, Start | Reserve)
                for place in each.placements
            ]
        assert sorted(found) == sorted(expected)


@given(events=worlds())
def test_a_job_that_starts_nothing_has_one_turn(events: list[Event]) -> None:
    state = build(events)
    turns: list[WorkloadName] = []
    with state.trial():
        view = CycleContext(
            state, ALLOCATE, NOW_MS, fast_backend(state, ALLOCATE).sources, NO_PODS, explain=True
        )
        waiting = view.waiting("allocate").names()
        AllocateAction(view, TryEverything()).run(turns.append)
        in_vain = [name for name in turns if name not in state.runs]
        assert sorted(in_vain) == sorted(set(waiting) - state.runs.keys())


def turn_by_turn(
    state: ClusterState, chosen: KaiSettings
) -> list[tuple[WorkloadName, PodId, str | None]]:
    """Give idle room away with nothing kept from one turn to the next."""
    begun = CycleContext(
        state, chosen, NOW_MS, fast_backend(state, chosen).sources, NO_PODS, explain=False
    )
    shares, admitted = begun.division.numbers, set(begun.waiting("allocate").names())
    draw, refused = Draw(state, shares), set[WorkloadName]()
    placed: list[tuple[WorkloadName, PodId, str | None]] = []
    while True:
        view = CycleContext(
            state, chosen, NOW_MS, fast_backend(state, chosen).sources, NO_PODS, explain=False
        )
        starter, everybody = view.starter(explain=True), view.all_turns({})[0]
        names = [
            name
            for name in everybody.names()
            if name in admitted - refused
            and not starter.is_infeasible(name, everybody.next_pods(name))
        ]
        jobs = view.pending_only(names)
        tournament = QueueTournament(state, draw, shares, jobs.next_request, jobs.queues())
        queue: QueueName | None = tournament.leader()
        if queue is None:
            return placed
        name = jobs.first(queue)
        assert name is not None
        pods = jobs.next_pods(name)
        outcome = starter.start(name, jobs.gang(name), pods, jobs.request(name))
        if outcome.is_placed:
            run = state.runs[name]
            placed += [(name, pod, run.pods[pod].node) for pod in pods]
        else:
            refused.add(name)
