"""The job that a queue would run next, while jobs start, grow and are let go."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Placement, WorkloadAdded, WorkloadLeaving, WorkloadStarted
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.kai.jobs.alike import JobClass
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from tests.model.worlds import queue, state_with
from tests.text_table import rows

Q = QueueName("q")


def job(name: str, *, priority: int, age: int, pods: int, minimum: int, gated: int = 0) -> Workload:
    sets = [PodSet(name=name, count=pods, min_count=0, requests=(100, 1000))]
    if gated:
        sets.append(
            PodSet(name=f"{name}-gated", count=gated, min_count=0, requests=(1, 1), gated=True)
        )
    return Workload(
        name=WorkloadName(name),
        queue=Q,
        pod_sets=PodSets(sets),
        min_count=minimum,
        priority=priority,
        created_ms=age,
    )


def run(state: ClusterState, name: str, *ordinals: int) -> None:
    places = tuple(Placement(numbered_pod(name, ordinal), None) for ordinal in ordinals)
    state.apply(WorkloadStarted(workload=WorkloadName(name), placements=places, at_ms=0))


def order_of(jobs: PendingJobs) -> list[str]:
    found: list[str] = []
    while (name := jobs.first(Q)) is not None:
        found.append(name)
        jobs.drop_first(Q)
    return found


# runs: how many of the pods run already. place: who is served first, - if the job is not ready.
ORDERS = {
    "the higher priority first, whatever else": """
        job  priority  age  pods  minimum  runs  place
        a    50        0    1     1        0     2
        b    75        9    2     1        1     1
    """,
    "then who is below its minimum before who is at it, then who is above it": """
        job  priority  age  pods  minimum  runs  place
        a    50        0    4     2        3     3
        b    50        1    4     2        2     2
        c    50        2    4     2        0     1
    """,
    "then the older one, then the name": """
        job  priority  age  pods  minimum  runs  place
        c    50        2    1     1        0     3
        b    50        1    1     1        0     2
        a    50        1    1     1        0     1
    """,
    "a job with fewer pods than its minimum is not ready": """
        job  priority  age  pods  minimum  runs  place
        a    90        0    2     3        0     -
        b    50        0    3     3        0     1
    """,
}


@pytest.mark.parametrize("table", ORDERS.values(), ids=ORDERS.keys())
def test_the_order_inside_a_queue(table: str) -> None:
    state = state_with(queue("q"))
    for row in rows(table):
        facts = {name: int(row[name]) for name in ("priority", "age", "pods", "minimum")}
        state.apply(WorkloadAdded(job(row["job"], **facts)))
        if int(row["runs"]):
            run(state, row["job"], *range(int(row["runs"])))
    jobs = PendingJobs(state, None)
    jobs.add_queues({Q})
    ready = [row for row in rows(table) if row["place"] != "-"]
    assert sorted(jobs.unready) == [row["job"] for row in rows(table) if row["place"] == "-"]
    assert order_of(jobs) == [
        row["job"] for row in sorted(ready, key=lambda row: int(row["place"]))
    ]


@pytest.mark.parametrize(
    ("depth", "taken", "beyond"),
    [(None, "cab", ""), (3, "cab", ""), (2, "ca", "b"), (0, "", "cab")],
)
def test_no_more_jobs_than_the_depth_are_taken(depth: int | None, taken: str, beyond: str) -> None:
    """In the order c, a, b; d is not ready and takes no place."""
    state = state_with(queue("q"))
    for name, priority, pods in (("a", 50, 2), ("b", 50, 2), ("c", 60, 2), ("d", 99, 1)):
        state.apply(WorkloadAdded(job(name, priority=priority, age=0, pods=pods, minimum=2)))
    jobs = PendingJobs(state, depth)
    jobs.add_queues({Q})
    assert jobs.beyond_depth == list(beyond)
    assert jobs.unready == ["d"]
    assert order_of(jobs) == list(taken)


def test_a_job_that_got_its_minimum_goes_behind_those_that_lack_theirs() -> None:
    state = state_with(queue("q"))
    for name in "ab":
        state.apply(WorkloadAdded(job(name, priority=50, age=0, pods=3, minimum=2)))
    jobs = PendingJobs(state, None)
    jobs.add_queues({Q})
    assert jobs.first(Q) == "a"
    assert jobs.request(WorkloadName("a")) == (200, 2000)  # 2 pods of 100 millicores and 1 device
    run(state, "a", 0, 1)
    jobs.renew_first(Q)
    assert jobs.first(Q) == "b"
    run(state, "b", 0, 1)
    jobs.renew_first(Q)
    assert jobs.first(Q) == "a"
    assert jobs.next_pods(WorkloadName("a")) == (numbered_pod("a", 2),)
    assert jobs.request(WorkloadName("a")) == (100, 1000)
    run(state, "a", 2)
    jobs.renew_first(Q)  # it has all it wants
    assert order_of(jobs) == ["b"]


def test_an_inactive_job_and_one_whose_pods_are_held_back_are_not_ready() -> None:
    state = state_with(queue("q"))
    held = job("held", priority=50, age=0, pods=1, minimum=2, gated=1)
    asleep = Workload(
        name=WorkloadName("asleep"), queue=Q, pod_sets=held.pod_sets, min_count=1, active=False
    )
    leaving = job("leaving", priority=50, age=0, pods=2, minimum=2)
    for each in (held, asleep, leaving):
        state.apply(WorkloadAdded(each))
    run(state, "leaving", 0)
    state.apply(WorkloadLeaving(workload=leaving.name, pods=(numbered_pod("leaving", 0),)))
    jobs = PendingJobs(state, None)
    jobs.add_queues({Q})
    assert jobs.unready == ["asleep", "held", "leaving"]
    assert jobs.first(Q) is None


facts = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 3), st.integers(1, 3))


@given(st.lists(facts, max_size=5), st.lists(st.booleans(), max_size=12))
def test_the_first_is_always_that_of_sorting_anew(
    given_jobs: list[tuple[int, int, int, int]], starts: list[bool]
) -> None:
    """Turn by turn the first job either gets its next pods or is let go."""
    state = state_with(queue("q"))
    for at, (priority, age, pods, minimum) in enumerate(given_jobs):
        fresh = job(f"j{at}", priority=priority, age=age, pods=pods, minimum=minimum)
        state.apply(WorkloadAdded(fresh))
    jobs = PendingJobs(state, None)
    jobs.add_queues({Q})
    let_go: set[str] = set()
    for is_started in starts:
        expected = sorted_anew(state, let_go)
        first = jobs.first(Q)
        assert first == (expected[0] if expected else None)
        if first is None:
            return
        assert names_by_class(jobs) == grouped(expected, jobs.job_class)
        if is_started:
            started = jobs.next_pods(first)
            assert jobs.request(first) == (100 * len(started), 1000 * len(started))
            run(state, first, *map(state.workloads[first].pods().index, started))
            jobs.renew_first(Q)
        else:
            let_go.add(first)
            jobs.drop_first(Q)


def test_a_job_that_started_in_its_turn_is_dropped_from_the_class_that_it_had() -> None:
    """Some of its pods were evicted, so that its next pods are not those of its queue."""
    state = state_with(queue("q"), *[job(n, priority=50, age=0, pods=2, minimum=1) for n in "ab"])
    away = {WorkloadName("a"): {numbered_pod("a", 1)}}
    jobs = PendingJobs(state, None, evicted=away)
    jobs.add_queues({Q: None}.keys())
    before = names_by_class(jobs)
    assert [*before.values()] == [["a", "b"]]
    run(state, "a", 0)
    jobs.drop_first(Q)
    assert [*names_by_class(jobs).values()] == [["b"]]


def names_by_class(jobs: PendingJobs) -> dict[JobClass, list[WorkloadName]]:
    return {each: [key[-1] for key in keys] for each, keys in jobs.classes_of(Q).items()}


def grouped(
    names: list[WorkloadName], class_of: Callable[[WorkloadName], JobClass]
) -> dict[JobClass, list[WorkloadName]]:
    found: dict[JobClass, list[WorkloadName]] = {}
    for name in names:
        found.setdefault(class_of(name), []).append(name)
    return found


def sorted_anew(state: ClusterState, let_go: set[str]) -> list[WorkloadName]:
    """Return the jobs that can start something, worked out from how many of their pods run."""
    found: list[tuple[int, int, int, WorkloadName]] = []
    for name, each in state.workloads.items():
        run = state.runs.get(name)
        running = len(run.pods) if run else 0
        pods = each.pod_count()
        if name in let_go or running == pods or pods < each.min_count:
            continue
        against_minimum = (running > each.min_count) - (running < each.min_count)
        found.append((-each.priority, against_minimum, each.created_ms, name))
    return [each[-1] for each in sorted(found)]
