"""A row says where pods go and what a reservation rests on; a document has the numbers."""

import math

import pytest

from fairlead.explain.plan.report import decision_documents, plan_rows, reason_document
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    ForeignPodChanged,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadStarted,
)
from fairlead.model.plan import (
    Comparison,
    Decision,
    Evict,
    Held,
    Plan,
    Reason,
    Reserve,
    SideShare,
    Start,
    Term,
)
from fairlead.model.selector import PodTerm
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodId, PodSet, PodSets, Workload, numbered_pod
from tests.cli.manifests import NODE, kai_queue, pod_group
from tests.cli.run_cli import run_cli
from tests.model.foreign import foreign_pod
from tests.model.worlds import node, queue, state_with

JOB, TEAM = WorkloadName("job"), QueueName("team")
ANYWHERE = PodConstraints()
PORT = PodConstraints(host_ports=(("TCP", 80),))
ALONE = PodConstraints(pod_anti_affinity=(PodTerm(topology_key="zone", selector=None),))


@pytest.mark.parametrize(
    ("pods", "where", "leaving", "foreign", "why"),
    [
        (1, ANYWHERE, ["x/old"], [], "when x/old has left"),
        (1, ANYWHERE, ["x/a", "x/b"], [], "when x/a, x/b have left"),
        (1, ANYWHERE, [], ["y/f"], "when pod y/f has left"),
        (2, ANYWHERE, [], ["y/f", "y/g"], "when pod y/f, pod y/g have left"),
        (1, PORT, ["x/a"], ["y/f"], "when x/a, pod y/f have left"),
        (
            1,
            PORT,
            ["x/a"],
            ["y/d", "y/e", "y/f"],
            "when x/a, pod y/d, pod y/e, and 1 more have left",
        ),
        (2, PORT, ["x/old"], [], "when x/old has left"),
        (1, PORT, [], [], "when pods that keep it away have left"),
        (2, ANYWHERE, [], [], "when its other pods can start"),
        (2, PORT, [], [], "when its other pods can start, or pods that keep it away have left"),
        (2, ALONE, [], [], "when its other pods can start, or pods that keep it away have left"),
    ],
)
def test_a_reservation_says_what_it_waits_for(
    pods: int, where: PodConstraints, leaving: list[str], foreign: list[str], why: str
) -> None:
    wanted = PodSet(name="main", count=pods, min_count=1, requests=(1000, 1000), constraints=where)
    job = Workload(name=JOB, queue=TEAM, pod_sets=PodSets((wanted,)), min_count=1)
    decision = Reserve(
        workload=JOB,
        placements=(Placement(numbered_pod("main", 0), "n1"),),
        charged=(TEAM,),
        waits_for=tuple(map(WorkloadName, leaving)),
        waits_for_foreign=tuple(map(PodId, foreign)),
        reason=Reason(code="WithinQuota", queue=TEAM),
    )
    state = state_with(queue("team"), node("n1"), job)
    for name in foreign:
        state.apply(ForeignPodChanged(foreign_pod(name, "n1", (0, 0), leaving=True)))
    plan = Plan(taken_ms=0, decisions=(decision,))
    (row,) = plan_rows(state, plan.decisions)
    assert row.why == f"within the quota of team; {why}"
    (document,) = decision_documents(state, plan.decisions)
    assert isinstance(document, dict)
    assert document["waitsFor"] == leaving
    assert document.get("waitsForForeignPods", []) == foreign


def test_a_host_port_of_another_scheduler_is_waited_for() -> None:
    web = """
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: x
  labels: {{kai.scheduler/queue: a}}
  {metadata}
spec:
  schedulerName: {scheduler}-scheduler
  containers: [{{name: main, ports: [{{containerPort: 80, hostPort: 80}}]}}]
  {place}
"""
    old = web.format(
        name="old",
        scheduler="default",
        place="nodeName: n1",
        metadata='deletionTimestamp: "2026-11-16T07:59:00Z"',
    )
    new = web.format(name="new", scheduler="kai", place="", metadata="")
    world = "---".join((NODE, kai_queue("a"), old, new)).encode()
    ran = run_cli("plan", "-f", "-", stdin=world)
    row = ran.answer.splitlines()[1]
    assert row.startswith("reserve")
    assert row.endswith("; when pod x/old has left")


