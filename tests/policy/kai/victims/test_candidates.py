"""The candidates of a queue, kept while the state changes."""

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    Event,
    Placement,
    WorkloadAdded,
    WorkloadDisplaced,
    WorkloadFinished,
    WorkloadLeaving,
    WorkloadReserved,
    WorkloadStarted,
)
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.kai.incremental.sources import IncrementalCandidates
from fairlead.policy.kai.jobs.cycle_record import CycleRecord
from fairlead.policy.kai.victims.candidates import EligibleCandidates
from tests.policy.kai.random_worlds import build

LEAF = QueueName("leaf")


def running(name: str, *nodes: str, preemptible: bool = True, minimum: int = 1) -> list[Event]:
    """A job of one-GPU pods, one on each of *nodes*."""
    pods = PodSet(name=name, count=len(nodes), min_count=0, requests=(0, 0, 1000))
    job = Workload(
        name=WorkloadName(name),
        queue=LEAF,
        pod_sets=PodSets((pods,)),
        min_count=minimum,
        priority=50,
        preemptible=preemptible,
        created_ms=0,
        extension=KaiJob(),
    )
    places = tuple([Placement(numbered_pod(name, at), node) for at, node in enumerate(nodes)])
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


def a_pool(state: ClusterState) -> IncrementalCandidates:
    return IncrementalCandidates(state)


def line(pool: IncrementalCandidates | EligibleCandidates) -> list[str]:
    """Each job with the nodes of its pods, in the order of service."""
    return [
        " ".join([candidate.job, *[str(candidate.nodes[pod]) for pod in candidate.pods]])
        for _, candidate in pool.of(LEAF)
    ]


def test_a_job_with_a_pod_to_spare_is_served_last() -> None:
    assert line(a_pool(small_world())) == ["gang n0 n1", "pair n0 n1"]


def test_a_line_follows_the_state_and_its_undoing() -> None:
    """Without its second pod *pair* is at its minimum like *gang*, and comes after it by name."""
    state = small_world()
    pool = a_pool(state)
    first = pool.of(LEAF)
    assert pool.of(LEAF) is first
    with state.trial():
        state.apply(
            WorkloadDisplaced(workload=WorkloadName("pair"), pods=(numbered_pod("pair", 1),))
        )
        assert line(pool) == ["gang n0 n1", "pair n0"]
        place = (Placement(numbered_pod("pair", 1), "n2"),)
        state.apply(WorkloadReserved(workload=WorkloadName("pair"), placements=place, at_ms=1))
        assert line(pool) == ["gang n0 n1", "pair n0 n2"]
    assert pool.of(LEAF) == first


def test_a_line_stays_the_same_list_when_a_trial_is_undone_unseen() -> None:
    state = small_world()
    pool = a_pool(state)
    first = pool.of(LEAF)
    with state.trial():
        state.apply(WorkloadFinished(WorkloadName("pair")))
        for event in running("new", "n2"):
            state.apply(event)
    assert pool.of(LEAF) is first


def test_a_departed_job_is_no_candidate_and_no_lowest_priority() -> None:
    state = small_world()
    pool = a_pool(state)
    assert (line(pool), pool.lowest_priority(LEAF)) == (["gang n0 n1", "pair n0 n1"], 50)
    for name in ("gang", "pair"):
        state.apply(WorkloadFinished(WorkloadName(name)))
    assert (line(pool), pool.lowest_priority(LEAF)) == ([], None)


def test_a_terminating_job_is_no_candidate() -> None:
    state = small_world()
    pool = a_pool(state)
    state.apply(
        WorkloadLeaving(
            workload=WorkloadName("gang"), pods=(numbered_pod("gang", 0), numbered_pod("gang", 1))
        )
    )
    assert line(pool) == ["pair n0 n1"]


def test_a_spared_job_or_one_with_a_new_place_is_not_eligible_in_this_cycle() -> None:
    """Of a job not the other pods either: one alone is no pair."""
    state = small_world()
    record = CycleRecord(state)
    spared = {(WorkloadName("pair"), numbered_pod("pair", 0))}
    pool = EligibleCandidates(a_pool(state), state, record, spared, includes_settled=False)
    assert line(pool) == ["gang n0 n1"]
    assert pool.settled == {WorkloadName("pair")}
    record.touch(WorkloadName("gang"))
    assert line(pool) == ["gang n0 n1"]
    state.apply(WorkloadDisplaced(workload=WorkloadName("gang"), pods=(numbered_pod("gang", 1),)))
    place = (Placement(numbered_pod("gang", 1), "n2"),)
    state.apply(WorkloadReserved(workload=WorkloadName("gang"), placements=place, at_ms=1))
    assert line(pool) == []
    assert line(
        EligibleCandidates(a_pool(state), state, record, spared, includes_settled=True)
    ) == [
        "gang n0 n2",
        "pair n0 n1",
    ]
