"""What counts as used in the tree of Kueue's quotas."""

from decimal import Decimal

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadLeaving,
    WorkloadStarted,
)
from fairlead.model.queue import ClusterQueue, Cohort, Queue, ResourceGroup
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.kueue.snapshot.shares import KueueShares

CPU = Axis("cpu", "any")
GROUPS = (ResourceGroup(resources=("cpu",), flavors=("any",)),)
TRAIN = WorkloadName("team/train")


def test_what_is_evicted_uses_quota_until_it_has_left() -> None:
    state = _state()
    # a has 4 and holds 3 x 2: it borrows 2 of the 5 of b.
    expected = {"cohort/all": (6, 0, 0), "a": (6, 2, 0), "b": (0, 0, 2)}
    assert _figures(state) == expected
    state.apply(
        WorkloadLeaving(workload=TRAIN, pods=(numbered_pod("main", 0), numbered_pod("main", 1)))
    )
    assert state.sums[QueueName("a")].allocated == [2]
    assert _figures(state) == expected


def _figures(state: ClusterState) -> dict[str, tuple[int, int, int]]:
    rows = KueueShares(state).rows()
    return {row.queue: (row.charged[0], row.borrowed[0], row.lent[0]) for row in rows}


def _state() -> ClusterState:
    state = ClusterState(("cpu",), QuotaAxes([CPU]))
    state.apply(QueueChanged(queue=_queue("cohort/all", 0, Cohort())))
    for name, quota in (("a", 4), ("b", 5)):
        rules = ClusterQueue(resource_groups=GROUPS)
        state.apply(QueueChanged(queue=_queue(name, quota, rules, parent="cohort/all")))
    state.apply(
        WorkloadAdded(
            workload=Workload(
                name=TRAIN,
                queue=QueueName("a"),
                pod_sets=PodSets((PodSet(name="main", count=3, min_count=3, requests=(2,)),)),
                min_count=3,
                extension=KueueWorkload(local_queue="jobs"),
            )
        )
    )
    placements = tuple(Placement(numbered_pod("main", at), None) for at in range(3))
    state.apply(
        WorkloadStarted(workload=TRAIN, placements=placements, flavors=({"cpu": "any"},), at_ms=1)
    )
    return state


def _queue(name: str, quota: int, rules: ClusterQueue | Cohort, parent: str | None = None) -> Queue:
    return Queue(
        name=QueueName(name),
        parent=None if parent is None else QueueName(parent),
        weights=(Decimal(1),),
        guaranteed=(quota,),
        ceiling=(None,),
        borrow_limit=(None,),
        lend_limit=(None,),
        extension=rules,
    )
