"""Jobs that are alike in all that decides whether there is room for them, each kind by a number.

A backlog of thousands is of a few kinds. What no job of a kind can have need not be tried by each.
"""

from collections import Counter
from collections.abc import Hashable
from typing import Final, NamedTuple, NewType

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.jobs.start_job import Shape, shape_of

JobClass = NewType("JobClass", int)

_MOST_JOBS: Final = 10_000
"""How many jobs are remembered beyond those that there are, before all are forgotten."""


class _Known(NamedTuple):
    """A job as it was when it was looked at."""

    workload: Workload
    pods: tuple[PodId, ...]
    has_run: bool
    job_class: JobClass


class JobClasses:
    """The kinds of the jobs of one state, as far as anybody asked."""

    def __init__(self, state: ClusterState) -> None:
        """Look at nobody yet."""
        self._state = state
        self._jobs: dict[WorkloadName, _Known] = {}
        self._numbers: dict[Hashable, JobClass] = {}
        self._requests: list[Amounts] = []  # of each kind

    def of(self, job: WorkloadName, pods: tuple[PodId, ...]) -> JobClass:
        """Return the kind of a job of which *pods* would start next.

        Jobs of one kind have the same priority, may be preempted or not, have a place for some of
        their pods or for none, and their next pods find room at the same places. Numbers hold until
        they are forgotten, between cycles. Cost: a look at what is known, unless the job changed.
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
        """Return what the next pods of a job of that kind would cost its queue."""
        return self._requests[job_class]

    def drop_departed(self) -> bool:
        """Forget all numbers if most of what is known is of jobs that have gone, and say so."""
        if len(self._jobs) <= len(self._state.workloads) + _MOST_JOBS:
            return False
        self._jobs.clear()
        self._numbers.clear()
        self._requests.clear()
        return True

    def _number(self, workload: Workload, pods: tuple[PodId, ...], *, has_run: bool) -> JobClass:
        sets = workload.pod_sets
        if len(pods) == 1:
            shapes: tuple[tuple[Shape, int], ...] = ((shape_of(workload, sets.of(pods[0])), 1),)
        else:  # in the order of the pods, which is that of placing
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
