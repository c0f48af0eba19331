"""The line of those who may be asked to give way, kept while the state changes."""

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    Event,
    Placement,
    WorkloadAdded,
    WorkloadDisplaced,
    WorkloadLeaving,
    WorkloadReserved,
    WorkloadStarted,
)
from fairlead.model.node_books import PodKey
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodId, PodSet, Workload
from fairlead.policy.kai.gang import Gang
from fairlead.policy.kai.victim_pool import VictimPool
from tests.policy.kai.random_worlds import build

LEAF = QueueName("leaf")


def running(name: str, *nodes: str, preemptible: bool = True, minimum: int = 1) -> list[Event]:
    """A job of one-GPU pods, one on each of *nodes*."""
    pods = PodSet(name=name, count=len(nodes), min_count=0, requests=(0, 0, 1000))
    job = Workload(
        name=WorkloadName(name),
        queue=LEAF,
        pod_sets=(pods,),
        min_count=minimum,
        priority=50,
        preemptible=preemptible,
        created_ms=0,
        extension=KaiJob(),
    )
    places = tuple([Placement(PodId(0, at), node) for at, node in enumerate(nodes)])
    return [WorkloadAdded(job), WorkloadStarted(workload=job.name, placements=places, at_ms=0)]


def small_world() -> ClusterState:
    """*gang* needs both of its pods, *pair* one of two; *fixed* may not be asked."""
    return build(
        [
            *running("gang", "n0", "n1", minimum=2),
            *running("pair", "n0", "n1"),
            *running("fixed", "n0", preemptible=False),
        ]
    )


def a_pool(state: ClusterState, settled: set[PodKey] | None = None) -> VictimPool:
    gangs = {name: Gang(job) for name, job in state.workloads.items()}
    return VictimPool(state, gangs.__getitem__, None if settled is None else settled.__contains__)


def line(pool: VictimPool) -> list[str]:
    """Each job with the nodes of its pods, in the order of service."""
    return [
        " ".join([candidate.job, *[str(candidate.nodes[pod]) for pod in candidate.pods]])
        for _, candidate in pool.line(LEAF)
    ]


def test_who_has_a_pod_to_spare_is_served_last() -> None:
    assert line(a_pool(small_world())) == ["gang n0 n1", "pair n0 n1"]


def test_a_line_follows_the_state_when_it_is_told_to() -> None:
    """Without its second pod *pair* is at its minimum like *gang*, and comes after it by name."""
    state = small_world()
    pool = a_pool(state)
    first = pool.line(LEAF)
    with state.trial():
        state.apply(WorkloadDisplaced(workload=WorkloadName("pair"), pods=(PodId(0, 1),)))
        assert pool.line(LEAF) is first
        pool.forget(LEAF)
        assert line(pool) == ["gang n0 n1", "pair n0"]
        place = (Placement(PodId(0, 1), "n2"),)
        state.apply(WorkloadReserved(workload=WorkloadName("pair"), placements=place, at_ms=1))
        pool.forget(LEAF)
        assert line(pool) == ["gang n0 n1", "pair n0 n2"]
    pool.forget(LEAF)
    assert pool.line(LEAF) == first


def test_who_is_leaving_or_settled_is_not_asked() -> None:
    state = small_world()
    pool = a_pool(state, settled={(WorkloadName("pair"), PodId(0, 0))})
    assert line(pool) == ["gang n0 n1"]  # of pair not the other pod either: one alone is no pair
    assert pool.settled == {WorkloadName("pair")}
    state.apply(WorkloadLeaving(workload=WorkloadName("gang"), pods=(PodId(0, 0), PodId(0, 1))))
    pool.forget(LEAF)
    assert line(pool) == []
