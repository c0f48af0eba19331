"""The first victims that are kept from cycle to cycle are those that ordering all anew gives.

Two departments of three teams, in which jobs come, start, move and finish; some have a turn, or are
spared, in the cycle of one step and not in that of the next.
"""

from collections.abc import Mapping
from decimal import Decimal
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    NodeAdded,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadFinished,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.node import Node
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.kai.incremental.sources import IncrementalSources
from fairlead.policy.kai.jobs.cycle_record import CycleRecord
from fairlead.policy.kai.pruning.moves import FirstVictims, MoveBounds
from fairlead.policy.kai.pruning.prefilter import BoundsPrefilter
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.candidates import (
    Candidate,
    EligibleCandidates,
    EvictionOrder,
)
from tests.policy.kai.random_worlds import build, gpus, queues
from tests.scale_examples import scale_examples

TEAMS = [f"t{department}{team}" for department in "ab" for team in "123"]
NODES = ("n", "m")
POD = numbered_pod("main", 0)


class Step(NamedTuple):
    """A job that comes, and may run at once; who of all goes, changes nodes, is spared, acts."""

    team: str
    gpu: int
    priority: int
    runs: bool
    goes: int | None
    moves: int | None
    is_spared: int | None
    has_turn: int | None


some_job = st.none() | st.integers(0, 9)
steps = st.lists(
    st.builds(
        Step,
        team=st.sampled_from(TEAMS),
        gpu=st.sampled_from([1000, 2000, 4000]),
        priority=st.sampled_from([50, 75]),
        runs=st.booleans(),
        goes=some_job,
        moves=some_job,
        is_spared=some_job,
        has_turn=some_job,
    ),
    min_size=3,
    max_size=12,
)


@st.composite
def empty_worlds(draw: st.DrawFn) -> ClusterState:
    """Two nodes of sixteen GPUs, and queues that are due more or less of them."""
    names: list[tuple[str, str | None]] = [("da", None), ("db", None)]
    names += [(team, f"d{team[1]}") for team in TEAMS]
    state = build(
        QueueChanged(
            replace(
                draw(queues(name, parent)),
                guaranteed=(None, None, draw(gpus(3))),
                ceiling=(None,) * 3,
            )
        )
        for name, parent in names
    )
    for name in NODES:
        state.apply(NodeAdded(Node(name=name, allocatable=(0, 0, 16_000))))
    return state


def job(name: str, step: Step) -> Workload:
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(step.team),
        pod_sets=PodSets((PodSet(name="main", count=1, min_count=0, requests=(0, 0, step.gpu)),)),
        min_count=1,
        priority=step.priority,
        created_ms=0,
        extension=KaiJob(),
    )


def every_candidate(_: Candidate) -> bool:
    return True


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(100))
@given(state=empty_worlds(), history=steps)
def test_what_is_kept_is_what_looking_anew_gives(state: ClusterState, history: list[Step]) -> None:
    bounds = BoundsPrefilter(IncrementalSources(state, KaiSettings()))
    few = {most: FirstVictims(state) for most in (1, 2, 4)}
    for number, step in enumerate(history):
        made = job(f"j{number:02}", step)
        state.apply(WorkloadAdded(made))
        if step.runs:
            place = (Placement(POD, "n"),)
            state.apply(WorkloadStarted(workload=made.name, placements=place, at_ms=number))
        if step.goes is not None:
            state.apply(WorkloadFinished(sorted(state.workloads)[step.goes % len(state.workloads)]))
        running = sorted(state.runs)
        if step.moves and running:
            change_nodes(state, running[step.moves % len(running)])
        spared = (
            {(running[step.is_spared % len(running)], POD)} if step.is_spared and running else set()
        )
        record = CycleRecord(state)
        if step.has_turn and running:
            record.touch(running[step.has_turn % len(running)])
        bounds.sources.shares.catch_up()
        pool = EligibleCandidates(
            bounds.sources.candidates, state, record, spared, includes_settled=False
        )
        check_first_victims(state, bounds, pool)
        for most, kept in few.items():  # who is asked for no more than that makes no other lines
            every = bounds.first_victims.first(None, bounds.sources.shares, pool)
            found = kept.first(most, bounds.sources.shares, pool)
            assert [each.job for each in found] == [each.job for each in every][:most]


def change_nodes(state: ClusterState, name: WorkloadName) -> None:
    """Let a job run on the other node, with all else as it was."""
    placed = state.runs[name].pods[POD]
    there = (Placement(POD, NODES[placed.node == NODES[0]]),)
    state.apply(WorkloadStopped(workload=name, pods=(POD,)))
    state.apply(WorkloadStarted(workload=name, placements=there, at_ms=placed.started_ms))


def check_first_victims(
    state: ClusterState, bounds: BoundsPrefilter, pool: EligibleCandidates
) -> None:
    """The line of all leaves, who meet anew for each that gives way."""
    division = bounds.sources.shares

    line = EvictionOrder(
        state,
        pool,
        [(leaf, every_candidate) for leaf in division.leaves],
        division.draw,
        division.numbers,
    )
    popped = [each.job for each in iter(line.pop, None)]
    for most in (None, 2):
        found = bounds.first_victims.first(most, division, pool)
        assert [each.job for each in found] == popped[:most]
        check_moves(state, bounds, found)


