"""Jobs counted together by queue, user and kind, and put together in the end for each of these.

A job is counted once, in the one group of its three names, instead of three times. People work in
few queues, so there are few groups.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fairlead.sim.job import Job
from fairlead.sim.measures.job_totals import JobTotals


class Names(NamedTuple):
    """What a job is counted by."""

    queue: str
    user: str
    kind: str


class JobGroups:
    """The totals of all groups."""

    def __init__(self, resources: int) -> None:
        """No jobs yet."""
        self._resources = resources
        self._groups: dict[tuple[str, str, str], JobTotals] = {}

    def of(self, job: Job) -> JobTotals:
        """The totals with which *job* is counted."""
        names = (job.queue, job.user, job.kind)
        totals = self._groups.get(names)
        if totals is None:
            totals = self._groups[names] = JobTotals(self._resources)
        return totals

    def by(self, name: Callable[[Names], str]) -> dict[str, JobTotals]:
        """The totals by one of the names, in the order of them. Cost: one pass over all jobs."""
        merged: dict[str, list[JobTotals]] = {}
        for names, totals in self._groups.items():
            merged.setdefault(name(Names(*names)), []).append(totals)
        return {each: self.together(merged[each]) for each in sorted(merged)}

    def together(self, parts: Iterable[JobTotals]) -> JobTotals:
        """The totals of *parts*, which stay as they are."""
        totals = JobTotals(self._resources)
        for part in parts:
            totals.merge(part)
        return totals
