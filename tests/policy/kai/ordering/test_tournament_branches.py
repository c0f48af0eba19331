"""Pending jobs and their order after some changed: branched off, or made anew."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Event, Placement, WorkloadStarted
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.fair_share.shares import KaiShares
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.queue_order import QueueNumbers, queue_numbers
from fairlead.policy.kai.ordering.tournament import Draw, QueueTournament
from tests.policy.kai.random_worlds import build, worlds
from tests.scale_examples import scale_examples

Claims = Mapping[WorkloadName, tuple[PodId, ...]]
Turn = tuple[QueueName, WorkloadName | None, tuple[PodId, ...]]


def ordered(
    state: ClusterState, numbers: Mapping[QueueName, QueueNumbers], claims: Claims
) -> tuple[PendingJobs, QueueTournament]:
    jobs = PendingJobs(state, None)
    for name, pods in claims.items():
        jobs.choose(name, pods)
    jobs.add_queues({leaf for leaf in numbers if not state.children(leaf)})
    draw = Draw(state, numbers)
    return jobs, QueueTournament(state, draw, numbers, jobs.next_request, jobs.queues())


def turns(jobs: PendingJobs, tournament: QueueTournament) -> list[Turn]:
    """Let everybody go in turn."""
    found: list[Turn] = []
    while (queue := tournament.leader()) is not None:
        job = jobs.first(queue)
        assert job is not None
        found.append((queue, job, jobs.next_pods(job)))
        jobs.drop_first(queue)
        tournament.renew(queue)
    return found


def branch(
    state: ClusterState,
    before: tuple[PendingJobs, QueueTournament],
    claims: Claims,
    changed: Iterable[WorkloadName],
) -> tuple[PendingJobs, QueueTournament]:
    jobs = before[0].branch(claims, changed)
    queues = {state.workloads[name].queue for name in (*changed, *claims)}
    return jobs, before[1].branch(jobs.next_request, queues)


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(60))
@given(events=worlds(), data=st.data())
def test_a_branch_is_what_lining_up_anew_gives_and_leaves_its_origin_alone(
    events: list[Event], data: st.DataObject
) -> None:
    state = build(events)
    rows = KaiShares(state, state.total(), Fraction(0)).rows()
    numbers = {row.queue: queue_numbers(state, row, state.total()) for row in rows}
    before = ordered(state, numbers, {})
    waiting = sorted(before[0].names())
    claims = {name: before[0].next_pods(name)[:1] for name in waiting[:1]}
    others = st.sets(st.sampled_from(waiting[1:])) if waiting[1:] else st.just(set())
    for changed in (data.draw(others), data.draw(others)):
        with state.trial():
            for name in changed:
                places = tuple([Placement(pod, None) for pod in before[0].next_pods(name)[-1:]])
                state.apply(WorkloadStarted(workload=name, placements=places, at_ms=0))
            expected = turns(*ordered(state, numbers, claims))
            assert turns(*branch(state, before, claims, changed)) == expected
    assert turns(*branch(state, before, {}, ())) == turns(*ordered(state, numbers, {}))