def test_room_that_a_pod_of_another_scheduler_leaves_is_reserved_then_taken() -> None:
    """It holds 8 of 10 GPUs and is being deleted; the job asks for 4."""
    old = """
apiVersion: v1
kind: Pod
metadata: {name: old, namespace: x, deletionTimestamp: "2026-11-16T07:59:00Z"}
spec:
  nodeName: n1
  containers: [{name: main, resources: {requests: {nvidia.com/gpu: 8}}}]
"""
    world = "---".join((NODE, kai_queue("a", quota=4), pod_group("new", "a", 4), old)).encode()
    ran = run_cli("plan", "-f", "-", "--cycles", "2", stdin=world)
    rows = [line for line in ran.out.splitlines() if "team/new" in line]
    quota = "within the quota of a: gpu: allocated 0 + request 4 <= quota 4"
    assert [row.split()[0] for row in rows] == ["reserve", "start"]
    assert rows[0].endswith(f"{quota}; when pod x/old has left")
    assert rows[1].endswith(quota)


FLAVORED = QuotaAxes([Axis("cpu", "cpus"), Axis("gpu", "a100"), Axis("gpu", "h100")])
ON_A100 = {"cpu": "cpus", "gpu": "a100"}
ON_H100 = {"gpu": "h100"}
GRANTED = Reason(code="WithinQuota", queue=TEAM)


def flavored_state(*counts: int) -> ClusterState:
    """A workload with as many pods in each of its sets, which waits."""
    state = ClusterState(("cpu", "gpu"), FLAVORED)
    state.apply(QueueChanged(queue("team", axes=len(FLAVORED))))
    sets = tuple(
        PodSet(name=f"set{at}", count=count, min_count=count, requests=(1, 1))
        for at, count in enumerate(counts)
    )
    state.apply(
        WorkloadAdded(Workload(name=JOB, queue=TEAM, pod_sets=PodSets(sets), min_count=sum(counts)))
    )
    return state


def places(*counts: int) -> tuple[Placement, ...]:
    return tuple(
        Placement(numbered_pod(f"set{at}", ordinal), None)
        for at, count in enumerate(counts)
        for ordinal in range(count)
    )


def start(*counts: int) -> Start:
    flavors = (ON_A100, ON_H100)[: len(counts)]
    placed = places(*counts)
    return Start(workload=JOB, placements=placed, flavors=flavors, charged=(TEAM,), reason=GRANTED)


def evict(*counts: int) -> Evict:
    pods = tuple(place.pod for place in places(*counts))
    return Evict(workload=JOB, pods=pods, beneficiary=None, reason=GRANTED)


def running(*counts: int) -> ClusterState:
    state, decision = flavored_state(*counts), start(*counts)
    state.apply(
        WorkloadStarted(
            workload=JOB, placements=decision.placements, flavors=decision.flavors, at_ms=0
        )
    )
    return state


@pytest.mark.parametrize(
    ("state", "decision", "pods", "where"),
    [
        (flavored_state(6), start(6), "6/6", "cpus+a100 x6"),
        (flavored_state(6), start(4), "4/6", "cpus+a100 x4"),
        (flavored_state(2, 1), start(2, 1), "3/3", "cpus+a100 x2, h100"),
        (running(2, 1), evict(2, 1), "3/3", "cpus+a100 x2, h100"),
        (flavored_state(2), evict(2), "2/2", ""),  # it had quota in the same plan alone
    ],
    ids=["all", "in part", "two sets", "gives way", "gives way at once"],
)
def test_pods_without_a_node_are_shown_with_their_flavors(
    state: ClusterState, decision: Decision, pods: str, where: str
) -> None:
    (row,) = plan_rows(state, [decision])
    assert (row.pods, row.where) == (pods, where)


def document(state: ClusterState, decision: Decision) -> dict[str, object]:
    (found,) = decision_documents(state, [decision])
    assert isinstance(found, dict)
    return found


