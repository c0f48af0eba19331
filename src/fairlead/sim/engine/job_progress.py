"""How far a job has come, and what an eviction costs it.

Work is counted in pod time: a job of 4 pods that runs for an hour is 4 pod hours of work. With n
pods it does n pod hours in an hour; below its minimum it does nothing.
"""

import msgspec

from fairlead.sim.engine.job import Job


class Delays(msgspec.Struct, frozen=True, kw_only=True):
    """How long pods hold their places before any work gets done."""

    start_up_ms: int = 0  # at each start: images, data
    restart_ms: int = 0  # in addition, after work was interrupted


class JobProgress:
    """One job from its first day to its end."""

    def __init__(self, job: Job, delays: Delays) -> None:
        """Nothing is done yet, and no pod runs."""
        self.job = job
        self.running = 0
        self.leaving = 0  # the evicted ones of them: they do no work any more
        self.done = 0  # pod time of work
        self.held = 0  # pod time with a place
        self.lost = 0  # pod time of work that was done and has to be done again
        self.evictions = 0
        self.first_start_ms: int | None = None
        self.epoch = 0  # grows when pods come or go: an end scheduled earlier does not hold
        self._delays = delays
        self._accounted_ms = 0
        self._unreported = 0  # work lost by evicted pods that have not stopped yet
        self._works_from_ms = 0

    def start(self, now_ms: int, pods: int) -> None:
        """Let more *pods* have places."""
        self._account(now_ms)
        if self.first_start_ms is None:
            self.first_start_ms = now_ms
        working = self.running - self.leaving
        if working < self.job.min_pods <= working + pods:
            delay_ms = self._delays.start_up_ms
            if self.evictions:
                delay_ms += self._delays.restart_ms
            self._works_from_ms = now_ms + delay_ms
        self.running += pods
        self.epoch += 1

    def evict(self, now_ms: int, pods: int) -> None:
        """Let *pods* that run do no more work; they still hold their places.

        Nothing is lost while enough of the others go on. Else it is now: pods that start
        before these have stopped begin with what was safe.
        """
        self._account(now_ms)
        self.leaving += pods
        self.evictions += 1
        self.epoch += 1
        if self.running - self.leaving < self.job.min_pods:
            safe = self._safe()
            lost = self.done - safe
            self.done = safe
            self.lost += lost
            self._unreported += lost

    def stop(self, now_ms: int, pods: int) -> int:
        """Take the places of evicted *pods* away; returns the work lost by it."""
        self._account(now_ms)
        self.running -= pods
        self.leaving -= pods
        assert 0 <= self.leaving <= self.running, "a pod stopped that was not evicted"
        self.epoch += 1
        lost, self._unreported = self._unreported, 0
        return lost

    def finish(self, now_ms: int) -> None:
        """Give up all places: the work is done."""
        self._account(now_ms)
        self.running = self.leaving = 0
        self.epoch += 1

    def end_ms(self, now_ms: int) -> int | None:
        """Return when the job will be done if nothing changes; None: never."""
        run_ms, working = self.job.run_ms, self.running - self.leaving
        if run_ms is None or working < self.job.min_pods:
            return None
        self._account(now_ms)
        left = run_ms * self.job.pods - self.done
        return max(now_ms, self._works_from_ms) + -(-left // working)

    def _account(self, now_ms: int) -> None:
        """Take in the time since the last look, in which the same pods ran."""
        since_ms, self._accounted_ms = self._accounted_ms, now_ms
        if not self.running or since_ms == now_ms:
            return
        self.held += self.running * (now_ms - since_ms)
        worked_ms = now_ms - max(since_ms, self._works_from_ms)
        working = self.running - self.leaving
        if worked_ms > 0 and working >= self.job.min_pods:
            self.done += working * worked_ms

    def _safe(self) -> int:
        """Return how much of the work is kept by the last checkpoint."""
        every_ms = self.job.checkpoint_ms
        if every_ms is None:
            return 0
        step = every_ms * self.job.pods
        return self.done if step == 0 else self.done // step * step
