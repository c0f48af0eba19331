"""Room of a terminating pod of another scheduler is reserved, and used once it is gone."""

import pytest
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import ForeignPodChanged, ForeignPodRemoved, WorkloadLeaving
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.plan import Decision, Evict, Reserve, Start, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodSet, PodSets, numbered_pod
from fairlead.policy.kai.incremental.sources import IncrementalSources
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.model.foreign import foreign_pod
from tests.model.invariants import check_invariants
from tests.model.test_state import facts
from tests.model.worlds import node, queue, started, state_with, workload
from tests.policy.changes import changes_of
from tests.text_table import rows

JOB = WorkloadName("job")
POD = numbered_pod("main", 0)
WEB = PodConstraints(host_ports=(("TCP", 80),))

# Of the 8 GPUs of a node, foreign pods hold some and stay, or hold some and are being deleted.
# Another job of the queue holds some, or was told to leave them. The job asks for so many.
# Idle are 8 - stay - go - runs - leaves, and later 8 - stay - runs.
ROOMS = """
    stay  go  runs  leaves  asks  decision  now  later
    0     8   0     0       8     reserve   0    8
    2     6   0     0       6     reserve   0    6
    2     6   0     0       7     wait      0    6
    8     0   0     0       1     wait      0    0
    0     4   0     0       4     start     4    8
    0     4   0     0       5     reserve   4    8
    2     2   2     0       4     reserve   2    4
    2     2   2     0       2     start     2    4
    2     2   0     4       6     reserve   0    6
    2     2   4     0       3     wait      0    2
"""


def world(row: dict[str, str]) -> ClusterState:
    gpus = {name: 1000 * int(row[name]) for name in ("stay", "go", "runs", "leaves", "asks")}
    running = [name for name in ("runs", "leaves") if gpus[name]]
    jobs = [workload(name, "team", gpu=gpus[name]) for name in running]
    asking = workload("job", "team", gpu=gpus["asks"])
    state = state_with(queue("team"), node("n1"), *jobs, asking)
    for name in ("stay", "go"):
        if gpus[name]:
            pod = foreign_pod(f"x/{name}", "n1", (0, gpus[name]), leaving=name == "go")
            state.apply(ForeignPodChanged(pod))
    for name in running:
        state.apply(started(name, "n1"))
    if "leaves" in running:
        state.apply(WorkloadLeaving(workload=WorkloadName("leaves"), pods=(POD,)))
    check_invariants(state)
    return state


def decided(state: ClusterState, settings: KaiSettings) -> Decision:
    """Return what a plan decides about the job; the plan leaves the state as it was."""
    before = facts(state)
    (found,) = [
        each for each in KaiPolicy(settings).plan(state, 0).decisions if each.workload == JOB
    ]
    assert facts(state) == before
    return found


@pytest.mark.parametrize("faithful", [True, False])
@pytest.mark.parametrize("row", rows(ROOMS), ids=lambda row: " ".join(row.values()))
def test_what_foreign_pods_release_is_room_for_later(row: dict[str, str], faithful: bool) -> None:
    state = world(row)
    found = decided(state, KaiSettings(faithful=faithful))
    assert type(found).__name__.lower() == row["decision"]
    rooms = IncrementalSources(state, KaiSettings()).finder.rooms()["n1"]
    assert (rooms.idle[1], rooms.later[1]) == (1000 * int(row["now"]), 1000 * int(row["later"]))
    if isinstance(found, Reserve):
        assert found.waits_for == (("leaves",) if int(row["leaves"]) else ())
        assert found.waits_for_foreign == (("x/go",) if int(row["go"]) else ())


def test_the_job_starts_when_the_foreign_pod_is_gone() -> None:
    """Of 8 GPUs 6 are released: 8 - 2 - 6 = 0 are idle, and 6 in the next cycle."""
    state = world({"stay": "2", "go": "6", "runs": "0", "leaves": "0", "asks": "6"})
    first = KaiPolicy(KaiSettings()).plan(state, 0)
    assert carry_out(state, first.decisions, 0, keeps_reservations=False)
    check_invariants(state)
    assert list(state.books.foreign) == ["x/stay"]
    assert isinstance(decided(state, KaiSettings()), Start)


def test_no_victim_is_asked_for_room_that_a_foreign_pod_releases() -> None:
    """The job may reclaim 4 GPUs from the other queue, but as many are being released."""
    jobs = [workload("victim", "other", gpu=4000), workload("job", "team", gpu=4000)]
    due = replace(queue("team"), guaranteed=(None, 8000))
    state = state_with(due, queue("other"), node("n1"), *jobs)
    state.apply(started("victim", "n1"))
    pod = foreign_pod("x/old", "n1", (0, 4000))
    state.apply(ForeignPodChanged(pod))
    stays = KaiPolicy(KaiSettings()).plan(state, 0).decisions
    assert [type(each) for each in stays] == [Evict, Reserve]
    state.apply(ForeignPodChanged(replace(pod, leaving=True)))
    goes = KaiPolicy(KaiSettings()).plan(state, 0).decisions
    assert [type(each) for each in goes] == [Reserve]
    assert isinstance(goes[0], Reserve)
    assert (goes[0].waits_for, goes[0].waits_for_foreign) == ((), ("x/old",))


def test_what_a_foreign_pod_releases_is_promised_once() -> None:
    """Of two jobs that ask for 5 of the 8 GPUs that are released, one waits: 8 - 5 < 5."""
    jobs = [workload(name, "team", gpu=5000) for name in ("a", "b")]
    state = state_with(queue("team"), node("n1"), *jobs)
    state.apply(ForeignPodChanged(foreign_pod("x/old", "n1", (0, 8000), leaving=True)))
    plan = KaiPolicy(KaiSettings()).plan(state, 0)
    assert [(each.workload, type(each)) for each in plan.decisions] == [("a", Reserve), ("b", Wait)]


def test_a_port_that_a_foreign_pod_frees_is_seen_by_a_policy_that_planned_before() -> None:
    """It holds nothing else, so that the room of its node is the same with and without it."""
    asks = PodSet(name="main", count=1, min_count=1, requests=(0, 1000), constraints=WEB)
    job = replace(workload("job", "team"), pod_sets=PodSets((asks,)))
    state = state_with(queue("team"), node("n1"), job)
    pod = foreign_pod("x/web", "n1", (0, 0), asked_about=True)
    state.apply(ForeignPodChanged(replace(pod, host_ports=WEB.host_ports)))
    policy = KaiPolicy(KaiSettings())
    assert [type(each) for each in policy.plan(state, 0).decisions] == [Wait]
    assert changes_of(policy, state, 0) == []
    state.apply(ForeignPodRemoved(pod.id))
    assert [type(each) for each in changes_of(policy, state, 0)] == [Start]
