"""Nothing is evicted in vain, and nothing starts at the cost of a pod within its rights."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.events import Event, WorkloadStopped
from fairlead.model.execution.executor import apply
from fairlead.model.holds import Holds
from fairlead.model.plan import Decision, Evict, Plan, Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey, Workload
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.policy.elastic_quota.plan_world import cluster, decided, plan, told
from tests.policy.elastic_quota.random_world import (
    AXES,
    NOW_MS,
    ONE_NODE,
    OURS,
    PROTECTS_MIN,
    build,
    worlds,
)
from tests.scale_examples import scale_examples

own_modes = st.sampled_from([OURS, PROTECTS_MIN, ONE_NODE])


@hypothesis_settings(max_examples=scale_examples(150))
@given(events=worlds(), settings=own_modes)
def test_nothing_is_evicted_or_started_in_vain(
    events: list[Event], settings: ElasticQuotaSettings
) -> None:
    state = build(events)
    made = ElasticQuotaPolicy(settings).plan(state, NOW_MS)
    check_starts(state, made)
    check_claims(state, made, settings)


def check_starts(state: ClusterState, made: Plan) -> None:
    """No pod starts and is evicted, and no start makes its namespace a borrower that gives others.

    The usage of a namespace is what its pods that ran before still hold at that moment.
    """
    started = {
        (each.workload, place.pod)
        for each in made.decisions
        if isinstance(each, Start)
        for place in each.placements
    }
    used = {queue: list(state.sums[queue].allocated) for queue in state.queues}
    for claim in claims_of(made.decisions):
        found = {queue: tuple(amounts) for queue, amounts in used.items()}
        for eviction in claim:
            victim = state.workloads[eviction.workload]
            for pod in eviction.pods:
                assert (victim.name, pod) not in started, "it starts and is evicted"
                charge = charge_of(state, (victim.name, pod))
                if is_reclaimed(state, eviction):
                    assert is_borrowed(state, victim.queue, found[victim.queue], charge), "rights"
                if victim.queue in used:
                    used[victim.queue][:] = map(int.__sub__, used[victim.queue], charge)


def claims_of(decisions: Iterable[Decision]) -> list[list[Evict]]:
    """Return the evictions for each workload together, in the order of the plan."""
    claims: dict[WorkloadName | None, list[Evict]] = {}
    for each in decisions:
        if isinstance(each, Evict):
            claims.setdefault(each.beneficiary, []).append(each)
    return list(claims.values())


def is_reclaimed(state: ClusterState, eviction: Evict) -> bool:
    """Return whether one namespace with a quota loses a pod to another one."""
    assert eviction.beneficiary is not None
    queues = [state.workloads[name].queue for name in (eviction.workload, eviction.beneficiary)]
    return queues[0] != queues[1] and all(queue in state.queues for queue in queues)


def is_borrowed(state: ClusterState, queue: QueueName, used: Amounts, charge: Amounts) -> bool:
    """Return whether a namespace that uses so much borrows something that a pod holds."""
    rows = zip(used, state.queues[queue].guaranteed, charge, strict=True)
    return any(has > (least or 0) and amount > 0 for has, least, amount in rows)


def charge_of(state: ClusterState, key: PodKey) -> Amounts:
    name, pod = key
    return AXES.charge(state.resources, state.workloads[name].pod_sets.of(pod).requests)


def check_claims(state: ClusterState, made: Plan, settings: ElasticQuotaSettings) -> None:
    """Every pod for which others are evicted can start as soon as these have left.

    What other pending pods do is the business of the next plan: the workloads are held, and plans
    are left out in which a workload has more pods than are nominated.
    """
    claimants = {each.beneficiary for each in made.decisions if isinstance(each, Evict)}
    reserved = [each for each in made.decisions if isinstance(each, Reserve)]
    with state.trial():
        apply(state, made)
        for workload in list(state.workloads.values()):
            stop_leaving(state, workload)
        if any(has_more_pods(state, each) for each in reserved):
            return
        names = {each.workload for each in reserved}
        others = {name for queue in state.waited_for() for name in state.waiting(queue)} - names
        held = Holds(workloads=frozenset(others))
        then = ElasticQuotaPolicy(settings).plan(state, NOW_MS, held=held)
    starts = {
        (each.workload, place.pod)
        for each in then.decisions
        if isinstance(each, Start)
        for place in each.placements
    }
    for each in reserved:
        if each.workload in claimants:
            missing = [p.pod for p in each.placements if (each.workload, p.pod) not in starts]
            assert not missing, "others are evicted for it, and it cannot start"


def has_more_pods(state: ClusterState, reserve: Reserve) -> bool:
    """Return whether pods of a workload wait that are not nominated."""
    run = state.runs.get(reserve.workload)
    there = len(run.pods) if run else 0
    return state.workloads[reserve.workload].pod_count() > there + len(reserve.placements)


def stop_leaving(state: ClusterState, workload: Workload) -> None:
    run = state.runs.get(workload.name)
    gone = tuple(
        [pod for pod, place in run.pods.items() if place.phase == "leaving"] if run else ()
    )
    if gone:
        state.apply(WorkloadStopped(workload=workload.name, pods=gone))


def test_a_pod_within_its_min_stays_where_a_start_can_be_held_back() -> None:
    """B borrows 1 core with b2 and would lose b1 for a1, which needs one of the two places."""
    state = cluster(
        "of min\na 8,2,9\nb 2,4,9",
        "name has\nn0 16,8,2",
        "name of asks on priority created\n"
        "b1 b 1,2,1 n0 10 0\nb2 b 2,0,1 - 10 1\na1 a 1,1,1 - 10 2",
        resources="cpu,gpu,slot",
    )
    assert told(plan(state)) == ["wait b2: WouldBeEvicted", "start a1 on n0: WithinMin"]


def test_a_pod_that_could_not_start_then_preempts_none() -> None:
    """A2 would take the place of a1 and have 2 of a min of 1; with the 2 of b that is over 3."""
    state = cluster(
        "of min max\na 1 2\nb 2 -",
        "name has\nn1 2\nn2 2",
        "name of asks on priority\na1 a 1 n1 10\na2 a 2 - 1000\nb1 b 2 - 10",
    )
    assert told(plan(state)) == ["wait a2: WouldPreemptInVain", "start b1 on n2: WithinMin"]


def test_a_pod_held_back_names_the_one_that_takes_its_quota() -> None:
    """The last one served asks for nothing and takes nothing, so a2 does not give way to it."""
    state = cluster(
        "of min max\na 1 2\nb 2 -",
        "name has\nn1 2\nn2 2",
        "name of asks on priority\na1 a 1 n1 10\na2 a 2 - 1000\nb1 b 2 - 10\nf1 free 0 - 1",
    )
    planned = plan(state)
    assert told(planned)[1:] == ["start b1 on n2: WithinMin", "start f1 on n1: WithoutQuota"]
    assert decided(planned, "a2").reason.code == "WouldPreemptInVain"
    assert decided(planned, "a2").reason.names == ("b1",)
