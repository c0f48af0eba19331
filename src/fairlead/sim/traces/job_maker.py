"""One row of a trace as a job of a scenario, by the rules, or the reason why it gives none.

A job of 32 GPUs on machines of 8 is a gang of 4 pods. All pods of a job are alike, so whole devices
must divide evenly: 9 GPUs with at most 8 a pod are 3 pods of 3, not 2 of 4.5.
"""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Final

import msgspec

from fairlead.sim.engine.job import Job
from fairlead.sim.traces.trace_job import CPU, GPU, MOST_PODS, WHOLE_GPU, Asks, TraceJob
from fairlead.sim.traces.trace_rules import MissingAmounts, TraceRules, queue_of

ASKS_NOTHING: Final = "request nothing that the trace has"
TOO_MANY_PODS: Final = f"would need more than {MOST_PODS:,} pods"

_WHOLE_CPU: Final = 1000


class PodShape(msgspec.Struct, frozen=True, kw_only=True):
    """Equal pods; ``requests`` are those of one, in base units, nothing of them 0."""

    pods: int
    requests: dict[str, int]
    shares_gpu: bool  # its pods take part of a device each


def pod_shape(rules: TraceRules, asks: Asks, pods: int) -> PodShape | str:
    """Return the pods of a job that asks for so much, spread over *pods* in its trace, or why not.

    There are as few as the rules allow, and not fewer than in the trace. Law: the pods together ask
    for what the job asks for, less than one base unit a pod more, and for no device more.
    """
    whole = _whole_amounts(rules, asks)
    if not whole:
        return ASKS_NOTHING
    count = _pod_count(whole, rules.pod_at_most, pods)
    if count is None:
        return TOO_MANY_PODS
    requests = {resource: -(-amount // count) for resource, amount in whole.items()}
    shares_gpu = requests.get(GPU, 0) % WHOLE_GPU != 0
    return PodShape(pods=count, requests=requests, shares_gpu=shares_gpu)


def _whole_amounts(rules: TraceRules, asks: Asks) -> dict[str, int]:
    """What the whole job asks for, with what its trace leaves open, and without zeros."""
    requested = dict(asks)
    if rules.processors == "gpu" and CPU in requested and not requested.get(GPU):
        requested[GPU] = requested.pop(CPU)
    missing = _missing(rules.missing, requested)
    return {name: amount for name, amount in (requested | missing).items() if amount}


def _missing(rules: MissingAmounts, requested: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for amounts, unit, whole in (
        (rules.per_gpu, requested.get(GPU, 0), WHOLE_GPU),
        (rules.per_cpu, requested.get(CPU, 0), _WHOLE_CPU),
        (rules.per_job, 1, 1),
    ):
        for resource, amount in amounts.items():
            if unit and resource not in requested and resource not in found:
                found[resource] = -(-amount * unit // whole)
    return found


def _pod_count(whole: Mapping[str, int], at_most: Mapping[str, int], pods: int) -> int | None:
    bounds = [-(-whole.get(resource, 0) // bound) for resource, bound in at_most.items()]
    fewest = max([pods, *bounds])
    devices, part = divmod(whole.get(GPU, 0), WHOLE_GPU)
    if part or not devices:
        return fewest if fewest <= MOST_PODS else None
    # More pods than devices cannot each have one: then each takes the same part of a device.
    if fewest > devices:
        return fewest if fewest <= MOST_PODS else None
    candidates = range(fewest, min(devices, MOST_PODS) + 1)
    return next((count for count in candidates if devices % count == 0), None)


NO_RUN_TIME: Final = "have no run time"
NO_QUEUE: Final = "belong to no queue"
LISTED_TWICE: Final = "are listed twice"

_KEPT_ANSWERS: Final = 65536


class JobMaker:
    """Makes jobs of rows that come in the order of time; the first job sets the clock.

    Law: the time of a job since the first one is scaled and cut down to a millisecond, so no job
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
        # To read the parts of a fraction takes longer than to make a job.
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
            return LISTED_TWICE
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
