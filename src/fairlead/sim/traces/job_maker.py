"""One row of a trace as a job of a scenario, by the rules, or the reason why it gives none."""

from functools import lru_cache, partial
from typing import Final

from fairlead.sim.job import Job
from fairlead.sim.traces.pod_shape import PodShape, pod_shape
from fairlead.sim.traces.queue_rule import queue_of
from fairlead.sim.traces.trace_job import TraceJob
from fairlead.sim.traces.trace_rules import TraceRules

NO_RUN_TIME: Final = "have no run time"
NO_QUEUE: Final = "belong to no queue"
TOLD_TWICE: Final = "are told twice"

_KEPT_ANSWERS: Final = 65536


class JobMaker:
    """Makes jobs of rows that come in the order of time; the first job sets the clock.

    Law: the time of a job since the first one is scaled and cut down to a millisecond, so nobody
    overtakes; a run never becomes shorter than a millisecond.
    """

    def __init__(self, rules: TraceRules, repeated: frozenset[str], later_ms: int = 0) -> None:
        """Begin; *repeated* are the ids that more than one row has.

        Jobs come *later_ms* later than the rules say.
        """
        self.shares_gpu = False  # whether the last job that was made does
        self._rules = rules
        self._repeated = repeated
        self._later_ms = later_ms
        self._same_id: dict[str, _SameId] = {}
        self._origin_ms: int | None = None
        # A fraction takes longer to tell its parts than a job takes to be made.
        self._submit_up, self._submit_down = rules.submit_scale.as_integer_ratio()
        self._run_up, self._run_down = rules.run_scale.as_integer_ratio()
        # Jobs come in few sizes and from few people, so most of this was worked out before.
        self._shape = lru_cache(maxsize=_KEPT_ANSWERS)(partial(pod_shape, rules))
        self._queue = lru_cache(maxsize=_KEPT_ANSWERS)(partial(queue_of, rules.queues))

    def job_of(self, row: TraceJob) -> Job | str:
        """Return the job, or why there is none."""
        if not row.run_ms:
            return NO_RUN_TIME
        shape = self._shape(row.asks, row.pods)
        if isinstance(shape, str):
            return shape
        queue = self._queue(row.queue, row.group, row.user)
        if queue is None:
            return NO_QUEUE
        name = self._own_name(row) if row.id in self._repeated else row.id
        if not name:
            return TOLD_TWICE
        if self._origin_ms is None:
            self._origin_ms = row.submit_ms
        self.shares_gpu = shape.shares_gpu
        after_ms = (row.submit_ms - self._origin_ms) * self._submit_up // self._submit_down
        submit_ms = self._later_ms + after_ms
        if not self._rules.start_at_zero:
            submit_ms += self._origin_ms
        return self._job(row, name, queue, shape, submit_ms, self._scaled_run_ms(row.run_ms))

    def _job(
        self, row: TraceJob, name: str, queue: str, shape: PodShape, submit_ms: int, run_ms: int
    ) -> Job:
        rules = self._rules
        if row.priority is None:
            priority = rules.default_priority
        else:
            priority = rules.priorities.get(row.priority, row.priority)
        return Job(
            name=rules.name_prefix + name,
            queue=queue,
            user=row.user,
            kind=rules.job_kind,
            submit_ms=submit_ms,
            run_ms=run_ms,
            pods=shape.pods,
            min_pods=shape.pods if rules.gang else 1,
            requests=shape.requests,
            priority=priority,
            preemptible=rules.preemptible,
            checkpoint_ms=rules.checkpoint_ms,
            asked_ms=self._scaled_run_ms(row.asked_ms) if row.asked_ms else None,
        )

    def _scaled_run_ms(self, run_ms: int) -> int:
        return run_ms * self._run_up // self._run_down or 1

    def _own_name(self, row: TraceJob) -> str:
        """Return a name for a job whose id others have too; blank if it is the same job again."""
        same = self._same_id.setdefault(row.id, _SameId())
        if row.submit_ms != same.submit_ms:
            same.submit_ms = row.submit_ms
            same.rows.clear()
        if row in same.rows:
            return ""
        same.rows.add(row)
        same.count += 1
        return row.id if same.count == 1 else f"{row.id}#{same.count}"


class _SameId:
    """What was made of the rows of one id: how many jobs, and of which rows the latest came."""

    def __init__(self) -> None:
        self.count = 0
        self.submit_ms: int | None = None
        self.rows: set[TraceJob] = set()  # of that moment only: rows come in the order of time
