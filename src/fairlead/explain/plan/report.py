"""A plan as rows for people and as a document for programs."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, assert_never

import msgspec

from fairlead.explain.plan.incomplete import incomplete_document, unjudged_in
from fairlead.explain.plan.pods import counted, gained, lost, origins_document, pods_document
from fairlead.explain.plan.reason_document import (
    held_document,
    number_or_inf,
    share_document,
    side_document,
)
from fairlead.explain.text.names import first_few
from fairlead.explain.text.reasons import TIMES, reason_text, rounded_duration, wait_text
from fairlead.model.axes import Axis, WorkloadName
from fairlead.model.duration import moment_text
from fairlead.model.plan import (
    Comparison,
    Decision,
    Evict,
    FailedClaim,
    Move,
    Plan,
    Reason,
    Reserve,
    Start,
    Term,
    Unknown,
    Wait,
)
from fairlead.model.quantity import format_amount
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload

_BY_CLAIM: Final = ("Reclaims", "Preempts", "Consolidates", "MovedAlong")


class PlanRow(msgspec.Struct, frozen=True, kw_only=True):
    """One decision in words."""

    decision: str
    workload: str
    queue: str
    pods: str
    where: str
    why: str


def plan_rows(state: ClusterState, decisions: Iterable[Decision]) -> list[PlanRow]:
    """Return *decisions* of a plan in their order; *state* is the one that it was made for.

    Pods of a job that start in turns without another job between them share a row, with the
    reason of the last.
    """
    runs = groupby(decisions, key=lambda each: (each.workload, type(each), _for_whom(each)))
    return [_row(state, list(run)) for _, run in runs]


def plan_document(
    rules: dict[str, object], shards: Sequence[dict[str, object]]
) -> dict[str, object]:
    """Return the document of `docs/reference/plan-output.md`; each shard has `cycles_document`.

    *rules* are the rule set and its mode.
    """
    head = {"apiVersion": "fairlead/v1", "kind": "Plan", "policy": rules["policy"]}
    return {**head, "rules": rules, "shards": shards}


def cycles_document(plans: Iterable[tuple[Plan, list[object]]]) -> dict[str, object]:
    """Return the part of the document that is about one cycle or several of a shard.

    Each plan comes with its decisions as `decision_document` has them.
    """
    return {
        "cycles": [
            {
                "cycle": number,
                "takenAt": moment_text(plan.taken_ms),
                "decisions": decisions,
                "incomplete": incomplete_document(unjudged_in(plan)),
            }
            for number, (plan, decisions) in enumerate(plans, start=1)
        ],
    }


def decision_documents(state: ClusterState, decisions: Iterable[Decision]) -> list[object]:
    """Return *decisions* as programs read them; pods by name, amounts exact."""
    return [_decision_document(state, decision) for decision in decisions]


def reason_document(reason: Reason) -> dict[str, object]:
    """Return a reason with its sentence, its numbers and where in the tree it was decided."""
    return {
        "code": reason.code,
        "text": reason_text(reason),
        "queue": reason.queue,
        "comparisons": [_comparison_document(each) for each in reason.comparisons],
        "tallies": list(reason.tallies),
        "names": list(reason.names),
        "sides": [side_document(side) for side in reason.sides],
        "shares": [share_document(share) for share in reason.shares],
        "held": [held_document(held) for held in reason.held],
        "remaining": _remaining(reason),
    }


def decision_name(decision: Decision) -> str:
    """Return what a decision is called, such as ``start``, ``reserve`` or ``wait``."""
    return type(decision).__name__.lower()


def pods_of(decision: Decision) -> Sequence[PodId]:
    """Return the pods that a decision is about; none where the job stays pending."""
    match decision:
        case Evict():
            return decision.pods
        case Wait() | Unknown():
            return ()
        case Start() | Reserve() | Move():
            return [place.pod for place in decision.placements]
        case _:
            assert_never(decision)


def _row(state: ClusterState, decisions: Sequence[Decision]) -> PlanRow:
    decision = decisions[-1]
    workload = state.workloads[decision.workload]
    pods = [pod for each in decisions for pod in pods_of(each)]
    return PlanRow(
        decision=decision_name(decision),
        workload=workload.name,
        queue=workload.queue,
        pods=f"{len(pods)}/{workload.pod_count()}" if pods else "",
        where=_where(state, decisions),
        why=_why(state, decisions),
    )


def _why(state: ClusterState, decisions: Sequence[Decision]) -> str:
    """Return the last reason in a sentence, and what else one asks about such a decision.

    Of evictions the preemptor, of reservations the victims, of those that wait why they
    cannot take a place from others.
    """
    last = decisions[-1]
    text = reason_text(last.reason)
    match last:
        case Evict() | Move() if last.beneficiary is not None:
            return f"for {last.beneficiary}: {text}"
        case Wait():
            return wait_text(last)
        case Reserve():
            return f"{text}; when {_awaited_by(state, decisions)}"
        case Start() | Evict() | Move() | Unknown():
            return text
        case _:
            assert_never(last)


def _awaited_by(state: ClusterState, decisions: Sequence[Decision]) -> str:
    reserved = [each for each in decisions if isinstance(each, Reserve)]
    own = {name for each in reserved for name in each.waits_for}
    foreign = {name for each in reserved for name in _foreign_names(state, each)}
    names = [*sorted(own), *(f"pod {name}" for name in sorted(foreign))]
    if not names and decisions[-1].reason.code in _BY_CLAIM:
        return "the next cycle begins"  # where claims win capacity, the job starts then
    if not names:
        return _awaited(state.workloads[decisions[-1].workload])
    return f"{first_few(names)} {'has' if len(names) == 1 else 'have'} left"


def _awaited(workload: Workload) -> str:
    """Say what a reservation rests on where no pod is leaving its nodes.

    It has room, but not yet for other pods that it needs; or pods that keep it away are leaving
    elsewhere in the domain.
    """
    if workload.pod_count() == 1:
        return "pods that keep it away have left"
    where = [each.constraints for each in workload.pod_sets]
    if any(each.host_ports or each.pod_anti_affinity for each in where):
        return "its other pods can start, or pods that keep it away have left"
    return "its other pods can start"


def _foreign_names(state: ClusterState, decision: Reserve) -> list[str]:
    return [state.books.foreign[pod].name for pod in decision.waits_for_foreign]


def _where(state: ClusterState, decisions: Sequence[Decision]) -> str:
    """Return the nodes or flavors that pods get, or leave; of those that move both."""
    got = [
        spot
        for each in decisions
        if isinstance(each, Start | Reserve | Move)
        for spot in gained(state, each).spots()
    ]
    left = [
        spot
        for each in decisions
        if isinstance(each, Evict | Move)
        for spot in lost(state, each).spots()
    ]
    if got and left:
        return f"{counted(left)} -> {counted(got)}"
    return counted(got or left)


def _for_whom(decision: Decision) -> WorkloadName | None:
    return decision.beneficiary if isinstance(decision, Evict | Move) else None


def _decision_document(state: ClusterState, decision: Decision) -> dict[str, object]:
    workload = state.workloads[decision.workload]
    document: dict[str, object] = {
        "decision": decision_name(decision),
        "workload": workload.name,
        "queue": workload.queue,
    }
    match decision:
        case Start() | Reserve():
            document |= pods_document(gained(state, decision), with_nodes=True)
            document["charged"] = list(decision.charged)
        case Evict():
            document |= pods_document(lost(state, decision), with_nodes=False)
            document["beneficiary"] = decision.beneficiary
        case Move():
            document["from"] = origins_document(workload, decision.origins)
            document |= pods_document(gained(state, decision), with_nodes=True)
            document["beneficiary"] = decision.beneficiary
        case Wait():
            document["claims"] = [_claim_document(each) for each in decision.claims]
        case Unknown():
            pass  # the reason names all that is known
        case _:
            assert_never(decision)
    if isinstance(decision, Reserve):
        document["waitsFor"] = list(decision.waits_for)
        if decision.waits_for_foreign:
            document["waitsForForeignPods"] = _foreign_names(state, decision)
    return {**document, "reason": reason_document(decision.reason)}


def _comparison_document(comparison: Comparison) -> dict[str, object]:
    axis = comparison.axis
    return {
        "queue": comparison.queue,
        "resource": str(axis) if axis else None,
        "left": [_term_document(axis, term) for term in comparison.left],
        "relation": comparison.relation,
        "right": _term_document(axis, comparison.right),
    }


def _term_document(axis: Axis | None, term: Term) -> dict[str, object]:
    amount: object = term.amount
    match term.amount:
        case int() if axis is not None:
            amount = format_amount(axis.resource, term.amount)
        case int() if term.name in TIMES:
            amount = moment_text(term.amount)
        case float():
            amount = number_or_inf(term.amount)
    document: dict[str, object] = {"name": term.name, "amount": amount}
    return document if term.queue is None else {**document, "queue": term.queue}


def _remaining(reason: Reason) -> str | None:
    return None if reason.remaining_ms is None else rounded_duration(reason.remaining_ms)


def _claim_document(claim: FailedClaim) -> dict[str, object]:
    return {"action": claim.action, "reason": reason_document(claim.reason)}
