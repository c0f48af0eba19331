"""Finding who must give way so that one job can have its place.

The pods of the claimant are solved one after the other, and what was found for the first ones is
kept. In a try nobody has a place by right: the victims leave, then they and the claimant are placed
again in the order of queues and jobs. Whoever gets its own place back was no victim; whoever gets
another one is moved; the rest is evicted. A judge says whether that may stand. Every try begins
from the state as the search found it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from operator import add, itemgetter
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.events import (
    Placement,
    WorkloadDisplaced,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.node_books import PodKey
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.gates import refusal
from fairlead.policy.kai.pending_jobs import PendingJobs
from fairlead.policy.kai.queue_race import QueueRace
from fairlead.policy.kai.room_bound import RoomBound
from fairlead.policy.kai.victim_line import VictimLine, charge_of
from fairlead.policy.kai.victim_pool import Candidate


class Group(NamedTuple):
    """Pods of one job that give way together."""

    job: WorkloadName
    pods: tuple[PodId, ...]
    costs: Mapping[PodId, Amounts]  # what each pod of the job costs its queue
    nodes: Mapping[PodId, str | None]  # where each of them is

    def members(self) -> list[PodKey]:
        """Return the pods with their job."""
        return [(self.job, pod) for pod in self.pods]


class Tried(NamedTuple):
    """What a try came to, if the claimant found its place: who lost it, and who is elsewhere."""

    asked: tuple[Group, ...]  # who left, in that order
    lost: Set[PodKey]
    moved: Set[PodKey]
    joined: Set[PodKey]  # pods of victims that had no place before and have one now
    grouped: tuple[Group, ...]  # all that was considered, whether or not it left


Judge: TypeAlias = Callable[[Tried], bool]
Races: TypeAlias = Callable[[WorkloadName, tuple[PodId, ...]], tuple[PendingJobs, QueueRace]]
"""Lines up all that waits, the claimant with so many pods."""


class VictimSearch:
    """Searches for one claimant; if it succeeds, the state holds what it found."""

    def __init__(
        self,
        state: ClusterState,
        finder: NodeFinder,
        races: Races,
        claimant: WorkloadName,
        pods: Sequence[PodId],
        *,
        now_ms: int,
        faithful: bool,
        note: Callable[[WorkloadName], None],
    ) -> None:
        """Search in *state*, which is on trial, for a place for *pods* of *claimant*.

        *note* is told of every job before anything is done to it.
        """
        self._state = state
        self._finder = finder
        self._races = races
        self._claimant = claimant
        self._pods = tuple(sorted(pods, key=state.workloads[claimant].pod_name))
        self._now_ms = now_ms
        self._faithful = faithful
        self._note = note
        note(claimant)
        self._base = self._nodes_with_room()
        self._places: dict[PodKey, Placed] = {}  # where who left had been
        self._joined: set[PodKey] = set()
        self._is_changed = False
        self._mark = state.mark()

    def run(
        self, line_up: Callable[[], VictimLine], judge_for: Callable[[Sequence[PodId]], Judge]
    ) -> Tried | None:
        """Return the try that stood, for all pods; None if there is none, and nothing is changed.

        *line_up* gives the candidates in the order of giving way, as the state was at the start.
        """
        kept: tuple[Group, ...] = ()
        stood: Tried | None = None
        for count in range(1, len(self._pods) + 1):
            pods = self._pods[:count]
            self._start_anew()
            stood = self._solve(kept, pods, line_up(), judge_for(pods))
            if stood is None:
                self._state.roll_back(self._mark)
                return None
            gone = stood.lost | stood.moved
            kept = tuple(g for g in stood.grouped if not gone.isdisjoint(g.members()))
        self._state.keep(self._mark)
        return stood

    def _solve(
        self, kept: tuple[Group, ...], pods: tuple[PodId, ...], line: VictimLine, judge: Judge
    ) -> Tried | None:
        """Add victims until the first *pods* of the claimant have a place that may stand."""
        held = {pod for group in kept for pod in group.members()}
        found = _Found(self._state, self._finder)
        bound = self._bound(kept, pods)
        if kept and bound.allows({}):
            stood, _ = self._attempt(kept, (), (), pods, judge)
            if stood is not None:
                return stood
        while (candidate := self._next_in(line)) is not None:
            group = _first_group(candidate, held, line)
            if group is None:
                continue
            found.add(group)
            for node in _nodes_of(group):
                if not bound.allows(found.set_free(node)):
                    continue
                more = found.with_pods_on(node)
                stood, is_placed = self._attempt(kept, more, found.groups(), pods, judge)
                if stood is not None:
                    return stood
                if is_placed:
                    break
        return None

    def _attempt(
        self,
        kept: tuple[Group, ...],
        more: tuple[Group, ...],
        found: tuple[Group, ...],
        pods: tuple[PodId, ...],
        judge: Judge,
    ) -> tuple[Tried | None, bool]:
        """Let *kept* and *more* leave and place everybody again.

        Returns the try if it stands, and whether the claimant found its place at all.
        """
        self._start_anew()
        self._is_changed = True
        asked = (*kept, *more)
        nodes = set(self._base)
        for group in asked:
            nodes |= self._let_leave(group)
        if not self._place_again({group.job for group in asked}, pods, nodes):
            return None, False
        lost, moved = self._outcome(asked)
        joined = frozenset(self._joined)
        tried = Tried(asked, lost, moved, joined, grouped=(*kept, *found))
        return (tried, True) if judge(tried) else (None, True)

    def _next_in(self, line: VictimLine) -> Candidate | None:
        """Return who is next to give way; the line is ordered by the state at the start."""
        self._start_anew()
        return line.pop()

    def _start_anew(self) -> None:
        if self._is_changed:
            self._state.roll_back(self._mark)
            self._mark = self._state.mark()
            self._places.clear()
            self._joined.clear()
            self._is_changed = False

    def _let_leave(self, group: Group) -> set[str]:
        """Take the places of a group away; returns the nodes that it had."""
        state = self._state
        self._note(group.job)
        run = state.runs[group.job]
        places = {pod: run.pods[pod] for pod in group.pods}
        self._places |= {(group.job, pod): placed for pod, placed in places.items()}
        open_ended = [pod for pod, placed in places.items() if placed.phase == "reserved"]
        if self._faithful:
            open_ended = []
        if open_ended:  # what was only promised to it holds nothing
            state.apply(WorkloadStopped(workload=group.job, pods=tuple(open_ended)))
        rest = tuple([pod for pod in group.pods if pod not in open_ended])
        if rest:
            state.apply(WorkloadDisplaced(workload=group.job, pods=rest))
        return {placed.node for placed in places.values() if placed.node is not None}

    def _place_again(
        self, victims: set[WorkloadName], pods: tuple[PodId, ...], nodes: Set[str]
    ) -> bool:
        """Place the claimant and, once each, the victims, in the order of service.

        Who else waits is taken in turn and passed over: it only shapes the order. Returns whether
        the claimant found its place.
        """
        jobs, race = self._races(self._claimant, pods)
        todo = {self._claimant, *victims}
        while todo and (queue := race.leader()) is not None:
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            if job in todo:
                todo.remove(job)
                is_placed = self._place(job, jobs.next_pods(job), nodes)
                if job == self._claimant and not is_placed:
                    return False
            jobs.drop_first(queue)
            race.renew(queue)
        return self._claimant not in todo

    def _place(self, job: WorkloadName, pods: Sequence[PodId], nodes: Set[str]) -> bool:
        """Place *pods* on *nodes*, all of them or none."""
        state = self._state
        workload = state.workloads[job]
        path: list[QueueName] = state.path(workload.queue)
        request = charge_of(state, job, pods)
        if refusal(state, path, request, preemptible=workload.preemptible) is not None:
            return False
        mark = state.mark()
        for pod in pods:
            spot = self._finder.find(workload, pod.pod_set, nodes)
            if spot is None:
                state.roll_back(mark)
                self._joined -= {(job, each) for each in pods}
                return False
            self._settle(job, pod, Placement(pod, spot.node, spot.share))
        state.keep(mark)
        return True

    def _settle(self, job: WorkloadName, pod: PodId, place: Placement) -> None:
        """Give a pod its place: what it had there before, if it had one, else a reservation."""
        before = self._places.get((job, pod))
        if before is None and job != self._claimant:
            self._joined.add((job, pod))
        if before is not None and before.phase == "running" and _is_same(before, place):
            self._state.apply(
                WorkloadStarted(workload=job, placements=(place,), at_ms=before.started_ms)
            )
            return
        self._state.apply(WorkloadReserved(workload=job, placements=(place,), at_ms=self._now_ms))

    def _outcome(self, asked: Iterable[Group]) -> tuple[set[PodKey], set[PodKey]]:
        """Return who of those who left has no place now, and who has another."""
        lost: set[PodKey] = set()
        moved: set[PodKey] = set()
        for group in asked:
            run = self._state.runs.get(group.job)
            for key in group.members():
                now = run.pods.get(key[1]) if run else None
                if now is None:
                    lost.add(key)
                elif not _is_same(self._places[key], now):
                    moved.add(key)
        return lost, moved

    def _bound(self, kept: Iterable[Group], pods: Sequence[PodId]) -> RoomBound:
        sets = self._state.workloads[self._claimant].pod_sets
        sizes = [self._finder.besides_shares(sets[pod.pod_set]) for pod in pods]
        leaving = _Found(self._state, self._finder)
        for group in kept:
            leaving.add(group)
        return RoomBound(self._finder.rooms, self._base, sizes, leaving.free)

    def _nodes_with_room(self) -> set[str]:
        """Return the nodes on which the claimant may find room without any victim.

        For one that asks for GPUs, those with a GPU idle or being released; else all.
        """
        sets = self._state.workloads[self._claimant].pod_sets
        return self._finder.nodes_with_room(sets[pod.pod_set] for pod in self._pods)


def _nodes_of(group: Group) -> list[str]:
    """Return the nodes where the job of a group has pods, those of its other groups included."""
    nodes = [node for node in group.nodes.values() if node is not None]
    return nodes if len(nodes) == 1 else sorted(set(nodes))


def _first_group(candidate: Candidate, held: Set[PodKey], line: VictimLine) -> Group | None:
    """Return what a candidate gives up first, and put it back in *line* with the rest.

    None where some of that is *held* already: then it stands in line with what is not.
    """
    group = Group(candidate.job, candidate.first_to_go(), candidate.costs, candidate.nodes)
    is_held = any((group.job, pod) in held for pod in group.pods)
    if is_held or len(group.pods) < len(candidate.pods):
        gone = held if is_held else set(group.members())
        rest = tuple([pod for pod in candidate.pods if (candidate.job, pod) not in gone])
        if rest:
            line.put_back(candidate._replace(pods=rest))
    return None if is_held else group


class _Found:
    """The groups that were added so far, by job and by node, and what they would set free."""

    def __init__(self, state: ClusterState, finder: NodeFinder) -> None:
        self.free: dict[str, list[int]] = {}  # on each node, by all groups together
        self._state = state
        self._finder = finder
        self._by_job: dict[WorkloadName, list[tuple[int, Group]]] = {}
        self._jobs_on: dict[str, dict[WorkloadName, None]] = {}
        self._nodes_with: dict[str, set[str]] = {}  # those of the jobs that are on a node
        self._groups: list[Group] = []

    def add(self, group: Group) -> None:
        """Add a group."""
        job = group.job
        groups = self._by_job.setdefault(job, [])
        groups.append((len(self._groups), group))
        self._groups.append(group)
        sets = self._state.workloads[job].pod_sets
        for pod in group.pods:
            node = group.nodes[pod]
            if node is not None:
                self._jobs_on.setdefault(node, {})[job] = None
                amounts = self._finder.at_most_freed(sets[pod.pod_set])
                free = self.free.get(node)
                self.free[node] = list(amounts if free is None else map(add, free, amounts))
        nodes = {group.nodes[pod] for _, each in groups for pod in each.pods}
        for one in nodes:
            if one is not None:
                self._nodes_with.setdefault(one, set()).update(filter(None, nodes))

    def groups(self) -> tuple[Group, ...]:
        """Return all groups in the order in which they were added."""
        return tuple(self._groups)

    def with_pods_on(self, node: str) -> tuple[Group, ...]:
        """Return all groups of those jobs that have a pod of a group on *node*, in that order."""
        numbered = [each for job in self._jobs_on.get(node, ()) for each in self._by_job[job]]
        return tuple([group for _, group in sorted(numbered, key=itemgetter(0))])

    def set_free(self, node: str) -> dict[str, list[int]]:
        """Return what `with_pods_on` would set free at most, on every node it touches."""
        return {each: self.free[each] for each in self._nodes_with.get(node, ())}


def _is_same(before: Placed, now: Placed | Placement) -> bool:
    """Return whether a pod is where it was: on the same node, and the same devices of it."""
    return before.node == now.node and before.share == now.share
