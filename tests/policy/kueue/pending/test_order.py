"""Who comes first among the workloads that wait in a ClusterQueue."""

from collections.abc import Iterable
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    MemoryChanged,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadStarted,
)
from fairlead.model.memory import KueueMemory
from fairlead.model.queue import ClusterQueue, Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.kueue.pending.queue import pending_order, queued_ms
from fairlead.policy.kueue.settings import KueueSettings
from tests.text_table import number, rows

QUEUE = QueueName("q")
BY_EVICTION = KueueSettings(requeued_by="Eviction")
BY_CREATION = KueueSettings(requeued_by="Creation")

ORDERS = {
    "the higher priority comes first, then the earlier": (
        """
        name  priority  created  requeued  preempting
        ns/a  0         1        -         no
        ns/b  5         3        -         no
        ns/c  5         2        -         no
        """,
        BY_EVICTION,
        "ns/c ns/b ns/a",
    ),
    "the name decides between equals": (
        """
        name  priority  created  requeued  preempting
        ns/b  1         7        -         no
        ns/c  1         7        -         no
        ms/z  1         7        -         no
        """,
        BY_EVICTION,
        "ms/z ns/b ns/c",
    ),
    "one for which others give way stays the first, whatever its priority": (
        """
        name  priority  created  requeued  preempting
        ns/a  9         1        -         no
        ns/b  -1        5        -         yes
        """,
        BY_EVICTION,
        "ns/b ns/a",
    ),
    "an eviction after which it was queued again sends it back": (
        """
        name  priority  created  requeued  preempting
        ns/a  0         1        9         no
        ns/b  0         2        -         no
        """,
        BY_EVICTION,
        "ns/b ns/a",
    ),
    "unless the settings order by creation": (
        """
        name  priority  created  requeued  preempting
        ns/a  0         1        9         no
        ns/b  0         2        -         no
        """,
        BY_CREATION,
        "ns/a ns/b",
    ),
    "an eviction at the beginning of time counts as one": (
        """
        name  priority  created  requeued  preempting
        ns/a  0         2        0         no
        ns/b  0         1        -         no
        """,
        BY_EVICTION,
        "ns/a ns/b",
    ),
}


@pytest.mark.parametrize(("table", "settings", "order"), ORDERS.values(), ids=ORDERS)
def test_they_stand_in_the_order_of_kueue(table: str, settings: KueueSettings, order: str) -> None:
    listed = rows(table)
    preempting = [row["name"] for row in listed if row["preempting"] == "yes"]
    state = _state([_read(row) for row in listed], preempting)
    assert pending_order(state, QUEUE, settings) == order.split()


def test_what_has_quota_and_what_is_of_another_queue_is_not_in_line() -> None:
    state = _state([_workload("ns/a"), _workload("ns/b"), _workload("ns/c", queue="other")])
    state.apply(
        WorkloadStarted(
            workload=WorkloadName("ns/a"),
            placements=(Placement(numbered_pod("main", 0), None),),
            flavors=({"cpu": "any"},),
            at_ms=1,
        )
    )
    assert pending_order(state, QUEUE, BY_EVICTION) == ["ns/b"]


@given(
    st.lists(
        st.tuples(
            st.booleans(), st.integers(-2, 2), st.integers(0, 3), st.none() | st.integers(0, 3)
        ),
        max_size=8,
    ),
    st.sampled_from([BY_EVICTION, BY_CREATION]),
)
def test_nobody_in_line_has_a_reason_to_stand_before_the_one_ahead(
    drawn: list[tuple[bool, int, int, int | None]], settings: KueueSettings
) -> None:
    workloads = [
        _workload(f"ns/{at}", priority, created, requeued)
        for at, (_, priority, created, requeued) in enumerate(drawn)
    ]
    preempting = {f"ns/{at}" for at, (is_preempting, *_) in enumerate(drawn) if is_preempting}
    state = _state(workloads, preempting)
    order = [state.workloads[name] for name in pending_order(state, QUEUE, settings)]
    assert sorted(each.name for each in order) == sorted(each.name for each in workloads)
    for ahead, behind in pairwise(order):
        assert _stands_before(ahead, behind, settings, preempting)


def _stands_before(
    one: Workload, other: Workload, settings: KueueSettings, preempting: set[str]
) -> bool:
    """The rule once more, question by question."""
    if (one.name in preempting) != (other.name in preempting):
        return one.name in preempting
    if one.priority != other.priority:
        return one.priority > other.priority
    if queued_ms(one, settings) != queued_ms(other, settings):
        return queued_ms(one, settings) < queued_ms(other, settings)
    return one.name < other.name


def _read(row: dict[str, str]) -> Workload:
    return _workload(
        row["name"],
        int(row["priority"]),
        int(row["created"]),
        number(row["requeued"]),
    )


def _workload(
    name: str,
    priority: int = 0,
    created_ms: int = 0,
    requeued_ms: int | None = None,
    *,
    queue: str = QUEUE,
) -> Workload:
    return Workload(
        name=WorkloadName(name),
        queue=QueueName(queue),
        pod_sets=PodSets((PodSet(name="main", count=1, min_count=1, requests=(1,)),)),
        min_count=1,
        priority=priority,
        created_ms=created_ms,
        extension=KueueWorkload(local_queue="jobs", requeued_ms=requeued_ms),
    )


def _state(workloads: list[Workload], preempting: Iterable[str] = ()) -> ClusterState:
    state = ClusterState(("cpu",), QuotaAxes([Axis("cpu", "any")]))
    for name in (QUEUE, QueueName("other")):
        state.apply(
            QueueChanged(
                queue=Queue(
                    name=name,
                    weights=(Decimal(1),),
                    guaranteed=(10,),
                    ceiling=(None,),
                    borrow_limit=(None,),
                    lend_limit=(None,),
                    extension=ClusterQueue(),
                )
            )
        )
    for workload in workloads:
        state.apply(WorkloadAdded(workload=workload))
    for each in preempting:
        state.apply(MemoryChanged(WorkloadName(each), KueueMemory(preempting=True)))
    return state
