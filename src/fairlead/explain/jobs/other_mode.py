"""Where the other mode decides otherwise about a job: the peer itself, or Fairlead's fixes."""

from typing import Final

from fairlead.explain.plan.diff import JobOutcome, Planned, plan_changes
from fairlead.explain.plan.report import decision_documents
from fairlead.model.axes import WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Settings, make_policy

_UNDECIDED: Final = {
    "keep": "it keeps its place",
    "leave": "it was told to stop before",
    "pending": "it is not considered",
}


def other_outcome(
    state: ClusterState, settings: Settings, other: Settings, job: WorkloadName, now_ms: int
) -> JobOutcome | None:
    """Return what a plan under *other* settings decides about *job*; None: the same.

    Decisions are the same that are of one kind, for as many pods, with the same flavors. Cost: two
    plans.
    """
    own, others = (
        Planned(state, make_policy(each).plan(state, now_ms)) for each in (settings, other)
    )
    for change in plan_changes(own, others):
        if change.workload == job:
            return change.after
    return None


def outcome_text(outcome: JobOutcome) -> str:
    """Return what is decided, with the reasons."""
    told = [
        f"{row.decision}{f' ({row.where})' if row.where else ''}: {row.why}" for row in outcome.rows
    ]
    return "; ".join(told) or _UNDECIDED[outcome.outcome]


def outcome_document(state: ClusterState, outcome: JobOutcome) -> dict[str, object]:
    """Return the same for programs."""
    decisions = decision_documents(state, outcome.decisions)
    return {"outcome": outcome.outcome, "decisions": decisions}
