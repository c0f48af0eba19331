"""What events do to the sums, what the state refuses, and that a trial leaves no trace."""

from copy import deepcopy

import msgspec
import pytest

from fairlead.errors import StateError
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.catalogue import Catalogue
from fairlead.model.device_share import WHOLE_DEVICE_E9, DeviceShare
from fairlead.model.events import (
    CatalogueChanged,
    Event,
    NodeAdded,
    NodeChanged,
    NodeRemoved,
    Placement,
    QueueChanged,
    QueueRemoved,
    UsageChanged,
    WorkloadAdded,
    WorkloadChanged,
    WorkloadConfirmed,
    WorkloadDeparted,
    WorkloadDisplaced,
    WorkloadFinished,
    WorkloadLeaving,
    WorkloadRemoved,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStays,
    WorkloadStopped,
)
from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, PodSets, numbered_pod
from tests.model.invariants import check_invariants
from tests.model.worlds import node, queue, started, state_with, workload

TEAM = QueueName("team")
ROOT = QueueName("root")
JOB = WorkloadName("job")
POD = numbered_pod("main", 0)


def facts(state: ClusterState) -> dict[str, object]:
    """Everything a state knows, for comparison."""
    known: dict[str, object] = {}
    for part in (state, state._tree, state.books, state._work):
        known |= {name: value for name, value in vars(part).items() if name not in _MACHINERY}
    for lists in ("queued", "waiting"):
        known[lists] = vars(known[lists])["_by_queue"]
    return deepcopy(known)


# The logs of changes are among it: undoing is a change as well.
_LOGS = ("changes", "touched", "layout", "_layout", "moment")
_FOUND_ANEW = ("_ways_up", "_ways_found", "_charges")
_PARTS = ("_tree", "books", "_nodes", "_work", "_memory_books")
_MACHINERY = ("_journal", "_handlers", "axes", "_axes", *_PARTS, *_LOGS, *_FOUND_ANEW)


def a_team() -> ClusterState:
    return state_with(queue("root"), queue("team", "root"), node("n1"), workload("job", "team"))


def test_a_workload_counts_as_pending_all_the_way_up_until_it_starts() -> None:
    state = a_team()
    assert state.sums[TEAM].pending == state.sums[ROOT].pending == [1000, 1000]
    state.apply(started("job", "n1"))
    assert state.sums[ROOT].pending == [0, 0]
    assert state.sums[ROOT].allocated == [1000, 1000]
    assert state.requested(ROOT) == (1000, 1000)
    assert state.books.held("n1") == (1000, 1000)
    check_invariants(state)


def test_a_reservation_charges_the_queue_and_holds_nothing_on_the_node_yet() -> None:
    state = a_team()
    state.apply(WorkloadReserved(workload=JOB, placements=(Placement(POD, "n1"),), at_ms=5))
    use = state.books.use("n1")
    assert (use.held, use.reserved) == ([0, 0], [1000, 1000])
    assert state.sums[ROOT].allocated == [1000, 1000]
    assert state.runs[JOB].started_ms() is None
    assert state.waiting(TEAM) == []
    check_invariants(state)
    state.apply(WorkloadStopped(workload=JOB, pods=(POD,)))
    assert state.books.booked() == []
    assert state.waiting(TEAM) == [JOB]
    check_invariants(state)


