"""Growing jobs have the position that asking their gangs anew gives, turn by turn."""

from collections.abc import Set

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadLeaving,
    WorkloadReserved,
    WorkloadStarted,
)
from fairlead.model.run import Run
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.kai.ordering import pending_jobs
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from tests.model.worlds import queue
from tests.policy.kai.jobs.test_gang import job
from tests.scale_examples import scale_examples

Q = QueueName("q")
GROUPS = ["-", "a=1,b=2", "a=1,b=-,c=0", "x/a=1,x/b=2,c=1", "x/a=1,x/c=1,b=2,y=1"]
SOME = ["-", "-", "top=1", "top=2", "x=1", "top=1,x=1"]

pod_rows = st.fixed_dictionaries(
    {
        "set": st.sampled_from(["m", "n"]),
        "group": st.sampled_from(["-", "a", "b", "c", "y", "-!"]),
        "order": st.sampled_from(["-", "1", "2"]),
        "pods": st.text("wwwrlp", min_size=1, max_size=4),
    }
)
facts = st.fixed_dictionaries(
    {
        "groups": st.sampled_from(GROUPS),
        "some": st.sampled_from(SOME),
        "minimum": st.sampled_from(["0", "1", "2", "3"]),
    }
)
given_jobs = st.lists(st.tuples(facts, st.lists(pod_rows, min_size=1, max_size=4)), max_size=4)
turns = st.lists(st.sampled_from(["start", "start", "start", "reserve", "drop"]), max_size=30)


def state_of(jobs: list[tuple[dict[str, str], list[dict[str, str]]]]) -> ClusterState:
    """Return the jobs, with some of their pods running, leaving or promised a place."""
    state = ClusterState(("cpu",), QuotaAxes([Axis("cpu")]))
    state.apply(QueueChanged(queue("q", axes=1)))
    for at, (about, sets) in enumerate(jobs):
        named = [row | {"set": f"{row['set']}{place}"} for place, row in enumerate(sets)]
        made = msgspec.structs.replace(job(about, named), name=WorkloadName(f"j{at}"))
        state.apply(WorkloadAdded(made))
        letters = [letter for row in sets for letter in row["pods"]]
        for pod, letter in zip(made.pods(), letters, strict=True):
            if letter != "w":
                put(state, made.name, pod, letter)
    return state


def put(state: ClusterState, name: WorkloadName, pod: PodId, letter: str) -> None:
    job_class = WorkloadReserved if letter == "p" else WorkloadStarted
    state.apply(job_class(workload=name, placements=(Placement(pod, None),), at_ms=0))
    if letter == "l":
        state.apply(WorkloadLeaving(workload=name, pods=(pod,)))


def anew(
    state: ClusterState, away: dict[WorkloadName, set[PodId]], let_go: set[WorkloadName]
) -> list[tuple[WorkloadName, tuple[PodId, ...]]]:
    """Return the jobs in their order with their next pods, from groups that remember nothing."""
    found: list[tuple[tuple[int, WorkloadName], tuple[PodId, ...]]] = []
    for name, workload in state.workloads.items():
        gang, run = Gang(workload), state.runs.get(name)
        pods = gang.next_pods(run, away.get(name, frozenset()))
        if pods and name not in let_go:
            found.append(((gang.fullness(run), name), pods))
    return [(name, pods) for (_, name), pods in sorted(found)]


def some_away(state: ClusterState, ordinals: set[int]) -> dict[WorkloadName, set[PodId]]:
    """Return pods that wait and may not start, because they were evicted just now."""

    def waits(workload: Workload, pod: PodId) -> bool:
        run = state.runs.get(workload.name)
        return workload.pod_sets.position[pod] in ordinals and (run is None or pod not in run.pods)

    return {
        name: {pod for pod in workload.pods() if waits(workload, pod)}
        for name, workload in state.workloads.items()
    }


# With a, the sub-group x has all it needs and goes before y by name: then c goes before b.
CHOICE_CHANGES = (
    {"groups": "x/a=1,x/c=1,b=2,y=1", "some": "top=1", "minimum": "1"},
    [
        {"set": f"m{group}", "group": group, "order": "-", "pods": pods}
        for group, pods in (("a", "w"), ("b", "ww"), ("c", "rw"), ("y", "rw"))
    ],
)


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(200))
@example([CHOICE_CHANGES], set(), ["start"] * 6)
@given(given_jobs, st.sets(st.integers(0, 3), max_size=1), turns)
def test_every_turn_is_that_of_asking_anew(
    jobs_and_pods: list[tuple[dict[str, str], list[dict[str, str]]]],
    ordinals: set[int],
    verbs: list[str],
) -> None:
    state = state_of(jobs_and_pods)
    away = some_away(state, ordinals)
    jobs = PendingJobs(state, None, evicted=away)
    jobs.add_queues({Q})
    let_go: set[WorkloadName] = set()
    for verb in verbs:
        expected = anew(state, away, let_go)
        first = jobs.first(Q)
        assert first == (expected[0][0] if expected else None)
        for name, pods in expected:
            assert jobs.next_pods(name) == pods
        if first is None:
            return
        if verb == "drop":
            let_go.add(first)
            jobs.drop_first(Q)
            continue
        for pod in jobs.next_pods(first):
            put(state, first, pod, "p" if verb == "reserve" else "r")
        jobs.renew_first(Q)


def test_a_job_of_many_pods_is_not_looked_at_anew_in_every_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 40 pods one is the minimum: after it all are looked at for the next, then no more."""
    row = {"set": "m", "group": "-", "order": "-", "pods": "w" * 40}
    about = {"groups": "-", "some": "-", "minimum": "1"}
    state = state_of([(about, [row])])
    asked: list[int] = []

    class CountingGang(Gang):
        """Notes how many pods have a place whenever it is asked who is next."""

        def next_pods(self, run: Run | None, away: Set[PodId] = frozenset()) -> tuple[PodId, ...]:
            asked.append(len(run.pods) if run else 0)
            return super().next_pods(run, away)

    name = WorkloadName("j0")
    monkeypatch.setattr(pending_jobs, "Gang", CountingGang)
    jobs = PendingJobs(state, None)
    jobs.add_queues({Q})
    started: list[PodId] = []
    while jobs.first(Q) is not None:
        pods = jobs.next_pods(name)
        started += pods
        for pod in pods:
            put(state, name, pod, "r")
        jobs.renew_first(Q)
    assert started == list(state.workloads[name].pods())
    assert asked == [1]
