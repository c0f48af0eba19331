"""The measures worked out the slow way: from the whole history, millisecond by millisecond."""

from fractions import Fraction
from math import ceil
from statistics import fmean

from fairlead.sim.engine.events import (
    CapacityChanged,
    Evicted,
    Finished,
    Started,
    Stopped,
    Submitted,
)
from fairlead.sim.engine.job import Job
from fairlead.sim.measures.entitlement import EntitlementChange
from tests.sim.measures.histories import PARENTS, RESOURCES, Told
from tests.sim.measures.plain_on_share import PlainShare


def beneath(queue: str) -> list[str]:
    """The queue and all that are under it."""
    children = [name for name, parent in PARENTS.items() if parent == queue]
    return [queue, *(each for child in children for each in beneath(child))]


def leaves(queue: str) -> list[str]:
    return [name for name in beneath(queue) if name not in PARENTS.values()]


class PlainMeasures:
    """Looks everything up in the full list, each time anew."""

    def __init__(self, told: list[Told], end_ms: int) -> None:
        self.told = told
        self.end_ms = end_ms
        self.jobs = [each.job for each in told if isinstance(each, Submitted)]
        self.changes = [each for each in told if isinstance(each, EntitlementChange)]
        span = range(end_ms + 1)
        self._pods = {job.name: [self._pods_at(job, t) for t in span] for job in self.jobs}
        self._ratios: dict[str, dict[str, float]] = {}  # by queue
        self._known: dict[tuple[str, int, str, int], int] = {}

    def events(self, job: Job) -> list[Submitted | Started | Stopped | Finished | Evicted]:
        return [
            each
            for each in self.told
            if not isinstance(each, EntitlementChange | CapacityChanged)
            and each.job.name == job.name
        ]

    def _pods_at(self, job: Job, at_ms: int) -> int:
        pods = 0
        for each in self.events(job):
            if each.at_ms <= at_ms:
                if isinstance(each, Started):
                    pods += each.pods
                elif isinstance(each, Stopped | Finished):
                    pods -= each.pods
        return pods

    def capacity(self, at_ms: int, resource: int) -> int:
        last = 0
        for each in self.told:
            if isinstance(each, CapacityChanged) and each.at_ms <= at_ms:
                last = each.capacity[RESOURCES[resource]]
        return last

    def held(self, jobs: list[Job], at_ms: int, resource: int) -> int:
        name = RESOURCES[resource]
        return sum(self._pods[job.name][at_ms] * job.requests[name] for job in jobs)

    def of_queue(self, queue: str) -> list[Job]:
        return [job for job in self.jobs if job.queue in beneath(queue)]

    def due(self, field: str, at_ms: int, queue: str, resource: int) -> int:
        """What was told last of a queue; if nothing was yet, what its children have."""
        key = (field, at_ms, queue, resource)
        if key not in self._known:
            told: list[dict[str, tuple[int, ...]]] = [
                getattr(each, field) for each in self.changes if each.at_ms <= at_ms
            ]
            own = [amounts[queue][resource] for amounts in told if queue in amounts]
            children = [name for name, parent in PARENTS.items() if parent == queue]
            below = (self.due(field, at_ms, child, resource) for child in children)
            self._known[key] = own[-1] if own else sum(below)
        return self._known[key]

    def allocated(self, jobs: list[Job], resource: int, begin_ms: int, end_ms: int) -> int:
        return sum(self.held(jobs, t, resource) for t in range(begin_ms, end_ms))

    def told_over(self, field: str, queue: str, resource: int, begin_ms: int, end_ms: int) -> int:
        """The integral of something that is told of queues."""
        return sum(self.due(field, t, queue, resource) for t in range(begin_ms, end_ms))

    def is_backlogged(self, queue: str, resource: int, at_ms: int) -> bool:
        held = self.held(self.of_queue(queue), at_ms, resource)
        return self.due("demand", at_ms, queue, resource) > held

    def counted(self, queue: str, resource: int, period_ms: int) -> list[int]:
        """The backlogged milliseconds but the first ones after *period_ms* without contention."""
        contended = {t for span in self.contentions(resource) for t in span}
        found, free_ms = [], 0
        for t in range(self.end_ms):
            is_backlogged = self.is_backlogged(queue, resource, t)
            free_ms = free_ms + 1 if is_backlogged and t not in contended else 0
            if is_backlogged and (t in contended or free_ms > period_ms):
                found.append(t)
        return found

    def backlogged(
        self, queue: str, resource: int, period_ms: int
    ) -> tuple[int, int, int, int, int]:
        """Length, received, entitled, capacity and worst deficit over backlogged time."""
        span = received = entitled = capacity = worst = 0
        jobs = self.of_queue(queue)
        counted = set(self.counted(queue, resource, period_ms))
        for t in range(self.end_ms):
            if t in counted:
                span += 1
                received += self.held(jobs, t, resource)
                entitled += self.due("entitled", t, queue, resource)
                capacity += self.capacity(t, resource)
                worst = max(worst, entitled - received)
        return span, received, entitled, capacity, worst

    def contentions(self, resource: int) -> list[range]:
        """The milliseconds of each contention."""
        found: list[range] = []
        tops = [name for name, parent in PARENTS.items() if parent is None]
        for t in range(self.end_ms):
            wanted = sum(self.due("demand", t, top, resource) for top in tops)
            if wanted > self.capacity(t, resource):
                if found and found[-1].stop == t:
                    found[-1] = range(found[-1].start, t + 1)
                else:
                    found.append(range(t, t + 1))
        return found

    def is_fair(self, queue: str, resource: int, span: range) -> list[bool]:
        """Whether it is fair when contention begins, and after each millisecond of it."""
        jobs = self.of_queue(queue)
        ahead = capacity = 0
        found = [True]
        for t in span:
            if self.is_backlogged(queue, resource, t):
                ahead += self.held(jobs, t, resource) - self.due("entitled", t, queue, resource)
                capacity += self.capacity(t, resource)
            found.append(abs(ahead) <= Fraction(5, 100) * capacity)
        return found

    def to_fairness(self, queues: list[str], resource: int) -> tuple[int, int, int | None]:
        """Contentions, those never fair, and the longest time to fairness of the others."""
        never, reached = 0, []
        contentions = self.contentions(resource)
        for span in contentions:
            each = [self.is_fair(queue, resource, span) for queue in queues]
            fair = [all(moment) for moment in zip(*each, strict=True)]
            if fair[-1]:
                reached.append(next(i for i in range(len(fair)) if all(fair[i:])))
            else:
                never += 1
        return len(contentions), never, max(reached, default=None)

    def waits(self, jobs: list[Job]) -> list[int]:
        starts = (self._first(job, Started) for job in jobs)
        return sorted(
            at_ms - job.submit_ms
            for job, at_ms in zip(jobs, starts, strict=True)
            if at_ms is not None
        )

    def finish_ms(self, job: Job) -> int | None:
        return self._first(job, Finished)

    def first_start_ms(self, job: Job) -> int | None:
        return self._first(job, Started)

    def _first(self, job: Job, kind: type[Started | Finished]) -> int | None:
        return next((e.at_ms for e in self.events(job) if isinstance(e, kind)), None)

    def _came_ms(self, job: Job) -> int:
        return next(each.at_ms for each in self.events(job) if isinstance(each, Submitted))

    def slowdowns(self, jobs: list[Job]) -> list[float]:
        found = []
        for job in jobs:
            finish_ms = self.finish_ms(job)
            if finish_ms is not None and job.run_ms is not None:
                found.append(max(1.0, (finish_ms - job.submit_ms) / max(job.run_ms, 10_000)))
        return sorted(found)

    def finish_time_fairness(self, jobs: list[Job]) -> list[float]:
        queues = dict.fromkeys(job.queue for job in jobs)
        known = {name: ratio for queue in queues for name, ratio in self._on_share(queue).items()}
        return sorted(known[job.name] for job in jobs if job.name in known)

    def _on_share(self, queue: str) -> dict[str, float]:
        """The ratio of each job of a queue that is done, where it is defined."""
        if queue in self._ratios:
            return self._ratios[queue]
        jobs = sorted((job for job in self.jobs if job.queue == queue), key=lambda job: job.name)
        share = PlainShare()
        ratios = self._ratios[queue] = {}
        for t in range(self.end_ms + 1):
            done = [job for job in jobs if self.finish_ms(job) == t]
            for job in done:
                end = share.end_ms(job, t)
                if end is not None:
                    ratios[job.name] = (t - job.submit_ms) / float(end - job.submit_ms)
            for job in done:
                share.remove(job)
            share.due = [self.due("entitled", t, queue, i) for i in range(len(RESOURCES))]
            for job in jobs:
                is_known = any(each.at_ms <= t for each in self.changes)
                if is_known and self._came_ms(job) == t and job not in done:
                    share.add(job)
            share.pass_one_ms(t)
        return ratios


def quantile(ordered: list[float], percent: int) -> float | None:
    return ordered[max(ceil(Fraction(percent * len(ordered), 100)), 1) - 1] if ordered else None


def mean(values: list[float]) -> float | None:
    return fmean(values) if values else None