def test_a_pod_that_shares_devices_is_counted_on_them_and_not_among_whole_ones() -> None:
    state = a_team()
    state.apply(WorkloadAdded(workload("half", "team", gpu=500)))
    half = DeviceShare(devices=(3,), part_e9=WHOLE_DEVICE_E9 // 2)
    place = (Placement(POD, "n1", half),)
    state.apply(WorkloadStarted(workload=WorkloadName("half"), placements=place, at_ms=0))
    use = state.books.use("n1")
    assert (use.held, use.devices) == ([1000, 0], {3: [500_000_000, 0, 0]})
    assert state.sums[TEAM].allocated == [1000, 500]
    state.apply(WorkloadLeaving(workload=WorkloadName("half"), pods=(POD,)))
    assert state.books.use("n1").devices == {3: [500_000_000, 500_000_000, 0]}
    check_invariants(state)


def test_a_displaced_pod_waits_again_while_its_node_stays_full() -> None:
    state = state_with(queue("team"), node("n1"), node("n2"), workload("job", "team"))
    state.apply(started("job", "n1"))
    state.apply(WorkloadDisplaced(workload=JOB, pods=(POD,)))
    use = state.books.use("n1")
    assert (use.held, use.leaving, use.pods) == ([1000, 1000], [1000, 1000], {})
    assert state.sums[TEAM].allocated == [0, 0]
    assert state.waiting(TEAM) == [JOB]
    state.apply(WorkloadReserved(workload=JOB, placements=(Placement(POD, "n2"),), at_ms=1))
    assert state.books.use("n1").held == [1000, 1000]
    assert state.books.use("n2").reserved == [1000, 1000]
    check_invariants(state)
    state.apply(WorkloadDeparted(workload=JOB, pods=(POD,)))
    assert state.books.booked() == ["n2"]
    check_invariants(state)


def test_a_displaced_pod_that_gets_its_node_again_has_not_left_it() -> None:
    state = a_team()
    state.apply(started("job", "n1"))
    state.apply(WorkloadDisplaced(workload=JOB, pods=(POD,)))
    state.apply(started("job", "n1"))
    use = state.books.use("n1")
    assert (use.held, use.leaving, use.departing) == ([1000, 1000], [0, 0], {})
    check_invariants(state)


def test_a_workload_waits_while_some_pod_of_it_has_no_place() -> None:
    state = state_with(queue("team"), node("n1"), workload("job", "team", pods=2))
    state.apply(started("job", "n1"))
    assert state.waiting(TEAM) == [JOB]
    place = (Placement(numbered_pod("main", 1), "n1"),)
    state.apply(WorkloadStarted(workload=JOB, placements=place, at_ms=0))
    assert state.waiting(TEAM) == []
    check_invariants(state)


def test_a_pod_told_to_stop_is_leaving_and_holds_its_node_until_it_stopped() -> None:
    state = a_team()
    state.apply(started("job", "n1"))
    state.apply(WorkloadLeaving(workload=JOB, pods=(POD,)))
    assert state.sums[ROOT].allocated == [0, 0]
    assert state.sums[ROOT].leaving == [1000, 1000]
    assert state.books.held("n1") == (1000, 1000)
    assert state.requested(ROOT) == (0, 0)
    check_invariants(state)
    state.apply(WorkloadStopped(workload=JOB, pods=(POD,)))
    assert state.sums[ROOT].leaving == [0, 0]
    assert state.books.held("n1") == (0, 0)
    assert state.requested(ROOT) == (1000, 1000)
    check_invariants(state)


@pytest.mark.parametrize("event", [WorkloadFinished(JOB), WorkloadRemoved(JOB)])
def test_a_workload_that_ends_leaves_nothing_behind(event: Event) -> None:
    state = a_team()
    state.apply(started("job", "n1"))
    state.apply(event)
    assert state.sums[ROOT].allocated == state.sums[ROOT].pending == [0, 0]
    assert not state.workloads
    assert not state.runs
    check_invariants(state)


def test_only_work_that_cannot_be_preempted_counts_as_such() -> None:
    state = state_with(queue("team"), workload("job", "team", preemptible=False))
    state.apply(started("job", "n1"))
    assert state.sums[TEAM].non_preemptible == [1000, 1000]
    check_invariants(state)


def test_work_held_back_by_its_owner_is_not_requested() -> None:
    state = state_with(queue("team"), workload("job", "team", active=False))
    assert state.requested(TEAM) == (0, 0)
    check_invariants(state)


def test_an_elastic_workload_starts_pod_by_pod() -> None:
    state = state_with(queue("team"), node("n1"), workload("job", "team", pods=3))
    state.apply(started("job", "n1", pods=2))
    assert state.sums[TEAM].allocated == [2000, 2000]
    assert state.sums[TEAM].pending == [1000, 1000]
    state.apply(WorkloadStopped(workload=JOB, pods=(POD,)))
    assert state.sums[TEAM].allocated == [1000, 1000]
    check_invariants(state)


def test_workloads_and_children_may_come_before_their_queue() -> None:
    state = state_with(workload("job", "team"), queue("team", "root"))
    state.apply(started("job", None))
    assert state.tree_order() == []
    state.apply(QueueChanged(queue("root")))
    assert state.tree_order() == [ROOT, TEAM]
    assert state.sums[ROOT].allocated == [1000, 1000]
    check_invariants(state)


def test_a_queue_that_moves_takes_its_sums_along() -> None:
    state = state_with(queue("root"), queue("other"), queue("team", "root"), workload("w", "team"))
    state.apply(QueueChanged(queue("team", "other")))
    assert state.sums[ROOT].pending == [0, 0]
    assert state.sums[QueueName("other")].pending == [1000, 1000]
    check_invariants(state)


def test_children_of_a_removed_queue_are_orphans_until_it_returns() -> None:
    state = a_team()
    state.apply(QueueRemoved(ROOT))
    assert state.tree_order() == []
    check_invariants(state)
    state.apply(QueueChanged(queue("root")))
    assert state.sums[ROOT].pending == [1000, 1000]
    check_invariants(state)


def test_a_workload_that_changes_keeps_running_and_moves_its_sums() -> None:
    state = state_with(queue("a"), queue("b"), node("n1"), workload("job", "a", pods=2))
    state.apply(started("job", "n1"))
    state.apply(WorkloadChanged(workload("job", "b", pods=3, cpu=500, preemptible=False)))
    assert state.sums[QueueName("a")].allocated == state.sums[QueueName("a")].pending == [0, 0]
    sums = state.sums[QueueName("b")]
    assert sums.allocated == sums.non_preemptible == [500, 1000]
    assert sums.pending == [1000, 2000]
    assert state.books.held("n1") == (500, 1000)
    check_invariants(state)


def test_a_workload_that_is_held_back_and_let_go() -> None:
    state = state_with(queue("team"), workload("job", "team"))
    state.apply(WorkloadChanged(workload("job", "team", active=False)))
    assert state.requested(TEAM) == (0, 0)
    state.apply(WorkloadChanged(workload("job", "team")))
    assert state.requested(TEAM) == (1000, 1000)
    check_invariants(state)


def test_each_pod_knows_when_it_started() -> None:
    state = state_with(queue("team"), workload("job", "team", pods=2))
    for at_ms, ordinal in ((5, 1), (9, 0)):
        place = (Placement(numbered_pod("main", ordinal), "n1"),)
        state.apply(WorkloadStarted(workload=JOB, placements=place, at_ms=at_ms))
    run = state.runs[JOB]
    assert [run.pods[numbered_pod("main", ordinal)].started_ms for ordinal in (0, 1)] == [9, 5]
    assert run.started_ms() == 5
    assert state.books.pods("n1") == [
        (JOB, numbered_pod("main", 0)),
        (JOB, numbered_pod("main", 1)),
    ]


def test_new_usage_replaces_the_old() -> None:
    state = a_team()
    state.apply(UsageChanged({TEAM: (1, 2)}))
    state.apply(UsageChanged({ROOT: (3, 4)}))
    assert state.usage == {ROOT: (3, 4)}


def test_capacity_counts_ready_nodes_only() -> None:
    state = state_with(node("n1"), node("n2", ready=False))
    assert state.capacity == [8000, 8000]
    state.apply(NodeChanged(node("n2", gpu=4000)))
    assert state.capacity == [16000, 12000]
    state.apply(NodeRemoved("n1"))
    assert state.capacity == [8000, 4000]
    check_invariants(state)


def test_a_lost_node_still_carries_its_pods_until_they_are_reported_stopped() -> None:
    state = a_team()
    state.apply(started("job", "n1"))
    state.apply(NodeRemoved("n1"))
    assert state.sums[TEAM].allocated == [1000, 1000]
    assert state.books.held("n1") == (1000, 1000)
    check_invariants(state)


def test_every_vendors_gpu_is_charged_to_the_gpu_axis() -> None:
    state = a_team()
    assert state.axes.charge(state.resources, (5, 7)) == (5, 7)
    assert state.axes.index("nvidia.com/gpu") == state.axes.index("gpu") == 1
    assert state.axes.index("ephemeral-storage") is None


TWICE = started("job", "n1")
SHORT = PodSet(name="main", count=1, min_count=1, requests=(1,))
TWINS = PodSet(name="main", count=1, min_count=1, requests=(1, 1))
REFUSED: dict[str, tuple[list[Event], Event, str]] = {
    "a workload added twice": ([], WorkloadAdded(workload("job", "team")), "job was added before"),
    "an unknown workload that starts": ([], started("ghost", "n1"), "ghost is not known"),
    "a pod started twice": ([TWICE], TWICE, "started twice"),
    "a pod that the workload does not have": ([], started("job", "n1", pods=2), "does not have"),
    "a pod that stops without running": (
        [],
        WorkloadStopped(workload=JOB, pods=(POD,)),
        "does not run",
    ),
    "a pod confirmed that is leaving": (
        [TWICE, WorkloadLeaving(workload=JOB, pods=(POD,))],
        WorkloadConfirmed(workload=JOB, pods=(POD,), at_ms=0),
        "has no place or leaves",
    ),
    "a pod that stays without having been told to leave": (
        [TWICE],
        WorkloadStays(workload=JOB, pods=(POD,)),
        "not leaving",
    ),
    "a pod evicted twice": (
        [TWICE, WorkloadLeaving(workload=JOB, pods=(POD,))],
        WorkloadLeaving(workload=JOB, pods=(POD,)),
        "evicted twice",
    ),
    "a start without a pod": ([], started("job", "n1", pods=0), "without a pod"),
    "flavors for other pod sets": (
        [],
        msgspec.structs.replace(started("job", "n1"), flavors=({}, {})),
        "flavors for each",
    ),
    "a workload that is short of a request": (
        [],
        WorkloadAdded(msgspec.structs.replace(workload("w", "team"), pod_sets=PodSets((SHORT,)))),
        "one request per resource",
    ),
    "a change of an unknown workload": ([], WorkloadChanged(workload("w", "team")), "not known"),
    "a workload with two pods of one id": (
        [],
        WorkloadAdded(
            msgspec.structs.replace(workload("w", "team"), pod_sets=PodSets((TWINS, TWINS)))
        ),
        "two pods with one id",
    ),
    "a node that is short of an amount": (
        [],
        NodeAdded(Node(name="n2", allocatable=(1,))),
        "one amount per resource",
    ),
    "a queue that is short of a weight": (
        [],
        QueueChanged(queue("q", axes=1)),
        "one entry per axis",
    ),
    "usage that is short of an axis": ([], UsageChanged({TEAM: (1,)}), "one entry per axis"),
    "a node added twice": ([], NodeAdded(node("n1")), "n1 was added before"),
    "an unknown node that changes": ([], NodeChanged(node("n9")), "n9 is not known"),
    "an unknown node that goes": ([], NodeRemoved("n9"), "n9 is not known"),
    "a queue below itself": ([], QueueChanged(queue("root", "root")), "its own ancestor"),
    "queues in a circle": ([], QueueChanged(queue("root", "team")), "its own ancestor"),
    "a circle closed by a queue that was only named before": (
        [QueueChanged(queue("a", "b"))],
        QueueChanged(queue("b", "a")),
        "its own ancestor",
    ),
    "an unknown queue that goes": ([], QueueRemoved(QueueName("ghost")), "ghost is not known"),
}


@pytest.mark.parametrize(("before", "event", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_contradiction_is_refused_and_changes_nothing(
    before: list[Event], event: Event, message: str
) -> None:
    state = a_team()
    for earlier in before:
        state.apply(earlier)
    known = facts(state)
    with pytest.raises(StateError, match=message):
        state.apply(event)
    assert facts(state) == known


def test_a_trial_leaves_no_trace_whatever_happens_in_it() -> None:
    state = a_team()
    known = facts(state)
    with state.trial():
        state.apply(started("job", "n1"))
        state.apply(QueueChanged(queue("late", "root")))
        state.apply(WorkloadAdded(workload("more", "late")))
        state.apply(NodeRemoved("n1"))
        state.apply(UsageChanged({TEAM: (1, 2)}))
        state.apply(CatalogueChanged(Catalogue(namespaces={"a": {}})))
        state.apply(QueueRemoved(ROOT))
        state.apply(WorkloadFinished(JOB))
        assert facts(state) != known
    assert facts(state) == known


def test_what_is_kept_inside_a_trial_is_still_undone_with_it() -> None:
    state = a_team()
    known = facts(state)
    outer = state.mark()
    inner = state.mark()
    state.apply(started("job", "n1"))
    state.keep(inner)
    assert state.runs
    state.roll_back(outer)
    assert facts(state) == known


def test_a_failed_trial_inside_another_undoes_only_itself() -> None:
    state = a_team()
    outer = state.mark()
    state.apply(WorkloadAdded(workload("second", "team")))
    with state.trial():
        state.apply(started("job", "n1"))
    assert "second" in state.workloads
    assert not state.runs
    state.keep(outer)
    assert "second" in state.workloads


def test_what_comes_after_a_queue_has_moved_counts_where_it_is_now() -> None:
    """First x below a, then both below b."""
    state = state_with(
        queue("a"), queue("b"), queue("q", "a"), node("n"), workload("x", "q"), workload("y", "q")
    )
    state.apply(started("x", "n"))
    assert allocated_gpus(state) == {"a": 1000, "b": 0, "q": 1000}
    state.apply(QueueChanged(queue("q", "b")))
    state.apply(started("y", "n"))
    assert allocated_gpus(state) == {"a": 0, "b": 2000, "q": 2000}
    check_invariants(state)


def allocated_gpus(state: ClusterState) -> dict[str, int]:
    return {str(name): sums.allocated[1] for name, sums in state.sums.items()}
