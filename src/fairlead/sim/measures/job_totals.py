"""The outcomes of many jobs that are counted together, as numbers only.

Exact quantiles need every wait. They are kept as plain machine numbers, 24 bytes a job, not as
objects: 200,000 jobs take 5 MB.
"""

from array import array

from fairlead.model.axes import Amounts
from fairlead.sim.happenings import Cause


class JobTotals:
    """What jobs came to: those of one queue, user and kind, or of several put together."""

    __slots__ = (
        "allocated",
        "finish_time_fairness",
        "finished",
        "first_submit_ms",
        "last_finish_ms",
        "lost",
        "oldest_unstarted_ms",
        "slowdowns",
        "stopped_pods",
        "stops",
        "submitted",
        "unstarted",
        "unstarted_ms",
        "waits_ms",
    )

    def __init__(self, resources: int) -> None:
        """No jobs yet."""
        self.submitted = self.finished = 0
        self.unstarted = self.unstarted_ms = self.oldest_unstarted_ms = 0
        self.first_submit_ms: int | None = None
        self.last_finish_ms: int | None = None
        self.waits_ms = array("q")
        self.slowdowns = array("d")
        self.finish_time_fairness = array("d")
        self.allocated = [0] * resources
        self.lost = [0] * resources
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
        for resource, amount in enumerate(requests):
            self.lost[resource] += amount * lost_ms

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

    def leave_unstarted(self, age_ms: int) -> None:
        """Count a job that had not started at the end."""
        self.unstarted += 1
        self.unstarted_ms += age_ms
        self.oldest_unstarted_ms = max(self.oldest_unstarted_ms, age_ms)

    def merge(self, other: "JobTotals") -> None:
        """Count all jobs of *other* too; a job must not be in both."""
        self.submitted += other.submitted
        self.finished += other.finished
        self.unstarted += other.unstarted
        self.unstarted_ms += other.unstarted_ms
        self.oldest_unstarted_ms = max(self.oldest_unstarted_ms, other.oldest_unstarted_ms)
        submits = [self.first_submit_ms, other.first_submit_ms]
        finishes = [self.last_finish_ms, other.last_finish_ms]
        self.first_submit_ms = min((ms for ms in submits if ms is not None), default=None)
        self.last_finish_ms = max((ms for ms in finishes if ms is not None), default=None)
        self.waits_ms.extend(other.waits_ms)
        self.slowdowns.extend(other.slowdowns)
        self.finish_time_fairness.extend(other.finish_time_fairness)
        self.allocated = [a + b for a, b in zip(self.allocated, other.allocated, strict=True)]
        self.lost = [a + b for a, b in zip(self.lost, other.lost, strict=True)]
        for cause, times in other.stops.items():
            self.stops[cause] = self.stops.get(cause, 0) + times
            self.stopped_pods[cause] = self.stopped_pods.get(cause, 0) + other.stopped_pods[cause]