def test_the_document_has_flavors_and_counts_of_each_pod_set() -> None:
    sets = [
        {"name": "set0", "count": 1, "flavors": ON_A100},
        {"name": "set1", "count": 2, "flavors": ON_H100},
    ]
    names = ["set0-0", "set1-0", "set1-1"]
    found = document(flavored_state(1, 2), start(1, 2))
    assert found["podSets"] == sets
    assert found["pods"] == [{"name": name, "node": None} for name in names]
    found = document(running(1, 2), evict(1, 2))
    assert found["podSets"] == sets
    assert found["pods"] == [{"name": name} for name in names]


@pytest.mark.parametrize(("count", "named"), [(100, 100), (101, 0)])
def test_many_pods_without_a_node_are_counted_alone(count: int, named: int) -> None:
    for found in (
        document(flavored_state(count), start(count)),
        document(running(count), evict(count)),
    ):
        assert found["podSets"] == [{"name": "set0", "count": count, "flavors": ON_A100}]
        assert isinstance(found["pods"], list)
        assert len(found["pods"]) == named


def test_pods_on_nodes_are_named_however_many() -> None:
    job = Workload(
        name=JOB,
        queue=TEAM,
        pod_sets=PodSets((PodSet(name="main", count=101, min_count=1, requests=(1, 1)),)),
        min_count=1,
    )
    decision = Start(
        workload=JOB,
        placements=tuple(Placement(numbered_pod("main", at), "n1") for at in range(101)),
        charged=(TEAM,),
        reason=GRANTED,
    )
    found = document(state_with(queue("team"), node("n1"), job), decision)
    assert "podSets" not in found
    assert isinstance(found["pods"], list)
    assert len(found["pods"]) == 101


def test_a_reason_has_shares_holders_and_moments() -> None:
    other = QueueName("other")
    reason = Reason(
        code="InCohortFairSharing",
        comparisons=(
            Comparison(
                queue=other,
                axis=None,
                left=(Term("later share", 250.5, TEAM),),
                relation="<",
                right=Term("share", math.inf, other),
            ),
            Comparison(
                queue=TEAM,
                axis=None,
                left=(Term("queued at", 0),),
                relation="<",
                right=Term("queued at", 60_000),
            ),
        ),
        shares=(
            SideShare(queue=TEAM, before=0.0, after=250.5),
            SideShare(queue=other, before=math.inf, after=750.0),
        ),
        held=(Held(queue=other, axis=Axis("gpu", "a100"), amount=3000, borrowed=500),),
    )
    found = reason_document(reason)
    assert found["shares"] == [
        {"queue": "team", "before": 0.0, "after": 250.5},
        {"queue": "other", "before": "inf", "after": 750.0},
    ]
    assert found["held"] == [
        {"queue": "other", "resource": "a100/gpu", "amount": "3", "borrowed": "500m"}
    ]
    assert found["comparisons"] == [
        {
            "queue": "other",
            "resource": None,
            "left": [{"name": "later share", "amount": 250.5, "queue": "team"}],
            "relation": "<",
            "right": {"name": "share", "amount": "inf", "queue": "other"},
        },
        {
            "queue": "team",
            "resource": None,
            "left": [{"name": "queued at", "amount": "1970-01-01T00:00:00Z"}],
            "relation": "<",
            "right": {"name": "queued at", "amount": "1970-01-01T00:01:00Z"},
        },
    ]


def test_a_pod_that_starts_and_is_evicted_at_once_leaves_no_node() -> None:
    """As it happens beside a running pod of its gang, where a rule set starts pods in vain."""
    sets = PodSets((PodSet(name="main", count=2, min_count=1, requests=(1, 1)),))
    job = Workload(name=JOB, queue=TEAM, pod_sets=sets, min_count=1)
    state = state_with(queue("team"), node("n1"), job)
    first, second = (numbered_pod("main", at) for at in range(2))
    state.apply(WorkloadStarted(workload=JOB, placements=(Placement(first, "n1"),), at_ms=0))
    decision = Evict(workload=JOB, pods=(first, second), beneficiary=None, reason=GRANTED)
    (row,) = plan_rows(state, [decision])
    assert (row.pods, row.where) == ("2/2", "n1")