def check_moves(state: ClusterState, bounds: BoundsPrefilter, first: list[Candidate]) -> None:
    kept, fresh = bounds.moves.bound(first), MoveBounds(state, bounds.sources.finder).bound(first)
    bases = set[str](), {NODES[0]}, {NODES[1]}, {*NODES}
    for gpu, count, base in product([1000, 8000], [1, 2, 4], bases):
        asked = [(0, 0, gpu)] * count
        assert kept.allows(asked, base) == fresh.allows(asked, base)


def with_dues(dues: Mapping[str, tuple[int, int]]) -> ClusterState:
    """Queues at the top with a weight, and so many GPUs that are guaranteed."""
    return build(
        QueueChanged(
            Queue(
                name=QueueName(name),
                parent=None,
                created_ms=0,
                weights=(Decimal(1), Decimal(1), Decimal(weight)),
                guaranteed=(None, None, 1000 * guaranteed),
                ceiling=(None, None, None),
                borrow_limit=(None, None, None),
                lend_limit=(None, None, None),
            )
        )
        for name, (weight, guaranteed) in dues.items()
    )


def three_queues() -> ClusterState:
    """Of 6 GPUs *b* is guaranteed 2; what is left goes to *a* and *c*, who weigh 1 and 20.

    *a* holds three jobs and waits for a fourth, so it is due the 4 that are left. Without its last
    job it is full to 2 / 4, and *b*, which holds three as well, to 2 / 2: that of *b* leaves first.
    """
    state = with_dues({"a": (1, 0), "b": (0, 2), "c": (20, 0)})
    state.apply(NodeAdded(Node(name="n", allocatable=(0, 0, 6000))))
    for name in ("a1", "a2", "a3", "b1", "b2", "b3", "a4"):
        come(state, name, runs=name != "a4")
    return state


def come(
    state: ClusterState, name: str, gpu: int = 1000, *, runs: bool, preemptible: bool = True
) -> None:
    nobody = dict.fromkeys(("goes", "moves", "is_spared", "has_turn"))
    step = Step(name[0], gpu, 50, runs=runs, **nobody)
    state.apply(WorkloadAdded(replace(job(name, step), preemptible=preemptible)))
    if runs:
        place = (Placement(POD, "n"),)
        state.apply(WorkloadStarted(workload=WorkloadName(name), placements=place, at_ms=0))


def first_victims(state: ClusterState, bounds: BoundsPrefilter) -> str:
    bounds.sources.shares.catch_up()
    pool = EligibleCandidates(
        bounds.sources.candidates, state, CycleRecord(state), frozenset(), includes_settled=False
    )
    check_first_victims(state, bounds, pool)
    return bounds.first_victims.first(1, bounds.sources.shares, pool)[0].job


def test_the_first_victim_changes_with_the_shares_of_others() -> None:
    """With pending jobs of *c*, *a* is due nothing."""
    state = three_queues()
    bounds = BoundsPrefilter(IncrementalSources(state, KaiSettings()))
    assert first_victims(state, bounds) == "b3"
    come(state, "c1", 5000, runs=False)
    assert first_victims(state, bounds) == "a3"


def test_the_first_victim_changes_with_jobs_that_are_no_candidates() -> None:
    """With 4 more that *a* holds it is full to 6 / 4 without its last job that may be asked."""
    state = three_queues()
    bounds = BoundsPrefilter(IncrementalSources(state, KaiSettings()))
    assert first_victims(state, bounds) == "b3"
    come(state, "a5", 4000, runs=True, preemptible=False)
    assert first_victims(state, bounds) == "a3"


def test_a_queue_matters_while_it_is_beyond_its_guarantee_as_the_first_victims_are() -> None:
    """Of 16 GPUs *a* is guaranteed 3 and holds them; *b* is guaranteed none and holds one."""
    state = with_dues({"a": (1, 3), "b": (1, 0)})
    state.apply(NodeAdded(Node(name="n", allocatable=(0, 0, 16_000))))
    for name in ("a1", "a2", "a3", "b1"):
        come(state, name, runs=True)
    bounds, few, all_there_are = (
        BoundsPrefilter(IncrementalSources(state, KaiSettings())),
        FirstVictims(state),
        FirstVictims(state),
    )

    def first(most: int, kept: FirstVictims) -> list[str]:
        bounds.sources.shares.catch_up()
        pool = EligibleCandidates(
            bounds.sources.candidates,
            state,
            CycleRecord(state),
            frozenset(),
            includes_settled=False,
        )
        return [each.job for each in kept.first(most, bounds.sources.shares, pool)]

    assert first(1, few) == ["b1"]
    assert first(5, all_there_are) == ["b1", "a3", "a2", "a1"]
    come(state, "a4", runs=True)  # beyond its guarantee as well now, and fuller
    assert first(1, few) == ["a4"]
    state.apply(WorkloadFinished(WorkloadName("a4")))  # as before
    assert first(1, few) == ["b1"]
    state.apply(WorkloadFinished(WorkloadName("a1")))  # which nobody asked for
    assert first(1, few) == ["b1"]
    assert first(5, all_there_are) == ["b1", "a3", "a2"]
