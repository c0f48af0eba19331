"""Why a workload is admitted, waits or is preempted: position, flavors, quota, claims."""

from typing import Final, assert_never

from fairlead.explain.jobs.answer import SHOWN_VICTIMS, claim_sections
from fairlead.explain.kueue.flavors import flavor_documents, flavor_section, flavors_tried
from fairlead.explain.kueue.job_view import KueueJobView
from fairlead.explain.kueue.place import place_document, place_in_line, place_section
from fairlead.explain.kueue.quota import (
    path_documents,
    path_section,
    quota_document,
    quota_held,
    quota_paths,
    quota_section,
)
from fairlead.explain.kueue.reserved import (
    check_documents,
    checks_section,
    open_checks_text,
)
from fairlead.explain.plan.pods import counted, gained
from fairlead.explain.plan.report import decision_documents
from fairlead.explain.text.amounts import number_text
from fairlead.explain.text.explanation import Explanation, Section
from fairlead.explain.text.names import first_few
from fairlead.explain.text.reasons import best_claim, reason_text
from fairlead.model.axes import WorkloadName
from fairlead.model.duration import moment_text
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start, Unknown, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.api import Admissibility, awaits_checks
from fairlead.policy.kueue.settings import KueueSettings

_ADVICE: Final = {
    "Deactivated": "Set spec.active: true to queue it again{after}.",
    "Suspended": "It is queued again once {queue} has stopPolicy: None.",
    "Misconfigured": (
        "It is not queued until this is fixed. If an object is missing, fairlead validate names "
        "the file and the line."
    ),
    "BackOff": (
        "It is queued again at {until}. It was evicted because its pods were not ready in "
        "time: their events say why."
    ),
    "UnsupportedConstraint": ("Remove {names}, or leave this workload to Kueue itself."),
}


def door_advice(view: KueueJobView) -> Section | None:
    """Return what lets a workload queue up that may not; None if it may, or has quota."""
    if view.workload.name in view.state.runs:
        return None
    reason = Admissibility(view.state, view.now_ms).inadmissible_reason(view.workload)
    if reason is None:
        return None
    until_ms = view.now_ms + (reason.remaining_ms or 0)
    told = {
        "queue": reason.queue or "its queue",
        "names": ", ".join(reason.names),
        "until": moment_text(until_ms + 999),  # never earlier than it is
        "after": ", once what Kueue deactivated it for is cured" if reason.names else "",
    }
    advice = _ADVICE.get(reason.code, "").format_map(told)
    return Section(title="What you can do", remarks=(advice,)) if advice else None


def shares_section(view: KueueJobView) -> Section | None:
    """Return the shares for each victim, the side that gains first; None if none decided."""
    own = [each for each in view.decisions if isinstance(each, Evict)]
    compared = [each for each in (*view.victims, *own) if each.reason.shares]
    if not compared:
        return None
    rows = [
        (each.workload, side.queue, number_text(side.before), number_text(side.after))
        for each in compared[:SHOWN_VICTIMS]
        for side in each.reason.shares
    ]
    return Section(
        title="Weighted shares of both sides",
        table=(("VICTIM", "SIDE", "SHARE", "SHARE AFTER"), *rows),
        words=2,
        remarks=(
            "A side is a queue, or its ancestor cohort that is a sibling of the other side.",
            "A share is the borrowed part of what could be lent, in thousandths, over the weight,",
            "as the search found it, without the candidates that it had tried before.",
        ),
    )


def explain_kueue_job(
    state: ClusterState, settings: KueueSettings, job: WorkloadName, now_ms: int
) -> Explanation:
    """Return what a plan at *now_ms* decides about *job*, and by which numbers.

    *state* is left as it was. Cost: that of a plan, and of a search for flavors.
    """
    view = KueueJobView(state, settings, job, now_ms)
    held, place = quota_held(state, job), place_in_line(view)
    tried = flavors_tried(view)
    paths = quota_paths(view, tried)
    sections = [
        door_advice(view),
        checks_section(state, job),
        None if held is None else quota_section(held),
        None if place is None else place_section(place),
        flavor_section(view, tried) if tried else None,
        path_section(view, paths) if paths else None,
        *claim_sections(state, view.decisions, view.victims),
        shares_section(view),
    ]
    return Explanation(
        answer=_answer(view),
        sections=tuple(each for each in sections if isinstance(each, Section)),
        data={
            "job": job,
            "queue": view.workload.queue,
            "localQueue": view.local_queue(),
            "decisions": decision_documents(state, view.decisions),
            "victims": decision_documents(state, view.victims),
            "awaitsAdmissionChecks": awaits_checks(state, job),
            "admissionChecks": check_documents(view.workload),
            "quota": None if held is None else quota_document(held),
            "place": None if place is None else place_document(place),
            "flavors": flavor_documents(tried),
            "paths": path_documents(paths),
        },
    )


def _answer(view: KueueJobView) -> str:
    parts = [_decided(view, each) for each in view.decisions]
    return f"{view.workload.name} {'; then it '.join(parts) or _undecided(view)}."


def _decided(view: KueueJobView, decision: Decision) -> str:
    why = reason_text(decision.reason)
    match decision:
        case Start():
            return f"gets quota for {_pods(view, decision)}: {why}"
        case Reserve():
            names = first_few(decision.waits_for)
            has = "has" if len(decision.waits_for) == 1 else "have"
            return f"gets quota for {_pods(view, decision)} when {names} {has} left: {why}"
        case Evict():
            whom = f", for {decision.beneficiary}" if decision.beneficiary else ""
            return f"loses its quota{whom}: {why}"
        case Wait():
            best = best_claim(decision)
            claim = f"; {best.action}: {reason_text(best.reason)}" if best else ""
            return f"{why}{claim}" if why.startswith("waits ") else f"waits: {why}{claim}"
        case Unknown():
            return f"is not judged: {why}"
        case Move():
            return why
        case _:
            assert_never(decision)


def _pods(view: KueueJobView, decision: Start | Reserve) -> str:
    count, total = len(decision.placements), view.workload.pod_count()
    if total == 1:
        pods = "its pod"
    else:
        pods = f"all of its {total} pods" if count == total else f"{count} of its {total} pods"
    flavors = counted(gained(view.state, decision).spots())
    return f"{pods} ({flavors})" if flavors else pods


def _undecided(view: KueueJobView) -> str:
    """Say what becomes of one that the plan does not speak of."""
    run = view.state.runs.get(view.workload.name)
    if run is None:
        return "has no pods, so there is nothing to decide"
    if any(placed.phase == "leaving" for placed in run.pods.values()):
        return "is being evicted, and keeps its quota until its pods have left"
    if awaits_checks(view.state, view.workload.name):
        told = open_checks_text(view.workload)
        return f"has its quota reserved, and is not admitted before its checks are ready: {told}"
    return "has its quota and keeps it, so there is nothing to decide"
