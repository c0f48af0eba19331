"""One part of the work of a scenario, ready to be made into a source."""

from typing import TypeAlias

import msgspec

from fairlead.sim.job import Job
from fairlead.sim.traces.trace_rules import TraceRules
from fairlead.sim.work.arrivals import At
from fairlead.sim.work.description import ArrivingWork, Backlog


class JobList(msgspec.Struct, frozen=True, kw_only=True, tag="jobs"):
    """Jobs that are told one by one, in the order in which they come."""

    name: str
    jobs: tuple[Job, ...]


class TraceWork(msgspec.Struct, frozen=True, kw_only=True, tag="trace"):
    """Jobs of a log."""

    name: str
    path: str
    rules: TraceRules
    jobs_at_most: int | None = None


WorkPart: TypeAlias = ArrivingWork | Backlog | JobList | TraceWork


def is_endless(part: WorkPart) -> bool:
    """Return whether a simulation of *part* alone would never be over."""
    match part:
        case JobList(jobs=jobs):
            return any(job.run_ms is None for job in jobs)
        case TraceWork():
            return False
        case _:
            runs_on = any(shape.run_ms is None for shape in part.shapes)
            return runs_on or (part.jobs_at_most is None and not _has_end(part))


def _has_end(part: ArrivingWork | Backlog) -> bool:
    match part:
        case ArrivingWork(arrivals=At()):
            return True
        case ArrivingWork(arrivals=arrivals):
            return not isinstance(arrivals, At) and arrivals.until_ms is not None
        case Backlog():
            return part.until_ms is not None
