"""What cannot be judged is passed over: it gets no place, and the others are decided as ever."""

from collections.abc import Sequence
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Event, NodeAdded, QueueChanged, WorkloadAdded, WorkloadRemoved
from fairlead.model.node import Node
from fairlead.model.plan import Decision, Evict, LeftPending, Plan, Reserve, Start, Unknown
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodConstraints, PodSet, PodSets, Workload
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.policy import KueuePolicy
from tests.policy.elastic_quota import plan_world as elastic
from tests.policy.elastic_quota import random_world as elastic_random
from tests.policy.kai import random_worlds as kai
from tests.policy.kueue import plan_world as kueue
from tests.policy.kueue.random_plan_world import PlanWorld, plan_worlds
from tests.scale_examples import scale_examples

ODD = PodConstraints(unsupported=("resourceClaims",))
TOPOLOGY = PodConstraints(unsupported=("topologyRequest",))
NOWHERE = PodConstraints(node_selector=(("no-node", "has-this"),))


def with_where(workload: Workload, where: PodConstraints) -> Workload:
    """Return *workload* with other constraints of all its pods."""
    sets = [replace(each, constraints=where) for each in workload.pod_sets]
    return replace(workload, pod_sets=PodSets(sets))


def about_others(decisions: Sequence[Decision], name: str) -> list[Decision]:
    """Return the changes that a plan makes for and to workloads other than *name*."""
    return [
        each for each in decisions if each.workload != name and not isinstance(each, LeftPending)
    ]


