"""A job that has no turn says what is missing."""

import pytest

from fairlead.model.axes import WorkloadName
from fairlead.model.events import Placement, WorkloadLeaving, WorkloadStarted
from fairlead.model.plan import Tally, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodSet, PodSets, SubGroup, Workload, numbered_pod
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from tests.model.worlds import node, queue, state_with, workload

JOB = WorkloadName("job")
GATED = "have a scheduling gate"
GROUPS = (SubGroup(name="leader", min_member=1), SubGroup(name="workers", min_member=3))


def pods(count: int, *, gated: bool = False, sub_group: str = "") -> PodSet:
    name = f"{sub_group}{'gated' if gated else 'main'}"
    return PodSet(
        name=name,
        count=count,
        min_count=0,
        requests=(1000, 1000),
        gated=gated,
        sub_group=sub_group,
    )


def waiting(
    *sets: PodSet, minimum: int, sub_groups: tuple[SubGroup, ...] = (), active: bool = True
) -> ClusterState:
    job = Workload(
        name=JOB,
        queue=queue("team").name,
        pod_sets=PodSets(sets),
        min_count=minimum,
        active=active,
        extension=KaiJob(sub_groups=sub_groups),
    )
    return state_with(queue("team"), node("n1"), job)


def told(state: ClusterState) -> tuple[str, tuple[Tally, ...]]:
    (decision,) = KaiPolicy(KaiSettings()).plan(state, 0).decisions
    assert isinstance(decision, Wait)
    return decision.reason.code, decision.reason.tallies


def tally(count: int, of: int, things: str, what: str = "are there") -> Tally:
    return Tally(count=count, of=of, things=things, what=what)


@pytest.mark.parametrize(
    ("state", "code", "tallies"),
    [
        (
            waiting(pods(2), minimum=3),
            "NotReady",
            (tally(2, 3, "pods that the job needs"),),
        ),
        (
            waiting(pods(2), pods(2, gated=True), minimum=3),  # 2 + 2 are enough
            "SchedulingGated",
            (tally(2, 4, "pods", GATED),),
        ),
        (
            waiting(pods(1, gated=True), minimum=1),
            "SchedulingGated",
            (tally(1, 1, "pods", GATED),),
        ),
        (
            waiting(pods(1), pods(1, gated=True), minimum=3),  # 1 + 1 are not
            "NotReady",
            (tally(2, 3, "pods that the job needs"), tally(1, 2, "pods", GATED)),
        ),
        (
            waiting(
                pods(1, gated=True, sub_group="leader"),
                pods(2, sub_group="workers"),
                pods(1, gated=True, sub_group="workers"),
                minimum=4,
                sub_groups=GROUPS,
            ),
            "SchedulingGated",
            (tally(2, 4, "pods", GATED),),
        ),
        (
            waiting(
                pods(2, gated=True, sub_group="leader"),  # one too many is no worker
                pods(2, sub_group="workers"),
                minimum=4,
                sub_groups=GROUPS,
            ),
            "NotReady",
            (tally(2, 3, "pods that workers needs"), tally(2, 4, "pods", GATED)),
        ),
        (
            waiting(
                pods(4, sub_group="leader"),
                pods(2, sub_group="workers"),
                minimum=4,
                sub_groups=GROUPS,
            ),
            "NotReady",
            (tally(2, 3, "pods that workers needs"),),
        ),
        (waiting(pods(2), minimum=1, active=False), "Suspended", ()),
    ],
    ids=[
        "too few pods",
        "the rest has a gate",
        "its only pod has a gate",
        "too few even without gates",
        "gates in both sub-groups",
        "a gate in another sub-group than the one that is short",
        "a sub-group is short",
        "its owner holds it",
    ],
)
def test_a_job_without_a_turn_reports_what_is_missing(
    state: ClusterState, code: str, tallies: tuple[Tally, ...]
) -> None:
    assert told(state) == (code, tallies)


def test_a_job_with_only_gated_pods_pending_says_so() -> None:
    state = waiting(pods(1), pods(2, gated=True), minimum=1)
    place = (Placement(numbered_pod("main", 0), "n1"),)
    state.apply(WorkloadStarted(workload=JOB, placements=place, at_ms=0))
    assert told(state) == ("SchedulingGated", (tally(2, 3, "pods", GATED),))


def test_a_pod_that_is_leaving_is_not_there() -> None:
    state = waiting(pods(2), minimum=2)
    place = (Placement(numbered_pod("main", 0), "n1"),)
    state.apply(WorkloadStarted(workload=JOB, placements=place, at_ms=0))
    state.apply(WorkloadLeaving(workload=JOB, pods=(numbered_pod("main", 0),)))
    assert told(state) == ("NotReady", (tally(1, 2, "pods that the job needs"),))


def test_the_queue_that_is_missing_is_named_also_above_that_of_the_job() -> None:
    state = state_with(queue("team", "absent"), node("n1"), workload("job", "team"))
    (decision,) = KaiPolicy(KaiSettings()).plan(state, 0).decisions
    assert (decision.reason.code, decision.reason.queue) == ("QueueDoesNotExist", "absent")


def test_where_allocate_is_off_every_job_says_so() -> None:
    state = state_with(queue("team"), node("n1"), workload("job", "team"))
    (decision,) = KaiPolicy(KaiSettings(actions=("reclaim",))).plan(state, 0).decisions
    assert (decision.reason.code, decision.reason.queue) == ("AllocateIsOff", "team")
