"""Which jobs are alike: by class for room, by signature for attempts to take from others.

A *class* are jobs that are alike in all that decides whether there is room for them. A backlog of
thousands of jobs has a few classes, and what holds for one job of a class holds for all.

A *signature* says which jobs need no attempt of their own, because one like them failed. A search
for victims that finds none is the most expensive part of a cycle. A job that requests no less than
one like it that failed in the same action is skipped.

Two jobs are alike if nothing but their requests can make a difference. KAI compares less, and so
skips jobs that would have got a place. It compares the constraints of pods, but not their namespace
and labels, which matter to the affinity of others; not the minimum of a job, so one that needs all
of its pods speaks for one that needs a single pod; not its priority, nor whether it is preemptible.
Consolidation has one list for all queues, although each has its own limit. Of requests that are
neither smaller nor larger it takes the second for the larger. And it keeps the list after a
success, which may have freed more room than was taken.

Neither of the two looks at the position of a job in its queue, which shapes the order in which
victims are placed again. On random clusters that made no difference.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Final, NamedTuple, NewType, TypeAlias

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodSet, Workload
from fairlead.policy.kai.jobs.start_job import Shape, shape_of

JobClass = NewType("JobClass", int)

_MOST_DEPARTED: Final = 10_000
"""How many more classes than jobs are known before all are forgotten."""


class JobClasses:
    """Numbers the classes of the jobs of one state."""

    def __init__(self, state: ClusterState) -> None:
        """Classify jobs of *state*."""
        self.generation = 0
        """Changes when all classes are forgotten and get other numbers."""
        self._state = state
        self._numbers: dict[Hashable, JobClass] = {}
        self._requests: list[Amounts] = []  # of each class

    def of(self, job: WorkloadName, pods: tuple[PodId, ...]) -> JobClass:
        """Return the class of *job* if *pods* are what it would start next.

        Jobs of one class have the same priority and preemptibility, all of them have pods that run
        or none has, and their next pods fit the same nodes. Cost: a look at each of the pods.
        """
        workload = self._state.workloads[job]
        sets = workload.pod_sets
        if len(pods) == 1:
            shapes: tuple[tuple[Shape, int], ...] = ((shape_of(workload, sets.of(pods[0])), 1),)
        else:  # in the order of the pods, in which they are placed
            counts = Counter([sets.set_index[pod] for pod in pods])
            shapes = tuple([(shape_of(workload, sets[at]), n) for at, n in counts.items()])
        key = (shapes, workload.preemptible, workload.priority, job in self._state.runs)
        job_class = self._numbers.get(key)
        if job_class is None:
            job_class = self._numbers[key] = JobClass(len(self._numbers))
            self._requests.append(self._charge(workload, pods))
        return job_class

    def request(self, job_class: JobClass) -> Amounts:
        """Return what the next pods of a job of that class would cost its queue."""
        return self._requests[job_class]

    def drop_departed(self) -> None:
        """Forget all classes if most of them have no job any more. Call it between cycles."""
        if len(self._numbers) > len(self._state.workloads) + _MOST_DEPARTED:
            self._numbers.clear()
            self._requests.clear()
            self.generation += 1

    def _charge(self, workload: Workload, pods: tuple[PodId, ...]) -> Amounts:
        rows = [workload.pod_sets.of(pod).requests for pod in pods]
        requests = tuple(map(sum, zip(*rows, strict=True)))
        return self._state.axes.charge(self._state.resources, requests)


Ask: TypeAlias = tuple[Amounts, ...]
"""What each pod requests, in an order in which pods of two jobs can be held against each other."""


class PodLabelsInUse(NamedTuple):
    """Whether any pod asks about pods around it, and the label keys that it looks at."""

    has_terms: bool
    keys: frozenset[str]


class Signature(NamedTuple):
    """What jobs that are alike have in common, and what one of them requests."""

    key: Hashable
    ask: Ask


class Failure(NamedTuple):
    """A job that found no place, and what it requested."""

    job: WorkloadName
    ask: Ask


class FailedAttempts:
    """The attempts of one action that failed.

    Law: a job that speaks for another has the same signature key and requests no more. Cost: a look
    at the pods of the job, however many attempts have failed.
    """

    def __init__(
        self,
        state: ClusterState,
        *,
        across_queues: bool = False,
        faithful: bool = False,
    ) -> None:
        """Begin an action on *state* without failures.

        *across_queues* is for consolidation, in which a job may move any other, but not itself.
        *faithful*: two jobs are alike wherever KAI takes them for it, also where that is wrong.
        """
        self._state = state
        self._across_queues = across_queues
        self._faithful = faithful
        self._least: dict[Hashable, Failure] = {}  # of each key the one that requested least
        self._equal: dict[Signature, WorkloadName] = {}

    @cached_property
    def _labels_in_use(self) -> PodLabelsInUse:
        return pod_labels_in_use(self._state)

    def refused_like(self, job: WorkloadName, pods: Sequence[PodId]) -> WorkloadName | None:
        """Return the failed job, if any, that speaks for *pods* of *job*, the next to start."""
        signature = self._signature(job, pods)
        least = self._least.get(signature.key)
        if least is None or self._stands_alone(job):
            return None
        if self._faithful:
            return None if _is_easier(signature.ask, least.ask) else least.job
        if _asks_no_more(least.ask, signature.ask):
            return least.job
        return self._equal.get(signature)

    def note_failure(self, job: WorkloadName, pods: Sequence[PodId]) -> None:
        """Remember that *pods* of *job* found no place."""
        if self._stands_alone(job):
            return
        signature = self._signature(job, pods)
        self._equal[signature] = job
        least = self._least.get(signature.key)
        if least is None or _asks_no_more(signature.ask, least.ask):
            self._least[signature.key] = Failure(job, signature.ask)

    def note_success(self) -> None:
        """Note that an attempt succeeded: others may succeed now, but KAI keeps its list."""
        if not self._faithful:
            self._least.clear()
            self._equal.clear()

    def _stands_alone(self, job: WorkloadName) -> bool:
        """Return whether no other job is like *job*: others could move its pods, it cannot."""
        run = self._state.runs.get(job)
        if run is None or self._faithful or not self._across_queues:
            return False
        return any(placed.phase != "leaving" for placed in run.pods.values())

    def _signature(self, job: WorkloadName, pods: Sequence[PodId]) -> Signature:
        workload = self._state.workloads[job]
        if self._faithful:
            return self._peer_signature(workload)
        sets = [workload.pod_sets.set_index[pod] for pod in pods]
        shapes = {at: self._shape(workload.pod_sets[at]) for at in set(sets)}
        # Of pods that are alike, more are harder to place; of others, only the same number.
        places = tuple([shapes[at] for at in sets])
        key = (
            workload.queue,
            workload.priority,
            workload.preemptible,
            workload.namespace if self._labels_in_use.has_terms else None,
            places[:1] if len(set(shapes.values())) == 1 else places,
        )
        return Signature(key, tuple([workload.pod_sets[at].requests for at in sets]))

    def _shape(self, asked: PodSet) -> Hashable:
        """Return all about a pod that decides its place, except the amounts."""
        labels = [label for label in asked.labels if label[0] in self._labels_in_use.keys]
        return asked.gpu_share, asked.constraints, tuple(labels)

    def _peer_signature(self, workload: Workload) -> Signature:
        """Return what KAI compares: all pods without a place, whether they start next or not."""
        run = self._state.runs.get(workload.name)
        placed = run.pods if run else {}
        away: dict[str, Counter[Hashable]] = {}
        waiting: list[Amounts] = []
        sets = workload.pod_sets
        for asked, pods in zip(sets, sets.ids_by_set, strict=True):
            held = sum([pod in placed and placed[pod].phase != "leaving" for pod in pods])
            if held < asked.count:
                away.setdefault(asked.sub_group, Counter())[asked.constraints] += asked.count - held
            if not asked.gated:
                waiting += [asked.requests for pod in pods if pod not in placed]
        groups = Counter([frozenset(group.items()) for group in away.values()])
        queue = None if self._across_queues else workload.queue
        key = (queue, frozenset(groups.items()))
        return Signature(key, tuple(sorted(waiting)))


def pod_labels_in_use(state: ClusterState) -> PodLabelsInUse:
    """Return the labels that terms and spread constraints of workloads and foreign pods look at.

    Cost: all workloads, once in an action that searches for victims.
    """
    sets = [each for workload in state.workloads.values() for each in workload.pod_sets]
    asked = [each.constraints for each in sets]
    every = [term for each in asked for term in (*each.pod_affinity, *each.pod_anti_affinity)]
    books = state.books
    for node in books.nodes_asked_about():
        if node in books.nodes:
            every += [term for pod in books.asked_about(node) for term in pod.pod_anti_affinity]
    spreads = [spread for each in asked for spread in each.all_spreads()]
    selectors = [each.selector for each in every] + [each.selector for each in spreads]
    keys = [each.key for selector in selectors if selector for each in selector.requirements]
    return PodLabelsInUse(bool(every or spreads), frozenset(keys))


def _asks_no_more(one: Ask, other: Ask) -> bool:
    """Return whether each pod of *one* has a partner in *other* that requests as much or more."""
    return len(one) <= len(other) and all(map(_is_within, one, other))


def _is_easier(one: Ask, other: Ask) -> bool:
    """Return whether KAI would try *one* although *other* failed.

    It does if it has fewer pods, or if one of them requests less than its partner in *other*.
    """
    if len(one) < len(other):
        return True
    return any(row != than and _is_within(row, than) for row, than in zip(one, other, strict=False))


def _is_within(row: Amounts, other: Amounts) -> bool:
    return all(amount <= most for amount, most in zip(row, other, strict=True))
