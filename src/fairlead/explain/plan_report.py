"""A plan as rows for people and as a document for programs."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby

import msgspec

from fairlead.explain.first_few import first_few
from fairlead.explain.reason_text import reason_text
from fairlead.model.axes import Axis
from fairlead.model.events import Placement
from fairlead.model.plan import (
    Comparison,
    Decision,
    Evict,
    Move,
    Plan,
    Reason,
    Reserve,
    Start,
    Term,
    Wait,
)
from fairlead.model.quantity import format_amount
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload


class PlanRow(msgspec.Struct, frozen=True, kw_only=True):
    """One decision in words."""

    decision: str
    workload: str
    queue: str
    pods: str
    where: str
    why: str


def plan_rows(state: ClusterState, plan: Plan) -> list[PlanRow]:
    """Return the decisions of *plan* in its order; *state* is the one that it was made for.

    Pods of a job that start in turns without another job between them share a row, with the
    reason of the last.
    """
    runs = groupby(plan.decisions, key=lambda each: (each.workload, type(each)))
    return [_row(state, list(decisions)) for _, decisions in runs]


def plan_document(policy: str, plans: Sequence[tuple[Plan, list[object]]]) -> dict[str, object]:
    """Return the document of `docs/reference/plan-output.md` for one cycle or several.

    Each plan comes with its decisions as `decision_document` has them.
    """
    return {
        "apiVersion": "fairlead/v1",
        "kind": "Plan",
        "policy": policy,
        "cycles": [
            {"cycle": number, "takenAt": _time(plan.taken_ms), "decisions": decisions}
            for number, (plan, decisions) in enumerate(plans, start=1)
        ],
    }


def decision_documents(state: ClusterState, plan: Plan) -> list[object]:
    """Return the decisions of *plan* as programs read them; pods by name, amounts exact."""
    return [_decision_document(state, decision) for decision in plan.decisions]


def reason_document(reason: Reason) -> dict[str, object]:
    """Return a reason with its sentence, its numbers and where in the tree it was decided."""
    return {
        "code": reason.code,
        "text": reason_text(reason),
        "queue": reason.queue,
        "comparisons": [_comparison_document(each) for each in reason.comparisons],
        "tallies": list(reason.tallies),
        "names": list(reason.names),
    }


def _row(state: ClusterState, decisions: Sequence[Decision]) -> PlanRow:
    decision = decisions[-1]
    workload = state.workloads[decision.workload]
    pods = [pod for each in decisions for pod in _pods(each)]
    places = [place for each in decisions for place in _places(each)]
    return PlanRow(
        decision=_name(decision),
        workload=workload.name,
        queue=workload.queue,
        pods=f"{len(pods)}/{workload.pod_count()}" if pods else "",
        where=_where(places),
        why=_why(workload, decisions),
    )


def _why(workload: Workload, decisions: Sequence[Decision]) -> str:
    """Return the last reason in a sentence; of reservations also who has to leave first."""
    text = reason_text(decisions[-1].reason)
    reserved = [each for each in decisions if isinstance(each, Reserve)]
    if not reserved:
        return text
    names = sorted({name for each in reserved for name in each.waits_for})
    if not names:
        return f"{text}; when {_awaited(workload)}"
    return f"{text}; when {first_few(names)} {'has' if len(names) == 1 else 'have'} left"


def _awaited(workload: Workload) -> str:
    """Say what a reservation rests on where nobody leaves its nodes to make room.

    It has room, but not yet for other pods that it needs; or a host port is still taken, by pods of
    another scheduler, or pods that keep it away are leaving elsewhere in the domain.
    """
    if workload.pod_count() == 1:
        return "pods that keep it away have left"
    where = [each.constraints for each in workload.pod_sets]
    if any(each.host_ports or each.pod_anti_affinity for each in where):
        return "its other pods can start, or pods that keep it away have left"
    return "its other pods can start"


def _pods(decision: Decision) -> Sequence[PodId]:
    if isinstance(decision, Evict):
        return decision.pods
    return [place.pod for place in _places(decision)]


def _places(decision: Decision) -> Sequence[Placement]:
    return decision.placements if isinstance(decision, Start | Reserve | Move) else ()


def _where(places: Sequence[Placement]) -> str:
    """Return nodes with how many pods each gets, the first few by name."""
    counts = Counter(place.node for place in places if place.node is not None)
    named = [name if n == 1 else f"{name} x{n}" for name, n in sorted(counts.items())]
    return first_few(named)


def _name(decision: Decision) -> str:
    return type(decision).__name__.lower()


def _decision_document(state: ClusterState, decision: Decision) -> dict[str, object]:
    workload = state.workloads[decision.workload]
    document: dict[str, object] = {
        "decision": _name(decision),
        "workload": workload.name,
        "queue": workload.queue,
    }
    match decision:
        case Start() | Reserve():
            document["pods"] = [_place(workload, each) for each in decision.placements]
            document["charged"] = list(decision.charged)
        case Evict():
            document["pods"] = [{"name": workload.pod_name(pod)} for pod in decision.pods]
            document["beneficiary"] = decision.beneficiary
        case Move():
            document["from"] = [_place(workload, each) for each in decision.origins]
            document["pods"] = [_place(workload, each) for each in decision.placements]
            document["beneficiary"] = decision.beneficiary
        case Wait():
            pass
    if isinstance(decision, Reserve):
        document["waitsFor"] = list(decision.waits_for)
    return {**document, "reason": reason_document(decision.reason)}


def _place(workload: Workload, placement: Placement) -> dict[str, object]:
    place: dict[str, object] = {"name": workload.pod_name(placement.pod), "node": placement.node}
    if placement.share is not None:
        place["sharedDevices"] = list(placement.share.devices)
        place["partOfEach"] = placement.share.part_e9 / 10**9
    return place


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
    if isinstance(amount, int) and axis is not None:
        amount = format_amount(axis.resource, amount)
    document: dict[str, object] = {"name": term.name, "amount": amount}
    return document if term.queue is None else {**document, "queue": term.queue}


def _time(at_ms: int) -> str:
    moment = datetime.fromtimestamp(at_ms // 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
