"""What one job could not have is no answer for another that differs, or comes later."""

from collections.abc import Iterable

import pytest

from fairlead.model.axes import WorkloadName
from fairlead.model.events import Placement, WorkloadAdded, WorkloadStarted
from fairlead.model.node import Node
from fairlead.model.plan import Plan, Start, Wait
from fairlead.model.selector import LabelRequirement, LabelSelector, PodTerm
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    KaiJob,
    PodConstraints,
    PodSet,
    PodSets,
    Workload,
    numbered_pod,
)
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.model.worlds import queue, state_with

HOST = "kubernetes.io/hostname"
WORKERS = LabelSelector(
    requirements=(LabelRequirement(key="app", operator="In", values=("worker",)),)
)


def node(name: str, gpus: int) -> Node:
    size = (64_000, gpus * 1000)
    return Node(name=name, allocatable=size, labels={HOST: name, "pool": name})


def pod(name: str, gpus: int, *, pool: str = "", labels: Iterable[tuple[str, str]] = ()) -> PodSet:
    where = PodConstraints(node_selector=(("pool", pool),) if pool else ())
    return PodSet(
        name=name,
        count=1,
        min_count=1,
        requests=(1000, gpus * 1000),
        pod_names=(name,),
        constraints=where,
        labels=tuple(labels),
    )


def job(name: str, created_ms: int, *pods: PodSet, team: str = "team") -> Workload:
    return Workload(
        name=WorkloadName(name),
        queue=queue(team).name,
        namespace=name.partition("/")[0],
        pod_sets=PodSets(pods),
        min_count=len(pods),
        created_ms=created_ms,
        extension=KaiJob(),
    )


def plan_of(state: ClusterState) -> Plan:
    return KaiPolicy(KaiSettings()).plan(state, 0)


def started(plan: Plan) -> set[str]:
    return {each.workload for each in plan.decisions if isinstance(each, Start)}


def test_a_gang_may_fit_after_the_like_of_it_did_not() -> None:
    """Packing puts a small pod on the fuller node: first a, where p1 must go, later b.

    a has 2 GPUs, b has 3. Of t1/gang p0 takes 1 of a, and p1, which must have 2 there, has no
    place. Once t2/mid has taken 2 of b, t3/gang puts p0 on b, and p1 on a.
    """
    gang = (pod("p0", 1), pod("p1", 2, pool="a"))
    state = state_with(
        queue("team"),
        node("a", 2),
        node("b", 3),
        job("t1/gang", 1, *gang),
        job("t2/mid", 2, pod("m", 2, pool="b")),
        job("t3/gang", 3, *gang),
    )
    assert started(plan_of(state)) == {"t2/mid", "t3/gang"}


@pytest.mark.parametrize(
    ("first", "second", "starts"),
    [
        (3, 0, {"t1/first"}),  # 5 // 2 + 3 // 2 = 3 places for pods that ask for 2
        (4, 0, set()),
        (1, 2, {"t1/first", "t2/second"}),
        (2, 2, {"t1/first"}),  # the second needs 2 of the 1 that is left
        (4, 3, {"t2/second"}),
    ],
)
def test_gangs_start_that_have_a_place_for_each_pod(
    first: int, second: int, starts: set[str]
) -> None:
    """Pods that ask for 2 GPUs each, on nodes with 5 and 3; also where nobody asks why."""
    state = state_with(queue("team"), node("a", 5), node("b", 3))
    for at, (name, count) in enumerate((("t1/first", first), ("t2/second", second))):
        if count:
            pods = [pod(f"p{number}", 2) for number in range(count)]
            state.apply(WorkloadAdded(job(name, at, *pods)))
    assert started(plan_of(state)) == starts
    changes = KaiPolicy(KaiSettings()).plan(state, 0, explain=False).decisions
    assert {each.workload for each in changes} == starts


def test_a_pod_that_is_kept_away_says_nothing_of_another_namespace() -> None:
    """A pod on n1 keeps workers of its own namespace off; those of others may come."""
    lonely = PodSet(
        name="lonely",
        count=1,
        min_count=1,
        requests=(1000, 0),
        constraints=PodConstraints(
            pod_anti_affinity=(PodTerm(topology_key=HOST, selector=WORKERS, namespaces=("a",)),)
        ),
    )
    worker = pod("w", 0, labels=[("app", "worker")])
    state = state_with(queue("team"), node("n1", 0), job("a/lonely", 0, lonely))
    place = (Placement(numbered_pod("lonely", 0), "n1"),)
    state.apply(WorkloadStarted(workload=WorkloadName("a/lonely"), placements=place, at_ms=0))
    for name, created_ms in (("a/worker", 1), ("b/worker", 2)):
        state.apply(WorkloadAdded(job(name, created_ms, worker)))
    assert started(plan_of(state)) == {"b/worker"}


def test_jobs_that_fail_alike_each_report_their_own_queue() -> None:
    """n1 has 1 GPU, and each job wants 2."""
    state = state_with(queue("one"), queue("two"), node("n1", 1))
    for at, team in enumerate(("one", "two")):
        state.apply(WorkloadAdded(job(f"x/{team}", at, pod("p", 2), team=team)))
    decisions = plan_of(state).decisions
    assert [(type(each), each.reason.queue) for each in decisions] == [(Wait, "one"), (Wait, "two")]
    first, second = (each.reason.tallies for each in decisions)
    assert first == second
