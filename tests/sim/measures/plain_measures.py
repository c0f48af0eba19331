"""The measures worked out the slow way: from the whole history, millisecond by millisecond."""

from fractions import Fraction
from math import ceil
from statistics import fmean

from fairlead.sim.happenings import (
    CapacityChanged,
    Finished,
    Started,
    Stopped,
    Submitted,
    ToldToLeave,
)
from fairlead.sim.job import Job
from fairlead.sim.measures.entitlement_sample import EntitlementSample
from tests.sim.measures.histories import PARENTS, RESOURCES, Told


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
        samples = [each for each in told if isinstance(each, EntitlementSample)]
        self.samples = {each.at_ms: each for each in samples if each.at_ms < end_ms}
        self.times = sorted(self.samples)
        span = range(end_ms + 1)
        self._pods = {job.name: [self._pods_at(job, t) for t in span] for job in self.jobs}
        self.in_force = [self._in_force_at(t) for t in span]

    def happenings(self, job: Job) -> list[Submitted | Started | Stopped | Finished | ToldToLeave]:
        return [
            each
            for each in self.told
            if not isinstance(each, EntitlementSample | CapacityChanged)
            and each.job.name == job.name
        ]

    def _pods_at(self, job: Job, at_ms: int) -> int:
        pods = 0
        for each in self.happenings(job):
            if each.at_ms <= at_ms:
                if isinstance(each, Started):
                    pods += each.pods
                elif isinstance(each, Stopped | Finished):
                    pods -= each.pods
        return pods

    def _in_force_at(self, at_ms: int) -> int | None:
        return max((time for time in self.times if time <= at_ms), default=None)

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

    def sampled(self, field: str, time: int | None, queue: str, resource: int) -> int:
        """What a sample says of a queue: itself, or through its children."""
        if time is None:
            return 0
        amounts: dict[str, tuple[int, ...]] = getattr(self.samples[time], field)
        if queue in amounts:
            return amounts[queue][resource]
        children = [name for name, parent in PARENTS.items() if parent == queue]
        return sum(self.sampled(field, time, child, resource) for child in children)

    def allocated(self, jobs: list[Job], resource: int, begin_ms: int, end_ms: int) -> int:
        return sum(self.held(jobs, t, resource) for t in range(begin_ms, end_ms))

    def told_over(self, field: str, queue: str, resource: int, begin_ms: int, end_ms: int) -> int:
        """The integral of something that samples say."""
        return sum(
            self.sampled(field, self.in_force[t], queue, resource) for t in range(begin_ms, end_ms)
        )

    def is_backlogged(self, queue: str, resource: int, at_ms: int) -> bool:
        time = self.in_force[at_ms]
        if time is None:
            return False
        held = self.held(self.of_queue(queue), time, resource)
        return self.sampled("demand", time, queue, resource) > held

    def backlogged(self, queue: str, resource: int) -> tuple[int, int, int, int, int]:
        """Length, received, entitled, capacity and worst deficit over backlogged time."""
        span = received = entitled = capacity = worst = 0
        jobs = self.of_queue(queue)
        for t in range(self.end_ms):
            if self.is_backlogged(queue, resource, t):
                span += 1
                received += self.held(jobs, t, resource)
                entitled += self.sampled("entitled", self.in_force[t], queue, resource)
                capacity += self.capacity(t, resource)
                worst = max(worst, entitled - received)
        return span, received, entitled, capacity, worst

    def contentions(self, resource: int) -> list[list[int]]:
        """The times of samples of each contention; the last one ends it."""
        found: list[list[int]] = []
        is_on = False
        for time in self.times:
            tops = [name for name, parent in PARENTS.items() if parent is None]
            wanted = sum(self.sampled("demand", time, top, resource) for top in tops)
            if is_on:
                found[-1].append(time)
            elif wanted > self.capacity(time, resource):
                found.append([time])
            is_on = wanted > self.capacity(time, resource)
        if is_on:
            found[-1].append(self.end_ms)
        return found

    def is_fair(self, queue: str, resource: int, begin_ms: int, end_ms: int) -> bool:
        times = [t for t in range(begin_ms, end_ms) if self.is_backlogged(queue, resource, t)]
        jobs = self.of_queue(queue)
        off = sum(
            self.held(jobs, t, resource)
            - self.sampled("entitled", self.in_force[t], queue, resource)
            for t in times
        )
        return abs(off) <= Fraction(5, 100) * sum(self.capacity(t, resource) for t in times)

    def to_fairness(self, queues: list[str], resource: int) -> tuple[int, int, int | None]:
        """Contentions, those never fair, and the longest time to fairness of the others."""
        never, reached = 0, []
        contentions = self.contentions(resource)
        for times in contentions:
            fair = [
                all(self.is_fair(queue, resource, times[0], time) for queue in queues)
                for time in times
            ]
            if fair[-1]:
                steady = next(i for i in range(len(times)) if all(fair[i:]))
                reached.append(times[steady] - times[0])
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
        return next((e.at_ms for e in self.happenings(job) if isinstance(e, kind)), None)

    def slowdowns(self, jobs: list[Job]) -> list[float]:
        found = []
        for job in jobs:
            finish_ms = self.finish_ms(job)
            if finish_ms is not None and job.run_ms is not None:
                found.append(max(1.0, (finish_ms - job.submit_ms) / max(job.run_ms, 10_000)))
        return sorted(found)

    def finish_time_fairness(self, jobs: list[Job]) -> list[float]:
        found = []
        for job in jobs:
            finish_ms = self.finish_ms(job)
            if finish_ms is None or not job.run_ms:
                continue
            time = self._sample_of(job, finish_ms)
            if time is None:
                continue
            due = [self.sampled("entitled", time, job.queue, i) for i in range(len(RESOURCES))]
            asked = [job.pods * job.requests[name] for name in RESOURCES]
            if all(due[i] for i in range(len(RESOURCES)) if asked[i]):
                parts = [asked[i] / due[i] for i in range(len(RESOURCES)) if asked[i]]
                found.append((finish_ms - job.submit_ms) / (job.run_ms * max(1.0, *parts, 1.0)))
        return sorted(found)

    def _sample_of(self, job: Job, finish_ms: int) -> int | None:
        """The first sample since it was told of, if it lived to see it; else the last before."""
        told_ms = next(e.at_ms for e in self.happenings(job) if isinstance(e, Submitted))
        seen = [time for time in self.times if told_ms <= time < finish_ms]
        before = [time for time in self.times if time < told_ms]
        return seen[0] if seen else before[-1] if before else None


def quantile(ordered: list[float], percent: int) -> float | None:
    return ordered[max(ceil(Fraction(percent * len(ordered), 100)), 1) - 1] if ordered else None


def mean(values: list[float]) -> float | None:
    return fmean(values) if values else None
