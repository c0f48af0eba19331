"""Who waits in each queue, in order and by kind, followed through the changes of one state.

A backlog of thousands changes by a job or two from cycle to cycle. So each queue has its line,
which is made once, and made anew where the change log of the state says that a job changed. A line
that was handed out stays as it is.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.policy.kai.gang import Fullness, Gang
from fairlead.policy.kai.job_kinds import JobKinds, Kind

JobKey: TypeAlias = tuple[int, int, int, WorkloadName]


class QueueLine(NamedTuple):
    """Who waits in one queue, which nobody may change."""

    keys: list[JobKey]  # of those who can start something, the next one first
    next_pods: Mapping[WorkloadName, tuple[PodId, ...]]  # what each of them would start
    kinds: Mapping[Kind, Mapping[WorkloadName, None]]  # who of them is of which kind
    unready: Mapping[WorkloadName, None]  # who waits and can start nothing


class KindTally(NamedTuple):
    """How many who wait are of one kind, and one of them with the pods that it would start next."""

    size: int
    job: WorkloadName
    pods: tuple[PodId, ...]


class _Place(NamedTuple):
    """Where a job was put."""

    queue: QueueName
    pods: tuple[PodId, ...]  # that it would start next; none: it is not ready
    key: JobKey | None
    kind: Kind | None


class WaitingLines:
    """The lines of all queues, known or not, in which somebody waits."""

    def __init__(
        self, state: ClusterState, gang_of: Callable[[WorkloadName], Gang], kinds: JobKinds
    ) -> None:
        """Follow *state*. Nobody is looked at yet."""
        self._state = state
        self._gang_of = gang_of
        self._kinds = kinds
        self._read_at: int | None = None  # None: nothing was read
        self._lines: dict[QueueName, QueueLine] = {}
        self._places: dict[WorkloadName, _Place] = {}
        self._of_kind: dict[Kind, dict[WorkloadName, None]] = {}
        self._tally: Mapping[Kind, KindTally] | None = None  # None: somebody has changed

    def all(self) -> Mapping[QueueName, QueueLine]:
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

    def tally(self) -> Mapping[Kind, KindTally]:
        """Return the kinds of all who can start something, as of the last time lines were read.

        Nobody may change it; it stays as it is. Cost: a glance at each kind, if anybody changed.
        """
        if self._tally is None:
            first = {kind: next(iter(jobs)) for kind, jobs in self._of_kind.items()}
            self._tally = {
                kind: KindTally(len(self._of_kind[kind]), name, self._places[name].pods)
                for kind, name in first.items()
            }
        return self._tally

    def forget(self) -> None:
        """Forget everything: kinds have got other numbers."""
        self._read_at = None

    def kind(self, job: WorkloadName, pods: tuple[PodId, ...]) -> Kind:
        """Return what a job of which *pods* would start next has in common with others."""
        return self._kinds.of(job, pods)

    def request(self, kind: Kind) -> Amounts:
        """Return what the next pods of a job of that kind would cost its queue."""
        return self._kinds.request(kind)

    def _begin(self) -> None:
        self._lines.clear()
        self._places.clear()
        self._of_kind.clear()
        self._tally = None
        for queue in self._state.waited_for():
            come = {name: self._stand(name) for name in self._state.waiting(queue)}
            self._lines[queue] = _changed(_EMPTY, {}, come)
            for name, place in come.items():
                self._put(name, place)

    def _change(self, names: Iterable[WorkloadName]) -> None:
        """Take in that something about these jobs changed, maybe their queue."""
        gone: dict[QueueName, dict[WorkloadName, _Place]] = {}
        come: dict[QueueName, dict[WorkloadName, _Place]] = {}
        for name in names:
            before = self._places.get(name)
            now = self._stand(name) if self._waits(name) else None
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

    def _put(self, name: WorkloadName, place: _Place) -> None:
        self._places[name] = place
        if place.kind is not None:
            self._of_kind.setdefault(place.kind, {})[name] = None
            self._tally = None

    def _drop(self, name: WorkloadName, place: _Place) -> None:
        del self._places[name]
        if place.kind is not None:
            alike = self._of_kind[place.kind]
            del alike[name]
            if not alike:
                del self._of_kind[place.kind]
            self._tally = None

    def _waits(self, name: WorkloadName) -> bool:
        workload, run = self._state.workloads.get(name), self._state.runs.get(name)
        return workload is not None and (len(run.pods) if run else 0) < workload.pod_count()

    def _stand(self, name: WorkloadName) -> _Place:
        workload, run = self._state.workloads[name], self._state.runs.get(name)
        gang = self._gang_of(name)
        pods = gang.next_pods(run) if workload.active else ()
        if not pods:
            return _Place(workload.queue, (), None, None)
        key = place_in_queue(workload, gang.fullness(run))
        return _Place(workload.queue, pods, key, self._kinds.of(name, pods))


def place_in_queue(workload: Workload, fullness: Fullness) -> JobKey:
    """Return by what a job that has so many of its pods is ordered in its queue."""
    return -workload.priority, fullness, workload.created_ms, workload.name


def _changed(
    before: QueueLine, gone: Mapping[WorkloadName, _Place], come: Mapping[WorkloadName, _Place]
) -> QueueLine:
    """Return a line without those who have *gone* from their places and with who *come*."""
    keys, next_pods, unready = before.keys.copy(), {**before.next_pods}, {**before.unready}
    kinds = {kind: {**jobs} for kind, jobs in before.kinds.items()}
    for name, place in gone.items():
        if place.key is None or place.kind is None:
            del unready[name]
            continue
        del keys[bisect_left(keys, place.key)]
        del next_pods[name]
        del kinds[place.kind][name]
        if not kinds[place.kind]:
            del kinds[place.kind]
    for name, place in come.items():
        if place.key is None or place.kind is None:
            unready[name] = None
            continue
        insort(keys, place.key)
        next_pods[name] = place.pods
        kinds.setdefault(place.kind, {})[name] = None
    return QueueLine(keys, next_pods, kinds, unready)


_EMPTY: Final = QueueLine([], {}, {}, {})
