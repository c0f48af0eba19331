"""Two plans compared job by job: what differs, what does not, and how each side is told."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.explain.plan.diff import PlanChange, Planned, plan_changes, plan_changes_document
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import Placement, QueueChanged, WorkloadAdded, WorkloadLeaving
from fairlead.model.plan import Decision, Evict, Move, Plan, Reason, Reserve, Start, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, PodSets, Workload, numbered_pod
from tests.model.worlds import node, queue, started, state_with, workload

TEAM = QueueName("team")
WITHIN = Reason(code="WithinQuota", queue=TEAM)
PODS = 4


def places(count: int, on: str | None = "n1", first: int = 0) -> tuple[Placement, ...]:
    return tuple(Placement(numbered_pod("main", at), on) for at in range(first, first + count))


def decision(text: str, job: str = "job") -> Decision:
    """Read ``start 2 n1``, ``evict 1 for x``, ``wait``: what, for how many pods, where or for whom.

    Pods are taken from the first on; where the text ends in ``+2``, from the third on.
    """
    what, *words = text.split()
    name = WorkloadName(job)
    first = int(words.pop()[1:]) if words and words[-1].startswith("+") else 0
    count = int(words[0]) if words else 0
    on = words[-1] if len(words) > 1 else "n1"
    there = places(count, on, first)
    beneficiary = WorkloadName(words[2]) if "for" in words else None
    match what:
        case "start":
            return Start(workload=name, placements=there, charged=(TEAM,), reason=WITHIN)
        case "reserve":
            return Reserve(
                workload=name, placements=there, charged=(TEAM,), waits_for=(), reason=WITHIN
            )
        case "evict":
            pods = tuple(place.pod for place in there)
            return Evict(workload=name, pods=pods, beneficiary=beneficiary, reason=WITHIN)
        case "move":
            return Move(
                workload=name,
                origins=places(count),
                placements=there,
                beneficiary=beneficiary,
                reason=WITHIN,
            )
        case _:
            return Wait(workload=name, reason=WITHIN)


def planned(*texts: str, state: ClusterState | None = None) -> Planned:
    """A job with four pods that all run (so that each of them may leave), and what is decided."""
    if state is None:
        state = state_with(queue("team"), node("n1"), workload("job", "team", pods=PODS))
        state.apply(started("job", "n1", PODS))
    return Planned(state, Plan(taken_ms=0, decisions=tuple(map(decision, texts))))


# decisions before / after -> the two outcomes; none: there is no difference
PAIRS = {
    "evicted only after": ("", "evict 4 for x", "keep -> evict 4/4"),
    "no longer evicted": ("evict 4 for x", "", "evict 4/4 -> keep"),
    "fewer pods of it are evicted": ("evict 4", "evict 1", "evict 4/4 -> evict 1/4"),
    "evicted for another one": ("evict 4 for x", "evict 4 for y", None),
    "evicted for two, as many pods": ("evict 2 for x", "evict 1 for x; evict 1 for y +1", None),
    "what waits starts": ("wait", "start 4", "wait -> start 4/4"),
    "part of it waits": ("start 4", "start 3; wait", "start 4/4 -> start 3/4, wait"),
    "started in turns": ("start 2; start 2 n1 +2", "start 4", None),
    "on another node": ("start 4 n1", "start 4 n2", None),
    "only reserved": ("start 4", "reserve 4", "start 4/4 -> reserve 4/4"),
    "moved": ("", "move 1 n2", "keep -> move 1/4"),
    "waits in both": ("wait", "wait", None),
}


@pytest.mark.parametrize(("before", "after", "expected"), PAIRS.values(), ids=PAIRS.keys())
def test_what_is_a_difference_and_how_it_is_told(
    before: str, after: str, expected: str | None
) -> None:
    def side(text: str) -> Planned:
        return planned(*filter(None, text.split("; ")))

    changes = plan_changes(side(before), side(after))
    told = [f"{each.before.outcome} -> {each.after.outcome}" for each in changes]
    assert told == ([] if expected is None else [expected])


def test_a_job_without_decision_keeps_its_place_leaves_or_is_not_looked_at() -> None:
    absent = state_with(queue("team"), node("n1"))
    pending, keeps, leaves = (
        state_with(queue("team"), node("n1"), workload("job", "team")) for _ in range(3)
    )
    for state in (keeps, leaves):
        state.apply(started("job", "n1"))
    leaves.apply(WorkloadLeaving(workload=WorkloadName("job"), pods=(numbered_pod("main", 0),)))
    after = planned("evict 1", state=keeps)
    for state, word in ((absent, "absent"), (pending, "pending"), (keeps, "keep")):
        (change,) = plan_changes(planned(state=state), after)
        assert (change.before.outcome, change.after.outcome) == (word, "evict")
        assert change.queue == "team"
    (change,) = plan_changes(planned(state=leaves), after)
    assert change.before.outcome == "leave"
    assert plan_changes(planned(state=absent), planned(state=keeps)) == []  # nothing is decided


def test_the_queue_is_that_of_the_new_side_and_where_it_is_gone_of_the_old_one() -> None:
    def state(*jobs: Workload) -> ClusterState:
        return state_with(queue("old"), queue("new"), node("n1"), *jobs)

    here = planned("wait", state=state(workload("job", "old")))
    there = planned("start 1", state=state(workload("job", "new")))
    gone = planned(state=state())
    assert [each.queue for each in plan_changes(here, there)] == ["new"]
    assert [each.queue for each in plan_changes(here, gone)] == ["old"]


FLAVORED = QuotaAxes([Axis("gpu", "spot"), Axis("gpu", "owned")])


def test_another_flavor_is_a_difference() -> None:
    job = Workload(
        name=WorkloadName("job"),
        queue=TEAM,
        pod_sets=PodSets((PodSet(name="main", count=2, min_count=2, requests=(1000,)),)),
        min_count=2,
    )
    state = ClusterState(("gpu",), FLAVORED)
    state.apply(QueueChanged(queue("team", axes=2)))
    state.apply(WorkloadAdded(job))

    def on(flavor: str) -> Planned:
        decision = Start(
            workload=job.name,
            placements=places(2, None),
            flavors=({"gpu": flavor},),
            charged=(TEAM,),
            reason=WITHIN,
        )
        return Planned(state, Plan(taken_ms=0, decisions=(decision,)))

    assert plan_changes(on("spot"), on("spot")) == []
    (change,) = plan_changes(on("spot"), on("owned"))
    assert change.before.outcome == "start 2/2 on spot"
    assert change.after.outcome == "start 2/2 on owned"
    assert change.after.kinds() == "start"


def test_a_row_for_each_that_pods_are_given_up_for() -> None:
    (change,) = plan_changes(planned(), planned("evict 1 for x", "evict 2 for y +1", "wait"))
    assert change.after.outcome == "evict 3/4, wait"
    assert change.after.kinds() == "evict+wait"
    why = "within the quota of team"
    assert [(row.pods, row.where, row.why) for row in change.after.rows] == [
        ("1/4", "n1", f"for x: {why}"),
        ("2/4", "n1 x2", f"for y: {why}"),
        ("", "", why),
    ]


def test_programs_get_the_decisions_of_both_sides() -> None:
    sides = planned(), planned("evict 4 for x")
    (document,) = plan_changes_document(*sides, plan_changes(*sides))
    assert isinstance(document, dict)
    assert (document["workload"], document["queue"]) == ("job", "team")
    assert document["old"] == {"outcome": "keep", "decisions": []}
    assert document["new"]["outcome"] == "evict 4/4"
    (decided,) = document["new"]["decisions"]
    assert (decided["decision"], decided["beneficiary"]) == ("evict", "x")
    assert decided["reason"]["code"] == "WithinQuota"


jobs = st.sampled_from(["a", "b", "c"])
what = st.sampled_from(["start 1", "reserve 1", "evict 1", "wait"])
plans = st.lists(st.tuples(jobs, what), max_size=6)


def in_world(decided: Sequence[tuple[str, str]]) -> Planned:
    state = state_with(queue("team"), node("n1"), *(workload(each, "team") for each in "abc"))
    for each in "abc":
        state.apply(started(each, "n1"))
    return Planned(
        state, Plan(taken_ms=0, decisions=tuple(decision(text, job) for job, text in decided))
    )


def sides(changes: Sequence[PlanChange]) -> dict[str, tuple[str, str]]:
    return {each.workload: (each.before.outcome, each.after.outcome) for each in changes}


@given(before=plans, after=plans)
def test_exchanging_the_plans_exchanges_the_sides(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    old, new = in_world(before), in_world(after)
    there, back = sides(plan_changes(old, new)), sides(plan_changes(new, old))
    assert there == {name: (was, now) for name, (now, was) in back.items()}
    assert plan_changes(new, new) == []
    assert set(there) == {job for job in "abc" if told(before, job) != told(after, job)}


def told(plan: Sequence[tuple[str, str]], job: str) -> list[str]:
    """The plain reading: all that is decided, in any order; to wait twice is to wait."""
    own = sorted(text for name, text in plan if name == job)
    return [*(text for text in own if text != "wait"), *["wait"][: own.count("wait")]]


@given(before=plans, after=plans)
def test_jobs_come_in_the_order_of_the_new_plan_then_of_the_old_one(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    found = [each.workload for each in plan_changes(in_world(before), in_world(after))]
    order = list(dict.fromkeys(name for name, _ in [*after, *before]))
    assert found == sorted(found, key=order.index)
