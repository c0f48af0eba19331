"""What Fairlead cannot judge of a cluster, and so leaves out of its answer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from fairlead.explain.text.names import first_few
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Plan, Unknown

Unjudged: TypeAlias = Mapping[WorkloadName, Sequence[str]]
"""Pending workloads that cannot be judged, each with its constraints that are not modelled."""


def unjudged_in(plan: Plan) -> Unjudged:
    """Return the workloads that *plan* does not judge."""
    return {
        each.workload: each.reason.names for each in plan.decisions if isinstance(each, Unknown)
    }


def incomplete_text(unjudged: Unjudged) -> str | None:
    """Say how many jobs are not judged, and which constraints they use; None: all are judged."""
    if not unjudged:
        return None
    counted = [f"{name} ({count})" for name, count in _by_constraint(unjudged)]
    jobs = "1 job, which uses" if len(unjudged) == 1 else f"{len(unjudged)} jobs, which use"
    return f"Fairlead cannot judge {jobs} {first_few(counted)}"


def incomplete_document(unjudged: Unjudged) -> dict[str, object] | None:
    """Return the same for programs, with the names of the jobs."""
    if not unjudged:
        return None
    return {"jobs": sorted(unjudged), "constraints": dict(_by_constraint(unjudged))}


def _by_constraint(unjudged: Unjudged) -> list[tuple[str, int]]:
    """Return how many jobs use each constraint, the most frequent first.

    Constraints that are named with an object, such as ``resourceClaims: gpu``, count as one.
    """
    counts = Counter(
        each for names in unjudged.values() for each in {name.partition(":")[0] for name in names}
    )
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))
