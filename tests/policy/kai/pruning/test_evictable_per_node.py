"""Which jobs can be evicted on each node, and what they hold.

Jobs, with their nodes and GPUs:  queue a: *one* n1 2, *gang* n1 1 and n2 3.  queue b: *two* n2 4.
"""

from collections.abc import Mapping
from decimal import Decimal
from unittest import mock

from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.device_share import DeviceShare
from fairlead.model.events import (
    NodeAdded,
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.node import Node
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import GpuShare, KaiJob, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.kai.incremental.sources import IncrementalSources
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.pruning.evictable_per_node import EvictableOnNode, UsefulNodes
from fairlead.policy.kai.pruning.prefilter import BoundsPrefilter
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.candidates import OrderedCandidate
from fairlead.policy.kai.victims.solver import VictimSolver
from tests.policy.changes import changes_of
from tests.policy.kai.random_worlds import build

A, B = QueueName("a"), QueueName("b")


def whole_job(
    name: str, queue: QueueName, places: dict[str, int], share: GpuShare | None = None
) -> tuple[WorkloadAdded, WorkloadStarted]:
    """Return that a job comes, with a pod of so many GPUs on each node, and starts."""
    sets = tuple(
        PodSet(name=node, count=1, min_count=1, requests=(0, 0, 1000 * gpus), gpu_share=share)
        for node, gpus in places.items()
    )
    workload = Workload(
        name=WorkloadName(name),
        queue=queue,
        pod_sets=PodSets(sets),
        min_count=len(sets),
        priority=50,
        created_ms=0,
        extension=KaiJob(),
    )
    placements = tuple(Placement(numbered_pod(node, 0), node) for node in places)
    started = WorkloadStarted(workload=workload.name, placements=placements, at_ms=0)
    return WorkloadAdded(workload), started


def queue(name: QueueName) -> Queue:
    free = (None, None, None)
    return Queue(
        name=name,
        weights=(Decimal(1),) * 3,
        guaranteed=free,
        ceiling=free,
        borrow_limit=free,
        lend_limit=free,
    )


def node(name: str) -> Node:
    return Node(name=name, allocatable=(0, 0, 8000))


def two_nodes() -> ClusterState:
    return build(
        [
            *[QueueChanged(queue(name)) for name in (A, B)],
            *[NodeAdded(node(name)) for name in ("n1", "n2")],
            *whole_job("one", A, {"n1": 2}),
            *whole_job("gang", A, {"n1": 1, "n2": 3}),
            *whole_job("two", B, {"n2": 4}),
        ]
    )


def bounds_of(state: ClusterState) -> BoundsPrefilter:
    return BoundsPrefilter(IncrementalSources(state, KaiSettings()))


def lines_of(
    bounds: BoundsPrefilter, *queues: QueueName
) -> list[tuple[QueueName, list[OrderedCandidate]]]:
    return [(name, bounds.sources.candidates.of(name)) for name in queues]


def evictable_of(bounds: BoundsPrefilter, *queues: QueueName) -> Mapping[str, EvictableOnNode]:
    return bounds.per_node.of(lines_of(bounds, *queues))


def names(evictable: Mapping[str, EvictableOnNode]) -> dict[str, list[str]]:
    return {
        each: sorted(g.job for g in evictable_here.groups())
        for each, evictable_here in evictable.items()
    }


def test_evictable_on_a_node_are_all_jobs_with_a_pod_there() -> None:
    bounds = bounds_of(two_nodes())
    assert names(evictable_of(bounds, A)) == {"n1": ["gang", "one"], "n2": ["gang"]}
    assert names(evictable_of(bounds, A, B)) == {"n1": ["gang", "one"], "n2": ["gang", "two"]}


def test_a_job_is_evicted_with_all_its_pods() -> None:
    """Of n1: 2 + 1 there, and the other 3 of the gang on n2."""
    evictable_here = evictable_of(bounds_of(two_nodes()), A, B)["n1"]
    assert evictable_here.freed() == {"n1": (0, 0, 3000), "n2": (0, 0, 3000)}


def test_what_is_held_counts_on_whichever_node_it_is() -> None:
    """Who is on n1 holds 2 + 4, who is on n2 4 + 4; of queue a alone 2 + 4, and 4."""
    bounds = bounds_of(two_nodes())
    assert bounds.per_node.most_gpus(lines_of(bounds, A, B)) == 8000
    assert bounds.per_node.most_gpus(lines_of(bounds, A)) == 6000
    assert bounds.per_node.most_gpus([]) == 0


def test_evictable_jobs_are_those_of_now() -> None:
    state = two_nodes()
    bounds = bounds_of(state)
    evictable_of(bounds, A, B)
    with state.trial():
        state.apply(WorkloadStopped(workload=WorkloadName("two"), pods=(numbered_pod("n2", 0),)))
        assert names(evictable_of(bounds, A, B)) == {"n1": ["gang", "one"], "n2": ["gang"]}
        assert bounds.per_node.most_gpus(lines_of(bounds, A, B)) == 6000
    assert bounds.per_node.most_gpus(lines_of(bounds, A, B)) == 8000


def test_what_sharers_of_a_device_may_set_free_is_not_known() -> None:
    state = two_nodes()
    added, _ = whole_job("half", B, {"n1": 1}, GpuShare(thousandths=1000))
    state.apply(added)
    share = DeviceShare(devices=(0,), part_e9=10**9)
    place = Placement(numbered_pod("n1", 0), "n1", share)
    state.apply(WorkloadStarted(workload=WorkloadName("half"), placements=(place,), at_ms=0))
    bounds = bounds_of(state)
    assert bounds.per_node.most_gpus(lines_of(bounds, A)) == 6000
    assert bounds.per_node.most_gpus(lines_of(bounds, A, B)) is None


def test_a_node_is_asked_about_once() -> None:
    evictable = evictable_of(bounds_of(two_nodes()), A, B)
    asked: list[EvictableOnNode] = []

    def may_help(evictable_here: EvictableOnNode) -> bool:
        asked.append(evictable_here)
        return evictable_here is evictable["n2"]

    helpful = UsefulNodes(lambda: evictable, may_help)
    assert not helpful.is_any_of(["n1"])
    assert helpful.is_any()
    assert helpful.is_any_of(["n1", "n2"])
    assert sorted({name for name, _ in helpful.pods()}) == ["gang", "two"]
    assert asked == [evictable["n1"], evictable["n2"]]


def test_an_attempt_that_no_node_can_help_is_not_time_dependent() -> None:
    """Queue a may run for 200 s, and 100 have passed; but nobody gains 8 of a node from its 4.

    n1: gang 4, fixed 4.  n2: gang 4, fixed 4.  *big* of b wants 8 on one node and is due 8.
    """
    half = {"n1": 4, "n2": 4}
    fixed, starts = whole_job("fixed", A, half)
    wanted, _ = whole_job("big", B, {"n1": 8})
    nothing, due = (None, None, 0), (None, None, 8000)
    state = build(
        [
            QueueChanged(replace(queue(A), guaranteed=nothing, reclaim_min_runtime_ms=200_000)),
            QueueChanged(replace(queue(B), guaranteed=due)),
            *[NodeAdded(node(name)) for name in ("n1", "n2")],
            WorkloadAdded(replace(fixed.workload, preemptible=False)),
            starts,
            *whole_job("gang", A, half),
            WorkloadAdded(wanted.workload),
        ]
    )
    policy = KaiPolicy(KaiSettings(actions=("reclaim",)))
    run = mock.create_autospec(VictimSolver.run, side_effect=VictimSolver.run)
    with mock.patch.object(VictimSolver, "run", run):
        made = policy.plan(state, 100_000, explain=False)
        assert not made.decisions
    assert run.called
    assert not made.time_dependent


def test_a_job_that_fits_already_starts_in_a_reclaim_without_candidates() -> None:
    """Allocate looks at *big* alone, which wants 16 of 8 GPUs; *small* is due the one it wants."""
    due = queue(A)
    state = build([QueueChanged(due), NodeAdded(node("n1"))])
    for name, gpus in (("big", 16), ("small", 1)):
        comes, _ = whole_job(name, due.name, {"n1": gpus})
        state.apply(WorkloadAdded(comes.workload))
    chosen = KaiSettings(actions=("allocate", "reclaim"), queue_depth=(("allocate", 1),))
    assert [each.workload for each in changes_of(KaiPolicy(chosen), state, 0)] == ["small"]
