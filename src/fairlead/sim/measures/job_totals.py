"""Outcomes of jobs: of one job while it is alive, and of groups of jobs by queue, user and kind.

Exact quantiles need every wait. They are kept as plain machine numbers, 24 bytes a job, not as
objects: 200,000 jobs take 5 MB. A job is counted once, in the group of its three names; the groups
are put together in the end.
"""

from array import array
from collections.abc import Callable, Iterable
from math import inf
from typing import Final, NamedTuple, get_args

from fairlead.model.axes import Amounts
from fairlead.sim.engine.events import Cause
from fairlead.sim.engine.job import Job
from fairlead.sim.measures.queue_on_share import JobOnShare

CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)


class JobTotals:
    """What jobs came to: those of one queue, user and kind, or of several put together."""

    def __init__(self, resources: int) -> None:
        """No jobs yet."""
        self.submitted = self.finished = 0
        self.first_submit_ms: int | None = None
        self.last_finish_ms: int | None = None
        self.waits_ms = array("q")  # of jobs that started
        self.ages_ms = array("q")  # of jobs that had not started at the end
        self.slowdowns = array("d")
        self.finish_time_fairness = array("d")
        self.allocated = [0] * resources
        self.lost: dict[Cause, list[int]] = {cause: [0] * resources for cause in CAUSES}
        self.stops: dict[Cause, int] = {}
        self.stopped_pods: dict[Cause, int] = {}

    def submit(self, submit_ms: int) -> None:
        """Count a job that came."""
        self.submitted += 1
        if self.first_submit_ms is None or submit_ms < self.first_submit_ms:
            self.first_submit_ms = submit_ms

    def stop(self, cause: Cause, pods: int, requests: Amounts, lost_ms: int) -> None:
        """Count that pods of a job lost their places; *lost_ms* is pod time of work."""
        self.stops[cause] = self.stops.get(cause, 0) + 1
        self.stopped_pods[cause] = self.stopped_pods.get(cause, 0) + pods
        lost = self.lost[cause]
        for resource, amount in enumerate(requests):
            lost[resource] += amount * lost_ms

    def add_allocated(self, requests: Amounts, held_ms: int) -> None:
        """Count the pod time that a job had a place until it was done, or until the end."""
        for resource, amount in enumerate(requests):
            self.allocated[resource] += amount * held_ms

    def finish(self, at_ms: int, slowdown: float | None, fairness: float | None) -> None:
        """Count a job that is done; ratios are None where they are not defined."""
        self.finished += 1
        self.last_finish_ms = at_ms  # they come in the order of time
        if slowdown is not None:
            self.slowdowns.append(slowdown)
        if fairness is not None:
            self.finish_time_fairness.append(fairness)

    def lost_in_all(self) -> list[int]:
        """The resource-time of work that was lost, whatever the cause."""
        return [sum(amounts) for amounts in zip(*self.lost.values(), strict=True)]

    def merge(self, other: "JobTotals") -> None:
        """Count all jobs of *other* too; a job must not be in both."""
        self.submitted += other.submitted
        self.finished += other.finished
        submits = [self.first_submit_ms, other.first_submit_ms]
        finishes = [self.last_finish_ms, other.last_finish_ms]
        self.first_submit_ms = min((ms for ms in submits if ms is not None), default=None)
        self.last_finish_ms = max((ms for ms in finishes if ms is not None), default=None)
        self.waits_ms.extend(other.waits_ms)
        self.ages_ms.extend(other.ages_ms)
        self.slowdowns.extend(other.slowdowns)
        self.finish_time_fairness.extend(other.finish_time_fairness)
        self.allocated = [a + b for a, b in zip(self.allocated, other.allocated, strict=True)]
        for cause, lost in other.lost.items():
            self.lost[cause] = [a + b for a, b in zip(self.lost[cause], lost, strict=True)]
        for cause, times in other.stops.items():
            self.stops[cause] = self.stops.get(cause, 0) + times
            self.stopped_pods[cause] = self.stopped_pods.get(cause, 0) + other.stopped_pods[cause]


SHORTEST_RUN_MS: Final = 10_000
"""Jobs that run for less are taken to run for so long where a wait is compared with a run time."""


class JobRecord:
    """One job from its submission until it is done."""

    def __init__(
        self, job: Job, requests: Amounts, path: tuple[int, ...], totals: JobTotals
    ) -> None:
        """A job that waits.

        *requests* are those of one pod, *path* has the places of its queue and of all above.
        """
        self.job = job
        self.requests = requests
        self.path = path
        self.totals = totals  # of the jobs that it is counted with
        self.has_started = False
        self.on_share: JobOnShare | None = None  # None: it takes no part in that model
        self._pods = 0
        self._moment = 0

    def hold(self, at_ms: int, pods: int) -> list[int]:
        """From *at_ms* on so many pods more (or fewer) have a place; return their amounts."""
        self._pods += pods
        self._moment += pods * at_ms
        return [amount * pods for amount in self.requests]

    def held_ms(self, at_ms: int) -> int:
        """The pod time with a place until *at_ms*."""
        return self._pods * at_ms - self._moment

    def slowdown(self, finish_ms: int) -> float | None:
        """How many times longer than its run time it took; None if it never ends by itself."""
        if self.job.run_ms is None:
            return None
        took_ms = finish_ms - self.job.submit_ms
        return max(1.0, took_ms / max(self.job.run_ms, SHORTEST_RUN_MS))

    def come_on_share(self, entitled: Amounts) -> JobOnShare | None:
        """Take part in the model of its queue, to which so much is due now.

        None if there is nothing to compare: nothing to run, or nothing due of what it requests.
        """
        requested = tuple([amount * self.job.pods for amount in self.requests])
        is_due = all(due or not amount for amount, due in zip(requested, entitled, strict=True))
        if self.job.run_ms != 0 and is_due:
            run_ms = inf if self.job.run_ms is None else self.job.run_ms
            self.on_share = JobOnShare(requested, run_ms)
        return self.on_share


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
