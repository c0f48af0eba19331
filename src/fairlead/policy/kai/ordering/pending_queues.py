"""The pending jobs of each queue, in order and by class, read from a state.

`PendingSource` is what the rules ask; `PendingQueues` is its plain answer, read anew every time.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.jobs.alike import JobClass, JobClasses
from fairlead.policy.kai.jobs.gang import Fullness, Gang

JobKey: TypeAlias = tuple[int, int, int, WorkloadName]
"""The order of jobs in a queue: minus the priority, fullness, creation time, name."""

JobsByClass: TypeAlias = Mapping[JobClass, Sequence[JobKey]]
"""The jobs of a queue by class, each list in queue order."""


class PendingJob(NamedTuple):
    """A pending job that can start pods, with its position in the queue."""

    key: JobKey
    job_class: JobClass
    pods: tuple[PodId, ...]  # that it would start next


class PendingQueue(NamedTuple):
    """The pending jobs of one queue. Never changed after it was made."""

    keys: list[JobKey]  # of the jobs that can start pods, in queue order
    jobs: Mapping[WorkloadName, PendingJob]
    classes: Mapping[JobClass, list[JobKey]]  # in queue order
    unready: Mapping[WorkloadName, None]  # pending jobs that can start nothing


class ClassSummary(NamedTuple):
    """How many pending jobs are of a class, and one of them with its next pods."""

    size: int
    job: WorkloadName
    pods: tuple[PodId, ...]


class PendingSource(Protocol):
    """What the rules ask about pending jobs."""

    def queues(self) -> Mapping[QueueName, PendingQueue]:
        """Return the pending jobs of every queue that has any, existing or not, as of now."""

    def summaries(self) -> Mapping[JobClass, ClassSummary]:
        """Return the classes of all jobs that can start pods, as of the last `queues` call."""

    def job_class(self, job: WorkloadName, pods: tuple[PodId, ...]) -> JobClass:
        """Return the class of *job* if *pods* are what it would start next."""

    def request(self, job_class: JobClass) -> Amounts:
        """Return what the next pods of a job of that class would cost its queue."""


class PendingQueues:
    """Reads the pending jobs of a state from scratch, every time."""

    def __init__(self, state: ClusterState, classes: JobClasses) -> None:
        """Read from *state*; jobs are classified by *classes*."""
        self._state = state
        self._classes = classes
        self._queues: dict[QueueName, PendingQueue] = {}

    def queues(self) -> Mapping[QueueName, PendingQueue]:
        """Return the pending jobs of every queue that has any. Cost: all pending jobs."""
        state, classes = self._state, self._classes
        self._queues = {}
        for queue in state.waited_for():
            found = {name: pending_job(state, name, classes) for name in state.waiting(queue)}
            self._queues[queue] = pending_queue(found)
        return self._queues

    def summaries(self) -> Mapping[JobClass, ClassSummary]:
        """Return the classes of all jobs that can start pods, as of the last `queues` call."""
        jobs: dict[JobClass, list[PendingJob]] = {}
        for queue in self._queues.values():
            for job in queue.jobs.values():
                jobs.setdefault(job.job_class, []).append(job)
        return {
            each: ClassSummary(len(alike), alike[0].key[-1], alike[0].pods)
            for each, alike in jobs.items()
        }

    def job_class(self, job: WorkloadName, pods: tuple[PodId, ...]) -> JobClass:
        """Return the class of *job* if *pods* are what it would start next."""
        return self._classes.of(job, pods)

    def request(self, job_class: JobClass) -> Amounts:
        """Return what the next pods of a job of that class would cost its queue."""
        return self._classes.request(job_class)


def pending_job(
    state: ClusterState,
    name: WorkloadName,
    classes: JobClasses,
) -> PendingJob | None:
    """Return a pending job with its position; None if it can start nothing."""
    workload, run = state.workloads[name], state.runs.get(name)
    gang = Gang(workload)
    may_start = workload.active and name not in state.holds.workloads
    pods = gang.next_pods(run) if may_start else ()
    if not pods:
        return None
    return PendingJob(job_order_key(workload, gang.fullness(run)), classes.of(name, pods), pods)


def pending_queue(found: Mapping[WorkloadName, PendingJob | None]) -> PendingQueue:
    """Return the queue of these pending jobs; None: the job can start nothing."""
    jobs = {name: job for name, job in found.items() if job is not None}
    keys = sorted([job.key for job in jobs.values()])
    classes: dict[JobClass, list[JobKey]] = {}
    for key in keys:
        classes.setdefault(jobs[key[-1]].job_class, []).append(key)
    unready = {name: None for name, job in found.items() if job is None}
    return PendingQueue(keys, jobs, classes, unready)


def job_order_key(workload: Workload, fullness: Fullness) -> JobKey:
    """Return the position in its queue of a job with so many of its pods."""
    return -workload.priority, fullness, workload.created_ms, workload.name
