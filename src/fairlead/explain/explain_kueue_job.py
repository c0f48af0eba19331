"""Why a workload of Kueue starts, waits or gives way: its place, its flavors, its quota, its claim.

The plan itself decides; here it is asked what it decided about one workload, and what the quotas
look like where that was decided.
"""

from collections.abc import Sequence
from typing import assert_never

from fairlead.explain.best_claim import best_claim
from fairlead.explain.door_advice import door_advice
from fairlead.explain.explanation import Explanation, Section
from fairlead.explain.first_few import first_few
from fairlead.explain.flavors_tried import flavor_documents, flavor_section, flavors_tried
from fairlead.explain.job_claims import claim_sections
from fairlead.explain.kueue_job_view import KueueJobView
from fairlead.explain.place_in_line import place_document, place_in_line, place_section
from fairlead.explain.plan_report import decision_documents
from fairlead.explain.pod_places import counted, gained
from fairlead.explain.quota_held import quota_document, quota_held, quota_section
from fairlead.explain.quota_path import path_documents, path_section, quota_paths
from fairlead.explain.reason_text import reason_text
from fairlead.explain.shares_compared import shares_section
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Evict, Move, Plan, Reserve, Start, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.settings import KueueSettings


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
            "decisions": _documents(view, view.decisions),
            "victims": _documents(view, view.victims),
            "quota": None if held is None else quota_document(held),
            "place": None if place is None else place_document(place),
            "flavors": flavor_documents(tried),
            "paths": path_documents(paths),
        },
    )


def _documents(view: KueueJobView, decisions: Sequence[Decision]) -> list[object]:
    return decision_documents(view.state, Plan(taken_ms=view.now_ms, decisions=tuple(decisions)))


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
        return "was told to leave, and has its quota until it has left"
    return "has its quota and keeps it, so there is nothing to decide"
