"""Asks the policy what KAI did in one cycle of a random small cluster (``kai-cycle/1``).

Each key of a case is compared for itself: the fair shares at the start, and every action alone.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from fairlead.model.apply import apply
from fairlead.model.axes import QueueName
from fairlead.model.events import Placement, WorkloadAdded, WorkloadStarted
from fairlead.model.plan import Plan, Reserve, Start, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodId, PodSet, Workload
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShares
from tests.conformance.kai_division import MALFORMED, exact_number, named_in
from tests.conformance.kai_world import (
    NOW_MS,
    THOUSANDTHS,
    add_nodes,
    add_queues,
    empty_state,
    in_results,
    job_name,
    requests,
)
from tests.conformance.outcome import Outcome

Json = dict[str, Any]

BUILT = ("allocate",)
NOT_BUILT = ("consolidation", "reclaim", "preempt", "stalegangeviction", "cycle", "cycles")
COUNTED = ("bound", "pipelined", "evicted", "moved", "undone")
GATES = ("OverLimit", "NonPreemptibleOverQuota")
TOLERANCE = Fraction(1, 10**6)


def check(case: Json) -> list[Outcome]:
    """Compare the fair shares and every action that is built; name those that are not."""
    identity = named_in(case, "id")
    try:
        outcomes = [_check_shares(case), *(_check_action(case, key) for key in BUILT)]
    except MALFORMED as problem:
        note = f"malformed case: {type(problem).__name__}: {problem}"
        return [Outcome(identity, "fairShare", "failed", note=note)]
    later = [key for key in NOT_BUILT if key in case["result"]]
    note = "nothing answers this kind yet"
    return [*outcomes, *(Outcome(identity, key, "unbuilt", note=note) for key in later)]


def _check_shares(case: Json) -> Outcome:
    if case.get("fairShareVaries"):
        return Outcome(case["id"], "fairShare", "apart", note="KAI's own answer varies")
    state = world(case)
    shares = KaiShares(state, state.total(), settings(case).k)
    got = {str(row.queue): in_results(row.fair_share) for row in shares.rows()}
    wrong = [
        queue
        for queue, expected in case["fairShare"].items()
        if not _is_close(got[queue], [exact_number(each) for each in expected])
    ]
    return Outcome(
        case["id"],
        "fairShare",
        "failed" if wrong else "passed",
        expected="; ".join(f"{queue} {case['fairShare'][queue]}" for queue in wrong),
        got="; ".join(f"{queue} {[float(each) for each in got[queue]]}" for queue in wrong),
    )


def _check_action(case: Json, action: str) -> Outcome:
    """Compare what *action* alone does; any of the answers that KAI gave is right."""
    if action in case.get("odd", ()):
        return Outcome(case["id"], action, "apart", note="marked odd")
    recorded = case["result"][action]
    if "kaiInternalAllocated" in recorded:
        return Outcome(case["id"], action, "apart", note="KAI's own books were off")
    state = world(case)
    plan = KaiPolicy(settings(case)).plan(state, NOW_MS)
    got = _answer(plan)
    answers = [recorded, *recorded.get("alternatives", ())]
    matching = [each for each in answers if _counts(each) == got["counts"]]
    if not matching:
        return _differs(case, action, _counts(recorded), got["counts"])
    if matching[0] is recorded and (wrong := _more_differences(recorded, state, plan, got)):
        return _differs(case, action, *wrong)
    return Outcome(case["id"], action, "passed")


def _more_differences(
    recorded: Json, state: ClusterState, plan: Plan, got: Json
) -> tuple[Any, Any] | None:
    """Compare reasons, and what queues hold afterwards, where they are recorded."""
    reasons = {job: code for job, code in got["reasons"].items() if code in GATES}
    if recorded.get("reasons", {}) != reasons:
        return recorded.get("reasons", {}), reasons
    apply(state, plan)
    for queue, expected in recorded.get("allocated", {}).items():
        held = in_results(state.sums[QueueName(queue)].allocated)
        if held != [exact_number(each) for each in expected]:
            return f"{queue} {expected}", f"{queue} {held}"
    return None


def _answer(plan: Plan) -> Json:
    counts: dict[str, Counter[str]] = {key: Counter() for key in COUNTED}
    reasons: dict[str, str] = {}
    for decision in plan.decisions:
        match decision:
            case Start():
                counts["bound"][decision.workload] += len(decision.placements)
            case Reserve():
                counts["pipelined"][decision.workload] += len(decision.placements)
            case Wait():
                reasons[decision.workload] = decision.reason.code
            case _:
                raise ValueError(f"allocate alone does no {type(decision).__name__}")
    return {"counts": {key: dict(each) for key, each in counts.items()}, "reasons": reasons}


def _counts(recorded: Json) -> Json:
    return {key: recorded.get(key, {}) for key in COUNTED}


def world(case: Json) -> ClusterState:
    """The state that a case describes."""
    state = empty_state()
    add_nodes(state, case["nodes"])
    add_queues(state, case["queues"])
    for job in case["jobs"]:
        _add_job(state, job)
    return state


def settings(case: Json) -> KaiSettings:
    """The settings under which KAI was asked."""
    k = case["config"].get("kValue", 0)
    return KaiSettings(k=exact_number(k), actions=("allocate",), faithful=True)


def _add_job(state: ClusterState, job: Json) -> None:
    name = job_name(job["name"])
    pod_set = PodSet(
        name=job["name"], count=len(job["pods"]), min_count=job["min"], requests=requests(job)
    )
    state.apply(
        WorkloadAdded(
            Workload(
                name=name,
                queue=job["queue"],
                pod_sets=(pod_set,),
                min_count=job["min"],
                priority=job["priority"],
                preemptible=job["preemptible"],
                created_ms=job["created"] * THOUSANDTHS,
                extension=KaiJob(),
            )
        )
    )
    placed = tuple(
        Placement(PodId(0, ordinal), node) for ordinal, node in enumerate(job["pods"]) if node
    )
    if placed:
        at_ms = NOW_MS - job.get("startedSecondsAgo", 0) * THOUSANDTHS
        state.apply(WorkloadStarted(workload=name, placements=placed, at_ms=at_ms))


def _is_close(got: Sequence[Fraction], expected: Sequence[Fraction]) -> bool:
    return all(
        abs(one - other) <= max(TOLERANCE, TOLERANCE * abs(other))
        for one, other in zip(got, expected, strict=True)
    )


def _differs(case: Json, action: str, expected: Any, got: Any) -> Outcome:
    return Outcome(case["id"], action, "failed", expected=str(expected), got=str(got))
