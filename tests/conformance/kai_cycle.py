"""Asks the policy what KAI did in one cycle of a random small cluster (``kai-cycle/1``).

Each key of a case is compared for itself: the fair shares at the start, and every action alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    MemoryChanged,
    Placement,
    WorkloadAdded,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.memory import KaiMemory
from fairlead.model.plan import Decision, Evict, Move, Reason, Reserve, Start, Unknown, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodKey, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.kai.api import new_cycle
from fairlead.policy.kai.fair_share.shares import KaiShares
from fairlead.policy.kai.settings import ACTIONS, KaiSettings
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

ALONE = (*ACTIONS, "cycle")
COUNTED = ("bound", "pipelined", "evicted", "moved", "undone")
GATES = ("OverLimit", "NonPreemptibleOverQuota")
TOLERANCE = Fraction(1, 10**6)


def check(case: Json) -> list[Outcome]:
    """Compare the fair shares and every action that is built; name those that are not."""
    identity = named_in(case, "id")
    try:
        keys = [key for key in ALONE if key in case["result"]]
        outcomes = [_check_shares(case), *(_check_action(case, key) for key in keys)]
        if "cycle" in case["result"]:
            outcomes.append(_check_defaults(case))
        if "cycles" in case["result"]:
            outcomes.append(_check_cycles(case))
    except MALFORMED as problem:
        note = f"malformed case: {type(problem).__name__}: {problem}"
        return [Outcome(identity, "fairShare", "failed", note=note)]
    return outcomes


def _check_shares(case: Json) -> Outcome:
    if case.get("fairShareVaries"):
        return Outcome(case["id"], "fairShare", "apart", note="KAI's own answer varies")
    state = world(case)
    shares = KaiShares(state, state.total(), settings(case, "allocate").k)
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
    with state.trial():
        cycle = new_cycle(state, settings(case, action), NOW_MS)
        decisions = cycle.decisions()
        counts = _counted(decisions, cycle.record.undone())
        refusals = cycle.record.refusals()
        held = {str(name): in_results(sums.allocated) for name, sums in state.sums.items()}
    answers = [recorded, *recorded.get("alternatives", ())]
    matching = [each for each in answers if _counts(each) == counts]
    if not matching:
        return _differs(case, action, _counts(recorded), counts)
    if matching[0] is recorded and (wrong := _more_differences(recorded, refusals, held)):
        return _differs(case, action, *wrong)
    return Outcome(case["id"], action, "passed")


def _check_defaults(case: Json) -> Outcome:
    """Compare a full cycle with KAI's own defaults: signatures, and a cap on consolidation.

    Where nothing is recorded for it, KAI answered as without them.
    """
    kind = "withDefaults"
    recorded = case["result"]["cycle"]
    if "cycle" in case.get("odd", ()) or "kaiInternalAllocated" in recorded:
        return Outcome(case["id"], kind, "apart", note="the cycle itself is")
    state = world(case)
    chosen = settings(case, "cycle")
    defaults = KaiSettings()
    chosen = replace(
        chosen,
        signatures=defaults.signatures,
        max_consolidation_victims=defaults.max_consolidation_victims,
    )
    with state.trial():
        cycle = new_cycle(state, chosen, NOW_MS)
        decisions = cycle.decisions()
        counts = _counted(decisions, cycle.record.undone())
    answers = [case[kind]] if kind in case else [recorded, *recorded.get("alternatives", ())]
    if counts not in map(_counts, answers):
        return _differs(case, kind, _counts(answers[0]), counts)
    return Outcome(case["id"], kind, "passed")


def _check_cycles(case: Json) -> Outcome:
    """Compare cycle after cycle; between two, who was to leave or to wait for room waits again."""
    recorded = case["result"]["cycles"]
    if "variants" in recorded:
        return Outcome(case["id"], "cycles", "apart", note="KAI's own answer varies")
    state = world(case)
    for number, expected in enumerate(recorded["rounds"], start=1):
        if "kaiInternalAllocated" in expected:
            return Outcome(case["id"], "cycles", "apart", note="KAI's own books were off")
        with state.trial():
            cycle = new_cycle(state, settings(case, "cycle"), NOW_MS)
            decisions = cycle.decisions()
            counts = _counted(decisions, cycle.record.undone())
        if counts != _counts(expected):
            return _differs(case, "cycles", f"{number}: {_counts(expected)}", counts)
        carry_out(state, decisions)
    return Outcome(case["id"], "cycles", "passed")


def carry_out(state: ClusterState, decisions: Sequence[Decision]) -> None:
    """Let the next round begin: what was started runs, who had to go or to wait is pending."""
    for decision in decisions:
        match decision:
            case Start():
                state.apply(
                    WorkloadStarted(
                        workload=decision.workload, placements=decision.placements, at_ms=NOW_MS
                    )
                )
            case Evict():
                state.apply(WorkloadStopped(workload=decision.workload, pods=decision.pods))
            case Move():
                pods = tuple(place.pod for place in decision.origins)
                state.apply(WorkloadStopped(workload=decision.workload, pods=pods))
            case _:
                pass


def _more_differences(
    recorded: Json,
    refusals: Mapping[WorkloadName, Reason],
    held: Mapping[str, Sequence[Fraction]],
) -> tuple[Any, Any] | None:
    """Compare reasons, and what queues hold afterwards, where they are recorded."""
    reasons = {str(job): each.code for job, each in refusals.items() if each.code in GATES}
    if "reasons" in recorded and recorded["reasons"] != reasons:
        return recorded["reasons"], reasons
    for queue, expected in recorded.get("allocated", {}).items():
        if held[queue] != [exact_number(each) for each in expected]:
            return f"{queue} {expected}", f"{queue} {held[queue]}"
    return None


def _counted(decisions: Sequence[Decision], undone: Sequence[PodKey]) -> Json:
    counts: dict[str, Counter[str]] = {key: Counter() for key in COUNTED}
    for decision in decisions:
        match decision:
            case Start():
                counts["bound"][decision.workload] += len(decision.placements)
            case Reserve():
                counts["pipelined"][decision.workload] += len(decision.placements)
            case Evict():
                counts["evicted"][decision.workload] += len(decision.pods)
            case Move():
                counts["moved"][decision.workload] += len(decision.placements)
            case Wait() | Unknown():
                pass
    counts["undone"].update(name for name, _ in undone)
    return {key: dict(each) for key, each in counts.items()}


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


def settings(case: Json, action: str) -> KaiSettings:
    """The settings under which KAI was asked; *action* alone, or the whole cycle."""
    config = case["config"]
    return KaiSettings(
        k=exact_number(config.get("kValue", 0)),
        actions=ACTIONS if action == "cycle" else (action,),
        faithful=True,
        max_consolidation_victims=None,
        signatures=False,
        reclaim_resolve_method=config.get("reclaimResolveMethod", "lca"),
    )


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
                pod_sets=PodSets((pod_set,)),
                min_count=job["min"],
                priority=job["priority"],
                preemptible=job["preemptible"],
                created_ms=job["created"] * THOUSANDTHS,
                extension=KaiJob(),
            )
        )
    )
    state.apply(MemoryChanged(name, memory_of(job)))
    placed = tuple(
        Placement(numbered_pod(job["name"], ordinal), node)
        for ordinal, node in enumerate(job["pods"])
        if node
    )
    if placed:
        at_ms = NOW_MS - job.get("startedSecondsAgo", 0) * THOUSANDTHS
        state.apply(WorkloadStarted(workload=name, placements=placed, at_ms=at_ms))


def memory_of(job: Json) -> KaiMemory:
    """Since when a job runs with too few pods, if it does."""
    seconds = job.get("staleSeconds")
    since_ms = None if seconds is None else NOW_MS - seconds * THOUSANDTHS
    return KaiMemory(stale_since_ms=since_ms)


def _is_close(got: Sequence[Fraction], expected: Sequence[Fraction]) -> bool:
    return all(
        abs(one - other) <= max(TOLERANCE, TOLERANCE * abs(other))
        for one, other in zip(got, expected, strict=True)
    )


def _differs(case: Json, action: str, expected: Any, got: Any) -> Outcome:
    return Outcome(case["id"], action, "failed", expected=str(expected), got=str(got))