def unknown(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the workloads that a plan does not judge, each with the names of its constraints."""
    found = [each for each in plan.decisions if isinstance(each, Unknown)]
    return {each.workload: each.reason.names for each in found}


def kai_cluster(*, first: PodConstraints) -> ClusterState:
    """A node of 2 GPUs, and two jobs of 2 GPUs each in one queue; the first has *first*."""
    events: list[Event] = [
        NodeAdded(Node(name="n", allocatable=(8000, 10**9, 2000))),
        QueueChanged(kai_queue("t")),
        WorkloadAdded(with_where(kai_job("first", 0), first)),
        WorkloadAdded(kai_job("next", 1)),
    ]
    return kai.build(events)


def kai_queue(name: str) -> Queue:
    free = (None, None, None)
    return Queue(
        name=QueueName(name),
        weights=(Decimal(1),) * 3,
        guaranteed=(None, None, 2000),
        ceiling=free,
        borrow_limit=free,
        lend_limit=free,
    )


def kai_job(name: str, created_ms: int) -> Workload:
    pods = PodSet(name=name, count=1, min_count=1, requests=(100, 10**6, 2000))
    return Workload(
        name=WorkloadName(name),
        queue=QueueName("t"),
        pod_sets=PodSets((pods,)),
        min_count=1,
        created_ms=created_ms,
        extension=KaiJob(),
    )


def outline(plan: Plan) -> list[str]:
    return [f"{type(each).__name__.lower()} {each.workload}" for each in plan.decisions]


def test_under_kai_a_job_is_passed_over_in_its_turn_and_counts_as_requested() -> None:
    for faithful in (False, True):
        state = kai_cluster(first=ODD)
        plan = KaiPolicy(KaiSettings(faithful=faithful)).plan(state, 0)
        assert sorted(outline(plan)) == ["start next", "unknown first"]
        assert unknown(plan) == {"first": ("resourceClaims",)}
        assert state.requested(QueueName("t"))[2] == 2000 + 2000


def test_under_kai_a_job_that_might_preempt_is_not_told_to_wait() -> None:
    """The limit of 2 is in use by a job of lower priority, which would give way to a like job."""
    state = kai_cluster(first=ODD)
    policy = KaiPolicy(KaiSettings())
    state.apply(QueueChanged(replace(kai_queue("t"), ceiling=(None, None, 2000))))
    started = policy.plan(state, 0)
    elastic.apply_plan(state, started)
    first = state.workloads[WorkloadName("first")]
    state.apply(WorkloadRemoved(first.name))
    state.apply(WorkloadAdded(replace(first, priority=9)))
    assert outline(policy.plan(state, 0)) == ["unknown first"]
    state.apply(WorkloadRemoved(first.name))
    state.apply(WorkloadAdded(with_where(replace(first, priority=9), PodConstraints())))
    assert any(isinstance(each, Evict) for each in policy.plan(state, 0).decisions)


def test_under_kueue_a_workload_does_not_block_its_strict_queue() -> None:
    state = kueue.cluster(
        "name parent quota strategy\nq - 2 StrictFIFO",
        "name queue asks priority\nfirst q 2 9\nnext q 2 0",
    )
    kueue.with_constraints(state, "first", TOPOLOGY)
    plan = kueue.plan(state)
    assert outline(plan) == ["start next", "unknown first"]
    assert unknown(plan) == {"first": ("topologyRequest",)}
    assert list(state.sums[QueueName("q")].pending) == [2 + 2]


def test_under_elastic_quotas_a_pod_is_passed_over() -> None:
    state = elastic.cluster("of min\na 9", "name has\nn 2", "name of asks\nfirst a 2\nnext a 2")
    first = state.workloads[WorkloadName("first")]
    elastic.with_workload(state, "first", pod_sets=with_where(first, ODD).pod_sets)
    plan = elastic.plan(state)
    assert sorted(outline(plan)) == ["start next", "unknown first"]
    assert state.requested(QueueName("a"))[0] == 4


def test_a_plan_that_is_not_to_explain_has_no_unknown() -> None:
    """Like waits: what changes nothing is there to be read by people."""
    plan = KaiPolicy(KaiSettings()).plan(kai_cluster(first=ODD), 0, explain=False)
    assert outline(plan) == ["start next"]


@settings(max_examples=scale_examples(60))
@given(events=elastic_random.worlds(), chosen=elastic_random.random_settings, at=st.integers(0, 99))
def test_under_elastic_quotas_the_others_are_decided_as_if_it_were_not_there(
    events: list[Event], chosen: ElasticQuotaSettings, at: int
) -> None:
    state = elastic_random.build(events)
    name = pending_one(state, at)
    if name is None:
        return
    elastic.with_workload(state, name, pod_sets=with_where(state.workloads[name], ODD).pod_sets)
    now_ms = elastic_random.NOW_MS
    there = ElasticQuotaPolicy(chosen).plan(state, now_ms)
    state.apply(WorkloadRemoved(name))
    without = ElasticQuotaPolicy(chosen).plan(state, now_ms)
    assert about_others(there.decisions, name) == about_others(without.decisions, name)


@settings(max_examples=scale_examples(60))
@given(world=plan_worlds(), at=st.integers(0, 99))
def test_under_kueue_the_others_are_decided_as_if_it_were_not_there(
    world: PlanWorld, at: int
) -> None:
    state = world.state()
    name = pending_one(state, at)
    if name is None:
        return
    sets = state.workloads[name].pod_sets
    kueue.with_constraints(state, name, *[TOPOLOGY] * len(sets))
    there = KueuePolicy(world.settings).plan(state, kueue.NOW_MS)
    state.apply(WorkloadRemoved(name))
    without = KueuePolicy(world.settings).plan(state, kueue.NOW_MS)
    assert about_others(there.decisions, name) == about_others(without.decisions, name)


@settings(max_examples=scale_examples(100))
@given(events=kai.worlds(), faithful=st.booleans(), at=st.integers(0, 99))
def test_under_kai_the_others_are_decided_as_beside_a_job_that_fits_nowhere(
    events: list[Event], faithful: bool, at: int
) -> None:
    """Not as without it: what it requests counts in the fair shares."""
    plans = []
    for where in (ODD, NOWHERE):
        state = kai.build(events)
        names = sorted(state.workloads)
        name = names[at % len(names)]
        workload = with_where(state.workloads[name], where)
        state.apply(WorkloadRemoved(name))
        state.apply(WorkloadAdded(workload))
        plan = KaiPolicy(KaiSettings(faithful=faithful)).plan(state, 0)
        plans.append(about_others(plan.decisions, name))
    assert plans[0] == plans[1]


@settings(max_examples=scale_examples(60))
@given(events=kai.worlds(), faithful=st.booleans(), at=st.integers(0, 99))
def test_under_kai_it_is_passed_over_with_and_without_shortcuts(
    events: list[Event], faithful: bool, at: int
) -> None:
    state = kai.build(events)
    names = sorted(state.workloads)
    known = state.workloads[names[at % len(names)]]
    first, *others = known.pod_sets  # the pods of the others may start beside it
    workload = replace(known, pod_sets=PodSets([replace(first, constraints=ODD), *others]))
    state.apply(WorkloadRemoved(workload.name))
    state.apply(WorkloadAdded(workload))
    chosen = KaiSettings(faithful=faithful)
    plan = KaiPolicy(chosen).plan(state, 0)
    assert plan == KaiPolicy(chosen, plain=True).plan(state, 0)
    changes = KaiPolicy(chosen).plan(state, 0, explain=False)
    assert [*changes.decisions] == [
        each for each in plan.decisions if not isinstance(each, LeftPending)
    ]
    odd = {(workload.name, pod) for pod in first.ids()}
    placed = [
        (each.workload, place.pod)
        for each in changes.decisions
        if isinstance(each, Start | Reserve)
        for place in each.placements
    ]
    assert odd.isdisjoint(placed)


def pending_one(state: ClusterState, at: int) -> WorkloadName | None:
    """Return one of the workloads none of whose pods has a place; None: there is none."""
    names = sorted(name for name in state.workloads if name not in state.runs)
    return names[at % len(names)] if names else None
