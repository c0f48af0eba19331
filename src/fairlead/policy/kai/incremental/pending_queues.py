"""Who waits in each queue, in order and by kind, followed through the changes of one state.

A backlog of thousands changes by a job or two from cycle to cycle. So each queue has its line,
which is made once, and made anew where the change log of the state says that a job changed. A line
that was handed out stays as it is.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.jobs.gang import Fullness, Gang
from fairlead.policy.kai.jobs.job_class import JobClass, JobClasses

JobKey: TypeAlias = tuple[int, int, int, WorkloadName]

JobsByClass: TypeAlias = Mapping[JobClass, Sequence[JobKey]]
"""Who of a queue is of which kind."""


class Place(NamedTuple):
    """Where a job stands that can start something."""

    key: JobKey
    job_class: JobClass
    pods: tuple[PodId, ...]  # that it would start next


class PendingQueue(NamedTuple):
    """Who waits in one queue, which nobody may change."""

    keys: list[JobKey]  # of those who can start something, the next one first
    places: Mapping[WorkloadName, Place]  # of each of them
    classes: Mapping[JobClass, list[JobKey]]  # who of them is of which kind, the next one first
    unready: Mapping[WorkloadName, None]  # who waits and can start nothing


class ClassSummary(NamedTuple):
    """How many who wait are of one kind, and one of them with the pods that it would start next."""

    size: int
    job: WorkloadName
    pods: tuple[PodId, ...]


class _Found(NamedTuple):
    """Where a job was found."""

    queue: QueueName
    place: Place | None  # None: it can start nothing


class IncrementalPendingQueues:
    """The lines of all queues, known or not, in which somebody waits."""

    def __init__(
        self, state: ClusterState, gang_of: Callable[[WorkloadName], Gang], classes: JobClasses
    ) -> None:
        """Follow *state*. Nobody is looked at yet."""
        self._state = state
        self._gang_of = gang_of
        self._classes = classes
        self._read_at: int | None = None  # None: nothing was read
        self._lines: dict[QueueName, PendingQueue] = {}
        self._found: dict[WorkloadName, _Found] = {}
        self._of_kind: dict[JobClass, dict[WorkloadName, tuple[PodId, ...]]] = {}
        self._queues: dict[
            JobClass, Counter[QueueName]
        ] = {}  # with how many of each kind are in them
        self._tally: Mapping[JobClass, ClassSummary] = {}
        self._changed_kinds: set[JobClass] = set()  # since that was made

    def all(self) -> Mapping[QueueName, PendingQueue]:
        """Return the lines as they are now.

        Law: they are what lining up everybody anew gives, and a line is the same object until
        somebody in that queue changes. Cost: those who changed, and a copy of their lines.
        """
        touched = self._state.touched
        if self._read_at is None or not touched.remembers(self._read_at):
            self._begin()
        elif touched.moment != self._read_at:
            self._change(touched.since(self._read_at))
        self._read_at = touched.moment
        return self._lines

    def tally(self) -> Mapping[JobClass, ClassSummary]:
        """Return the kinds of all who can start something, as of the last time lines were read.

        Nobody may change it; it stays as it is. Cost: the kinds of those who changed, and a copy.
        """
        if self._changed_kinds:
            tally = {**self._tally}
            for job_class in self._changed_kinds:
                jobs = self._of_kind.get(job_class)
                if jobs is None:
                    tally.pop(job_class, None)
                else:
                    tally[job_class] = ClassSummary(len(jobs), *next(iter(jobs.items())))
            self._tally = tally
            self._changed_kinds.clear()
        return self._tally

    def queues_of(self, classes: Iterable[JobClass]) -> list[QueueName]:
        """Return the queues in which somebody is of one of *classes*, each once.

        As of the last time lines were read. Cost: as many as there are, kind by kind.
        """
        return list(
            dict.fromkeys([q for job_class in classes for q in self._queues.get(job_class, ())])
        )

    def forget(self) -> None:
        """Forget everything: kinds have got other numbers."""
        self._read_at = None

    def job_class(self, job: WorkloadName, pods: tuple[PodId, ...]) -> JobClass:
        """Return what a job of which *pods* would start next has in common with others."""
        return self._classes.of(job, pods)

    def request(self, job_class: JobClass) -> Amounts:
        """Return what the next pods of a job of that kind would cost its queue."""
        return self._classes.request(job_class)

    def _begin(self) -> None:
        self._lines.clear()
        self._found.clear()
        self._of_kind.clear()
        self._queues.clear()
        self._tally = {}
        self._changed_kinds.clear()
        for queue in self._state.waited_for():
            come = {name: self._find(name) for name in self._state.waiting(queue)}
            self._lines[queue] = _changed(_EMPTY, {}, come)
            for name, found in come.items():
                self._put(name, found)

    def _change(self, names: Iterable[WorkloadName]) -> None:
        """Take in that something about these jobs changed, maybe their queue."""
        gone: dict[QueueName, dict[WorkloadName, _Found]] = {}
        come: dict[QueueName, dict[WorkloadName, _Found]] = {}
        for name in names:
            before = self._found.get(name)
            now = self._find(name) if self._waits(name) else None
            if now == before:  # it was undone
                continue
            if before is not None:
                gone.setdefault(before.queue, {})[name] = before
                self._drop(name, before)
            if now is not None:
                come.setdefault(now.queue, {})[name] = now
                self._put(name, now)
        lines = self._lines
        for queue in {*gone, *come}:
            line = _changed(lines.get(queue, _EMPTY), gone.get(queue, {}), come.get(queue, {}))
            lines[queue] = line
            if not line.keys and not line.unready:
                del lines[queue]

    def _put(self, name: WorkloadName, found: _Found) -> None:
        self._found[name] = found
        if found.place is not None:
            job_class = found.place.job_class
            if job_class not in self._of_kind:
                self._of_kind[job_class], self._queues[job_class] = {}, Counter()
            self._of_kind[job_class][name] = found.place.pods
            self._queues[job_class][found.queue] += 1
            self._changed_kinds.add(job_class)

    def _drop(self, name: WorkloadName, found: _Found) -> None:
        del self._found[name]
        if found.place is not None:
            job_class = found.place.job_class
            alike, queues = self._of_kind[job_class], self._queues[job_class]
            del alike[name]
            queues[found.queue] -= 1
            if not queues[found.queue]:
                del queues[found.queue]
            if not alike:
                del self._of_kind[job_class], self._queues[job_class]
            self._changed_kinds.add(job_class)

    def _waits(self, name: WorkloadName) -> bool:
        workload, run = self._state.workloads.get(name), self._state.runs.get(name)
        return workload is not None and (len(run.pods) if run else 0) < workload.pod_count()

    def _find(self, name: WorkloadName) -> _Found:
        workload, run = self._state.workloads[name], self._state.runs.get(name)
        gang = self._gang_of(name)
        may_start = workload.active and name not in self._state.holds.workloads
        pods = gang.next_pods(run) if may_start else ()
        if not pods:
            return _Found(workload.queue, None)
        key = job_order_key(workload, gang.fullness(run))
        return _Found(workload.queue, Place(key, self._classes.of(name, pods), pods))


def job_order_key(workload: Workload, fullness: Fullness) -> JobKey:
    """Return by what a job that has so many of its pods is ordered in its queue."""
    return -workload.priority, fullness, workload.created_ms, workload.name


def _changed(
    before: PendingQueue, gone: Mapping[WorkloadName, _Found], come: Mapping[WorkloadName, _Found]
) -> PendingQueue:
    """Return a line without those who have *gone* from their places and with who *come*."""
    keys, places, unready = before.keys.copy(), {**before.places}, {**before.unready}
    classes = {**before.classes}
    for job_class in {f.place.job_class for each in (gone, come) for f in each.values() if f.place}:
        classes[job_class] = (
            classes[job_class].copy() if job_class in classes else []
        )  # the others stay as they are
    for name, found in gone.items():
        place = found.place
        if place is None:
            del unready[name]
            continue
        del places[name]
        for line in (keys, classes[place.job_class]):
            del line[bisect_left(line, place.key)]
        if not classes[place.job_class]:
            del classes[place.job_class]
    for name, found in come.items():
        place = found.place
        if place is None:
            unready[name] = None
            continue
        places[name] = place
        for line in (keys, classes.setdefault(place.job_class, [])):
            insort(line, place.key)
    return PendingQueue(keys, places, classes, unready)


_EMPTY: Final = PendingQueue([], {}, {}, {})
