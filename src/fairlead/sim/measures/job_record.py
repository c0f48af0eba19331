"""What is remembered of one job while it is alive, and how long it took against what it should."""

from typing import Final

from fairlead.model.axes import Amounts
from fairlead.sim.job import Job
from fairlead.sim.measures.job_totals import JobTotals

SHORTEST_RUN_MS: Final = 10_000
"""Jobs that run for less are taken to run for so long where a wait is compared with a run time."""


class JobRecord:
    """One job from its submission until it is done."""

    __slots__ = ("_moment", "_pods", "entitled", "has_started", "job", "path", "requests", "totals")

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
        self.entitled: Amounts | None = None  # its queue's, when it came
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

    def finish_time_fairness(self, finish_ms: int) -> float | None:
        """How many times longer it took than with what was due to its queue, and that alone.

        None where that time is not known or has no end: nothing was told of what is due, nothing
        is due of what the job asks for, or there is nothing to run.
        """
        if not self.job.run_ms or self.entitled is None:
            return None
        stretch = 1.0
        for amount, entitled in zip(self.requests, self.entitled, strict=True):
            if amount:
                if not entitled:
                    return None
                stretch = max(stretch, amount * self.job.pods / entitled)
        return (finish_ms - self.job.submit_ms) / (self.job.run_ms * stretch)
