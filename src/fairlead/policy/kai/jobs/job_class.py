"""Classes of jobs that are alike in all that decides whether there is room for them.

A backlog of thousands of jobs has a few classes. What holds for one job of a class holds for all.
"""

from collections import Counter
from collections.abc import Hashable
from typing import Final, NamedTuple, NewType

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.jobs.start_job import Shape, shape_of

JobClass = NewType("JobClass", int)

_MOST_DEPARTED: Final = 10_000
"""How many departed jobs are remembered before all classes are forgotten."""


class _Known(NamedTuple):
    """A job as it was when it was classified."""

    workload: Workload
    pods: tuple[PodId, ...]
    has_run: bool
    job_class: JobClass


class JobClasses:
    """Numbers the classes of the jobs of one state."""

    def __init__(self, state: ClusterState) -> None:
        """Classify jobs of *state*, each when it is first asked about."""
        self.generation = 0
        """Changes when all classes are forgotten and get other numbers."""
        self._state = state
        self._jobs: dict[WorkloadName, _Known] = {}
        self._numbers: dict[Hashable, JobClass] = {}
        self._requests: list[Amounts] = []  # of each class

    def of(self, job: WorkloadName, pods: tuple[PodId, ...]) -> JobClass:
        """Return the class of *job* if *pods* are what it would start next.

        Jobs of one class have the same priority and preemptibility, all of them have pods that run
        or none has, and their next pods fit the same nodes. Cost: a lookup, unless the job changed.
        """
        workload, has_run = self._state.workloads[job], job in self._state.runs
        known = self._jobs.get(job)
        if (
            known is None
            or known.workload is not workload
            or known.has_run != has_run
            or known.pods != pods
        ):
            job_class = self._number(workload, pods, has_run=has_run)
            known = self._jobs[job] = _Known(workload, pods, has_run, job_class)
        return known.job_class

    def request(self, job_class: JobClass) -> Amounts:
        """Return what the next pods of a job of that class would cost its queue."""
        return self._requests[job_class]

    def drop_departed(self) -> None:
        """Forget all classes if most of the known jobs have departed. Call it between cycles."""
        if len(self._jobs) > len(self._state.workloads) + _MOST_DEPARTED:
            self._jobs.clear()
            self._numbers.clear()
            self._requests.clear()
            self.generation += 1

    def _number(self, workload: Workload, pods: tuple[PodId, ...], *, has_run: bool) -> JobClass:
        sets = workload.pod_sets
        if len(pods) == 1:
            shapes: tuple[tuple[Shape, int], ...] = ((shape_of(workload, sets.of(pods[0])), 1),)
        else:  # in the order of the pods, in which they are placed
            counts = Counter([sets.set_index[pod] for pod in pods])
            shapes = tuple([(shape_of(workload, sets[at]), n) for at, n in counts.items()])
        key = (shapes, workload.preemptible, workload.priority, has_run)
        job_class = self._numbers.get(key)
        if job_class is None:
            job_class = self._numbers[key] = JobClass(len(self._numbers))
            self._requests.append(self._charge(workload, pods))
        return job_class

    def _charge(self, workload: Workload, pods: tuple[PodId, ...]) -> Amounts:
        rows = [workload.pod_sets.of(pod).requests for pod in pods]
        requests = tuple(map(sum, zip(*rows, strict=True)))
        return self._state.axes.charge(self._state.resources, requests)
