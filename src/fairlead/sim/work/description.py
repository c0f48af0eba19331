"""What is written down about a source of work, and what can be wrong with it."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from fairlead.sim.work.arrivals import Arrivals, arrival_defects
from fairlead.sim.work.job_shape import JobShape, mix_defects
from fairlead.sim.work.name_pick import Names, name_defects
from fairlead.sim.work.number import count_defects
from fairlead.sim.work.work_error import WorkError, span_defects, whole_number_defects


class ArrivingWork(msgspec.Struct, frozen=True, kw_only=True, tag="arriving"):
    """Jobs that are submitted whatever becomes of the others."""

    name: str  # of the source; its jobs are called after it
    queue: Names
    user: Names = ""
    shapes: tuple[JobShape, ...]
    arrivals: Arrivals
    jobs_at_most: int | None = None


class Backlog(msgspec.Struct, frozen=True, kw_only=True, tag="backlog"):
    """Work without end for one queue: when there is too little of it, there comes more."""

    name: str
    queue: str
    user: Names = ""
    shapes: tuple[JobShape, ...]
    keep: Literal["waiting", "alive"] = "waiting"  # alive: waiting or running
    jobs: int  # so many
    from_ms: int = 0
    until_ms: int | None = None  # no job is submitted then or later
    jobs_at_most: int | None = None


WorkDescription: TypeAlias = ArrivingWork | Backlog


def work_defects(work: WorkDescription) -> Iterator[WorkError]:
    """Tell everything that is wrong with a description, field by field."""
    if not work.name:
        yield WorkError("name", "found no name, expected one", "write one")
    yield from name_defects(work.queue, "queue")
    yield from name_defects(work.user, "user")
    yield from mix_defects(work.shapes, "shapes")
    match work:
        case ArrivingWork(arrivals=arrivals):
            yield from arrival_defects(arrivals, work.shapes, "arrivals")
        case Backlog():
            yield from count_defects(work.jobs, "jobs", lowest=1)
            yield from span_defects(work.from_ms, work.until_ms, "")
    if work.jobs_at_most is not None:
        yield from whole_number_defects(work.jobs_at_most, "jobs_at_most", lowest=0)
