"""The pending jobs of each queue, kept and updated where the state changed.

A backlog of thousands changes by a job or two from cycle to cycle. A queue that was handed out is
never changed: an update makes a new one.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.jobs.alike import JobClass, JobClasses
from fairlead.policy.kai.ordering.pending_queues import (
    ClassSummary,
    PendingJob,
    PendingQueue,
    pending_job,
)


class _Known(NamedTuple):
    """The queue of a pending job, and its position there."""

    queue: QueueName
    job: PendingJob | None  # None: it can start nothing


class IncrementalPendingQueues:
    """The pending jobs of all queues of one state, existing or not."""

    def __init__(self, state: ClusterState, classes: JobClasses) -> None:
        """Track *state*. Nothing is read yet."""
        self._state = state
        self._classes = classes
        self._generation = classes.generation
        self._read_at: int | None = None  # None: nothing was read
        self._queues: dict[QueueName, PendingQueue] = {}
        self._known: dict[WorkloadName, _Known] = {}
        self._of_class: dict[JobClass, dict[WorkloadName, tuple[PodId, ...]]] = {}
        self._summaries: Mapping[JobClass, ClassSummary] = {}
        self._changed_classes: set[JobClass] = set()  # since the summaries were made

    def queues(self) -> Mapping[QueueName, PendingQueue]:
        """Return the pending jobs of every queue that has any, as of now.

        Law: equal to `PendingQueues.queues`, and a queue is the same object until a job in it
        changes. Cost: the changed jobs, and a copy of their queues.
        """
        touched = self._state.touched
        is_outdated = self._generation != self._classes.generation
        if self._read_at is None or is_outdated or not touched.remembers(self._read_at):
            self._begin()
        elif touched.moment != self._read_at:
            self._update(touched.since(self._read_at))
        self._read_at = touched.moment
        return self._queues

    def summaries(self) -> Mapping[JobClass, ClassSummary]:
        """Return the classes of all jobs that can start pods, as of the last `queues` call.

        The mapping is never changed. Cost: the classes of the changed jobs, and a copy.
        """
        if self._changed_classes:
            summaries = {**self._summaries}
            for job_class in self._changed_classes:
                jobs = self._of_class.get(job_class)
                if jobs is None:
                    summaries.pop(job_class, None)
                else:
                    summaries[job_class] = ClassSummary(len(jobs), *next(iter(jobs.items())))
            self._summaries = summaries
            self._changed_classes.clear()
        return self._summaries

    def job_class(self, job: WorkloadName, pods: tuple[PodId, ...]) -> JobClass:
        """Return the class of *job* if *pods* are what it would start next."""
        return self._classes.of(job, pods)

    def request(self, job_class: JobClass) -> Amounts:
        """Return what the next pods of a job of that class would cost its queue."""
        return self._classes.request(job_class)

    def _begin(self) -> None:
        self._generation = self._classes.generation
        self._queues.clear()
        self._known.clear()
        self._of_class.clear()
        self._summaries = {}
        self._changed_classes.clear()
        for queue in self._state.waited_for():
            added = {name: self._find(name) for name in self._state.waiting(queue)}
            self._queues[queue] = _updated(_EMPTY, {}, added)
            for name, known in added.items():
                self._put(name, known)

    def _update(self, names: Iterable[WorkloadName]) -> None:
        """Read jobs again of which something changed, maybe the queue."""
        removed: dict[QueueName, dict[WorkloadName, _Known]] = {}
        added: dict[QueueName, dict[WorkloadName, _Known]] = {}
        for name in names:
            before = self._known.get(name)
            now = self._find(name) if self._is_pending(name) else None
            if now == before:  # the change was undone
                continue
            if before is not None:
                removed.setdefault(before.queue, {})[name] = before
                self._drop(name, before)
            if now is not None:
                added.setdefault(now.queue, {})[name] = now
                self._put(name, now)
        queues = self._queues
        for queue in {*removed, *added}:
            known = queues.get(queue, _EMPTY)
            made = _updated(known, removed.get(queue, {}), added.get(queue, {}))
            queues[queue] = made
            if not made.keys and not made.unready:
                del queues[queue]

    def _put(self, name: WorkloadName, known: _Known) -> None:
        self._known[name] = known
        if known.job is not None:
            job_class = known.job.job_class
            self._of_class.setdefault(job_class, {})[name] = known.job.pods
            self._changed_classes.add(job_class)

    def _drop(self, name: WorkloadName, known: _Known) -> None:
        del self._known[name]
        if known.job is not None:
            job_class = known.job.job_class
            del self._of_class[job_class][name]
            if not self._of_class[job_class]:
                del self._of_class[job_class]
            self._changed_classes.add(job_class)

    def _is_pending(self, name: WorkloadName) -> bool:
        workload, run = self._state.workloads.get(name), self._state.runs.get(name)
        return workload is not None and (len(run.pods) if run else 0) < workload.pod_count()

    def _find(self, name: WorkloadName) -> _Known:
        job = pending_job(self._state, name, self._classes)
        return _Known(self._state.workloads[name].queue, job)


def _updated(
    before: PendingQueue,
    removed: Mapping[WorkloadName, _Known],
    added: Mapping[WorkloadName, _Known],
) -> PendingQueue:
    """Return a queue without the *removed* jobs and with the *added* ones."""
    keys, jobs, unready = before.keys.copy(), {**before.jobs}, {**before.unready}
    classes = {**before.classes}
    for each in {k.job.job_class for some in (removed, added) for k in some.values() if k.job}:
        classes[each] = classes[each].copy() if each in classes else []  # the others are shared
    for name, known in removed.items():
        job = known.job
        if job is None:
            del unready[name]
            continue
        del jobs[name]
        for line in (keys, classes[job.job_class]):
            del line[bisect_left(line, job.key)]
        if not classes[job.job_class]:
            del classes[job.job_class]
    for name, known in added.items():
        job = known.job
        if job is None:
            unready[name] = None
            continue
        jobs[name] = job
        for line in (keys, classes.setdefault(job.job_class, [])):
            insort(line, job.key)
    return PendingQueue(keys, jobs, classes, unready)


_EMPTY: Final = PendingQueue([], {}, {}, {})
