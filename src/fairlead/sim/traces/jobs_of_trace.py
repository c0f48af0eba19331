"""The jobs of a trace in a window of time, ready for a simulation.

A log is read when a scenario is checked, and then for each rule set and seed; a long one takes
seconds each time. So its rows are kept while the file system says that the file is the same. A file
that was written a moment ago may be written again without looking newer: it is not kept.

A job of 32 GPUs on machines of 8 is a gang of 4 pods. All pods of a job are alike, so whole devices
must divide evenly: 9 GPUs with at most 8 a pod are 3 pods of 3, not 2 of 4.5.
"""

import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from fairlead.sim.engine.job import Job
from fairlead.sim.traces.read_rows import TraceRows, TraceTally, read_rows
from fairlead.sim.traces.trace_format import row_reader_of
from fairlead.sim.traces.trace_job import CPU, GPU, MOST_PODS, WHOLE_GPU, Asks, TraceError, TraceJob
from fairlead.sim.traces.trace_rules import MissingAmounts, TraceRules, check_rules, queue_of

ASKS_NOTHING: Final = "request nothing that the trace has"
TOO_MANY_PODS: Final = f"would need more than {MOST_PODS:,} pods"

_WHOLE_CPU: Final = 1000


class PodShape(NamedTuple):
    """Equal pods; ``requests`` are those of one, in base units, nothing of them 0."""

    pods: int
    requests: dict[str, int]


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
    return PodShape(count, {resource: -(-amount // count) for resource, amount in whole.items()})


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


class TraceWindow(msgspec.Struct, frozen=True, kw_only=True):
    """From when until when jobs are taken, on the clock of the trace; None: without an end."""

    from_ms: int
    until_ms: int | None


def trace_window(rules: TraceRules, first_ms: int, zero_unix_ms: int | None) -> TraceWindow:
    """Return the part of the trace that all cuts leave.

    Raises `TraceError` if it is cut by date and has no dates, or if nothing can be left.
    """
    since = [first_ms]
    until = []
    if rules.from_ms is not None:
        since.append(first_ms + rules.from_ms)
    if rules.until_ms is not None:
        until.append(first_ms + rules.until_ms)
    if rules.from_unix_ms is not None:
        since.append(rules.from_unix_ms - _known_edge(zero_unix_ms))
    if rules.until_unix_ms is not None:
        until.append(rules.until_unix_ms - _known_edge(zero_unix_ms))
    window = TraceWindow(from_ms=max(since), until_ms=min(until, default=None))
    if window.until_ms is not None and window.until_ms <= window.from_ms:
        raise TraceError(
            "the cut leaves nothing: it ends before it begins, or before the trace",
            "cut off less",
        )
    return window


def _known_edge(zero_unix_ms: int | None) -> int:
    if zero_unix_ms is None:
        raise TraceError(
            "the trace has no dates",
            "cut it by time since its first job (from, until); an SWF log has its dates in a "
            'line such as "; UnixStartTime: 1000000000"',
        )
    return zero_unix_ms


MOST_LOGS: Final = 4
"""More than one run takes work from at a time, which needs their rows in memory anyway."""

_SETTLED_NS: Final = 2_000_000_000
"""The coarsest clock of a file system in use."""

_Stamp: TypeAlias = tuple[int, ...]


class _KnownLog(NamedTuple):
    path: Path
    stamp: _Stamp
    rules: TraceRules  # as far as they decide how a log is read
    trace: TraceRows
    dropped: Counter[str]


_known: Final[list[_KnownLog]] = []  # the latest last


def read_once(
    path: Path, rules: TraceRules, tally: TraceTally, read: Callable[[], TraceRows]
) -> TraceRows:
    """Return what *read* gives, which reads the log at *path* by *rules* into an empty *tally*.

    If that is known already it is not called, and *tally* gets what it would have put there. Broken
    rows are reported by line, so a log that has some is read each time.
    """
    path = path.absolute()
    stamp, reading = _stamp_of(path), _of_reading(rules)
    for known in _known:
        if (known.path, known.stamp, known.rules) == (path, stamp, reading):
            tally.dropped.update(known.dropped)
            tally.rows = len(known.trace.rows) + known.dropped.total()
            return known.trace
    trace = read()
    if stamp is not None and not tally.broken and _stamp_of(path) == stamp:
        _known.append(_KnownLog(path, stamp, reading, trace, Counter(tally.dropped)))
        del _known[:-MOST_LOGS]
    return trace


def _stamp_of(path: Path) -> _Stamp | None:
    """Return what changes when the file does; None: that is not known."""
    try:
        about = path.stat()
    except OSError:
        return None
    newest_ns = max(about.st_mtime_ns, about.st_ctime_ns)
    if not stat.S_ISREG(about.st_mode) or time.time_ns() - newest_ns < _SETTLED_NS:
        return None
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _of_reading(rules: TraceRules) -> TraceRules:
    """Return *rules* without those that only say what rows mean."""
    return TraceRules(
        kind=rules.kind,
        columns=rules.columns,
        time_zone=rules.time_zone,
        allow_broken=rules.allow_broken,
    )


BEFORE: Final = "came before the cut"
AFTER: Final = "came after the cut"
BEYOND: Final = "came after as many jobs as were wanted"
CUT_OFF: Final = frozenset({BEFORE, AFTER, BEYOND})
"""Why rows give no job that the rules cut off on purpose."""


def jobs_of_trace(
    path: Path,
    rules: TraceRules | None = None,
    tally: TraceTally | None = None,
    *,
    later_ms: int = 0,
) -> Iterator[Job]:
    """Return the jobs of a trace by the time at which they come; *tally* gets the books.

    All of them come *later_ms* later than the rules say. Names are the ids of the trace, and the
    second job of one id is ``id#2``. Same file and rules, same jobs. Raises `TraceError` at once if
    the trace or the rules cannot be used. Memory: some 110 bytes for each row, which are kept for
    the next time that it is read.
    """
    rules, tally = rules or TraceRules(), tally or TraceTally()
    check_rules(rules)
    trace = _read(path, rules, tally)
    zero_unix_ms = trace.zero_unix_ms if rules.zero_unix_ms is None else rules.zero_unix_ms
    window = trace_window(rules, trace.rows.first_ms, zero_unix_ms)
    return _jobs(trace, JobMaker(rules, trace.repeated, later_ms), window, rules, tally)


def _read(path: Path, rules: TraceRules, tally: TraceTally) -> TraceRows:
    tally.file = tally.file or str(path)
    try:
        time_zone = ZoneInfo(rules.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as wrong:
        raise TraceError(
            f"found the time zone {rules.time_zone!r}, expected one that is known here",
            "write such as Europe/Berlin",
        ) from wrong

    def read() -> TraceRows:
        reader = row_reader_of(path, rules.kind, rules.columns, time_zone)
        return read_rows(path, reader, tally, allow_broken=rules.allow_broken)

    return read_once(path, rules, tally, read)


def _jobs(
    trace: TraceRows, make: JobMaker, window: TraceWindow, rules: TraceRules, tally: TraceTally
) -> Iterator[Job]:
    seen = given = 0
    why_no_more = ""
    for row in trace.rows.in_order():
        if window.until_ms is not None and row.submit_ms >= window.until_ms:
            why_no_more = AFTER
        elif given == rules.first_jobs:
            why_no_more = BEYOND
        if why_no_more:
            tally.dropped[why_no_more] += len(trace.rows) - seen
            return
        seen += 1
        made = BEFORE if row.submit_ms < window.from_ms else make.job_of(row)
        if isinstance(made, str):
            tally.dropped[made] += 1
            continue
        given += 1
        tally.given = given
        yield made
