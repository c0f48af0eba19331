"""What a change of the objects does to jobs: who is evicted, starts or waits only then, and why.

A plan decides about some jobs and leaves the others as they are, so a job stands in one of the
decisions or in none. Two plans are compared job by job. Which node a pod gets is no difference: any
change moves some. Which flavors it gets is one, because that is quota.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from fairlead.explain.plan.pods import gained
from fairlead.explain.plan.report import (
    PlanRow,
    decision_documents,
    decision_name,
    plan_rows,
    pods_of,
)
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Decision, Plan, Reserve, Start
from fairlead.model.state import ClusterState

Parts: TypeAlias = dict[tuple[str, str], int]
"""How many pods each decision is about, by its name and the flavors that they get."""


class Planned(NamedTuple):
    """A state, and the plan that was made for it."""

    state: ClusterState
    plan: Plan


class JobOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one of the two plans decides about a job, which may be nothing.

    ``outcome`` says it in short, such as ``start 2/4, wait``. Where nothing is decided it is
    ``keep``: runs on; ``leave``: was told to stop before; ``pending``: waits, and the rules do not
    look at it; ``absent``: is not in the input.
    """

    outcome: str
    decisions: tuple[Decision, ...]
    rows: tuple[PlanRow, ...]

    def kinds(self) -> str:
        """Return the outcome without numbers and flavors: ``start+wait``."""
        return "+".join(dict.fromkeys(map(decision_name, self.decisions))) or self.outcome


class PlanChange(msgspec.Struct, frozen=True, kw_only=True):
    """A job about which the two plans do not decide the same."""

    workload: WorkloadName
    queue: QueueName
    before: JobOutcome
    after: JobOutcome


def plan_changes(before: Planned, after: Planned) -> list[PlanChange]:
    """Return every job whose decision differs, in the order of the plan *after*, then *before*.

    Decisions are the same that are of the same kinds, for as many pods of the job, which get the
    same flavors. A plan has no differences to itself, and exchanging the two exchanges the sides.
    Cost: one look at each decision.
    """
    was, now = _by_job(before.plan), _by_job(after.plan)
    return [
        PlanChange(
            workload=name,
            queue=(after if name in after.state.workloads else before).state.workloads[name].queue,
            before=_job_outcome(before, name, was.get(name, ())),
            after=_job_outcome(after, name, now.get(name, ())),
        )
        for name in dict.fromkeys([*now, *was])
        if _parts(before.state, was.get(name, ())) != _parts(after.state, now.get(name, ()))
    ]


def plan_changes_document(
    before: Planned, after: Planned, changes: Iterable[PlanChange]
) -> list[object]:
    """Return the changes in the form of `docs/reference/queues-output.md`."""
    return [
        {
            "workload": change.workload,
            "queue": change.queue,
            "old": _outcome_document(before, change.before),
            "new": _outcome_document(after, change.after),
        }
        for change in changes
    ]


def _by_job(plan: Plan) -> Mapping[WorkloadName, tuple[Decision, ...]]:
    jobs: defaultdict[WorkloadName, list[Decision]] = defaultdict(list)
    for decision in plan.decisions:
        jobs[decision.workload].append(decision)
    return {name: tuple(decisions) for name, decisions in jobs.items()}


def _parts(state: ClusterState, decisions: Iterable[Decision]) -> Parts:
    parts: defaultdict[tuple[str, str], int] = defaultdict(int)
    for decision in decisions:
        name = decision_name(decision)
        if isinstance(decision, Start | Reserve) and decision.flavors:
            places = gained(state, decision)
            for place in places.placements:
                parts[name, places.flavors_text(place)] += 1
        else:
            parts[name, ""] += len(pods_of(decision))
    return dict(parts)


def _job_outcome(
    planned: Planned, name: WorkloadName, decisions: tuple[Decision, ...]
) -> JobOutcome:
    state = planned.state
    if decisions:
        outcome = _decided(_parts(state, decisions), state.workloads[name].pod_count())
    else:
        outcome = _undecided(state, name)
    rows = tuple(plan_rows(state, decisions))
    return JobOutcome(outcome=outcome, decisions=decisions, rows=rows)


def _decided(parts: Parts, total: int) -> str:
    return ", ".join(
        name
        + (f" {count}/{total}" if count and total > 1 else "")
        + (f" on {flavors}" if flavors else "")
        for (name, flavors), count in parts.items()
    )


def _undecided(state: ClusterState, name: WorkloadName) -> str:
    if name not in state.workloads:
        return "absent"
    run = state.runs.get(name)
    if run is None:
        return "pending"
    is_gone = all(placed.phase == "leaving" for placed in run.pods.values())
    return "leave" if is_gone else "keep"


def _outcome_document(planned: Planned, job: JobOutcome) -> dict[str, object]:
    decisions = decision_documents(planned.state, job.decisions)
    return {"outcome": job.outcome, "decisions": decisions}
