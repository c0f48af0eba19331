"""Simulating a scenario: evict the victims, then place them and the preemptor in service order.

Every scenario begins from the state as the search found it. Most victims of one scenario are
victims of the next one, in the same order, so only what the two do not share is undone.

While pods are placed room only shrinks. So a pod that found no place speaks for all pods like it
that follow; a victim with such a pod needs no turn.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple, TypeAlias

from fairlead.model.accounting.journal import Mark
from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    Placement,
    WorkloadDisplaced,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.execution.holding import kept_off
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey, Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.fair_share.capacity import refusal
from fairlead.policy.kai.jobs.start_job import Shape, shape_of
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.tournament import QueueTournament
from fairlead.policy.kai.victims.candidates import VictimGroup, charge_of

Turns: TypeAlias = tuple[PendingJobs, QueueTournament]
"""The jobs that have turns in a scenario, and the tournament of their queues."""


ServiceOrder: TypeAlias = Callable[[tuple[PodId, ...], Set[WorkloadName]], Turns]
"""Returns in which turns the preemptor, with these pods next, and its victims are placed again."""


class _Evicted(NamedTuple):
    group: VictimGroup
    mark: Mark  # before it was evicted
    nodes: set[str]  # that it had


class Evictions:
    """Groups that are evicted in a state on trial, and the places that they had."""

    def __init__(
        self, state: ClusterState, touch: Callable[[WorkloadName], None], *, faithful: bool
    ) -> None:
        """Begin without evictions. *touch* is called for every job before it is changed.

        *faithful*: a reservation is held until its pod has left, as in KAI.
        """
        self.places: dict[PodKey, Placed] = {}
        """The places that evicted pods had."""
        self._state = state
        self._touch = touch
        self._faithful = faithful
        self._evicted: list[_Evicted] = []
        self._start = state.mark()
        self._after: Mark | None = None  # after the evictions; None: nothing was done

    def evict(self, groups: Sequence[VictimGroup]) -> set[str]:
        """Let exactly these groups be evicted and nothing else be done; returns their nodes.

        Law: the state is as if they were evicted one after the other at the start. Cost: the groups
        that differ from the time before, and what was done since.
        """
        shared = 0
        for evicted, group in zip(self._evicted, groups, strict=False):
            if evicted.group is not group and evicted.group != group:
                break
            shared += 1
        self._undo_from(shared)
        for group in groups[shared:]:
            mark = self._state.mark()
            self._evicted.append(_Evicted(group, mark, self._evict(group)))
        self._after = self._state.mark()
        return {node for evicted in self._evicted for node in evicted.nodes}

    def undo(self) -> None:
        """Let the state be as it was at the start."""
        if self._after is not None:
            self._undo_from(0)
            self._state.roll_back(self._start)
            self._start = self._state.mark()
            self._after = None

    def end(self, *, stands: bool) -> None:
        """Keep all that was done, or nothing of it."""
        if stands:
            self._state.keep(self._start)
        else:
            self._state.roll_back(self._start)

    def _undo_from(self, shared: int) -> None:
        """Undo all since the evictions, and the evictions after the first so many."""
        if self._after is None:
            return
        returning = self._evicted[shared:]
        self._state.roll_back(returning[0].mark if returning else self._after)
        for evicted in returning:
            for pod in evicted.group.members():
                del self.places[pod]
        del self._evicted[shared:]

    def _evict(self, group: VictimGroup) -> set[str]:
        """Evict a group; returns the nodes that it had."""
        state = self._state
        self._touch(group.job)
        run = state.runs[group.job]
        places = {pod: run.pods[pod] for pod in group.pods}
        self.places |= {(group.job, pod): placed for pod, placed in places.items()}
        reserved = [pod for pod, placed in places.items() if placed.phase == "reserved"]
        if self._faithful:
            reserved = []
        if reserved:  # a reservation holds nothing
            state.apply(WorkloadStopped(workload=group.job, pods=tuple(reserved)))
        rest = tuple([pod for pod in group.pods if pod not in reserved])
        if rest:
            state.apply(WorkloadDisplaced(workload=group.job, pods=rest))
        return {placed.node for placed in places.values() if placed.node is not None}


class Reschedule:
    """One scenario: places the evicted victims again, once each, and the preemptor."""

    def __init__(
        self,
        state: ClusterState,
        finder: NodeFinder,
        preemptor: WorkloadName,
        places: Mapping[PodKey, Placed],
        nodes: Set[str],
        now_ms: int,
    ) -> None:
        """Place on *nodes*. *places* are those that the evicted pods had."""
        self.joined: set[PodKey] = set()
        """Pods of victims that had no place before and have one now."""
        self._state = state
        self._finder = finder
        self._preemptor = preemptor
        self._places = places
        self._nodes = nodes
        self._now_ms = now_ms
        self._misfits: set[Shape] = set()

    def place(
        self, jobs: PendingJobs, tournament: QueueTournament, victims: Iterable[WorkloadName]
    ) -> bool:
        """Place the preemptor and, once each, the *victims*, in service order.

        Other jobs have their turn without effect: they only shape the order. Returns whether the
        preemptor found its place.
        """
        todo = {self._preemptor, *victims}
        while todo and (queue := tournament.leader()) is not None:
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            if job in todo:
                todo.remove(job)
                misfits = len(self._misfits)
                is_placed = self._place(job, jobs.next_pods(job))
                if job == self._preemptor and not is_placed:
                    return False
                if len(self._misfits) > misfits:
                    infeasible = {each for each in todo if self._has_misfit(each, jobs)}
                    if self._preemptor in infeasible:
                        return False
                    todo -= infeasible
            jobs.drop_first(queue)
            tournament.renew(queue)
        return self._preemptor not in todo

    def _has_misfit(self, job: WorkloadName, jobs: PendingJobs) -> bool:
        """Return whether a pod that the job would start next is like one that found no place."""
        workload = self._state.workloads[job]
        sets = workload.pod_sets
        return any(shape_of(workload, sets.of(pod)) in self._misfits for pod in jobs.next_pods(job))

    def _place(self, job: WorkloadName, pods: Sequence[PodId]) -> bool:
        """Place *pods*, all of them or none."""
        state = self._state
        workload = state.workloads[job]
        request = charge_of(state, job, pods)
        path = state.path(workload.queue)
        if refusal(state, path, request, preemptible=workload.preemptible) is not None:
            return False
        mark = state.mark()
        for pod in pods:
            at = workload.pod_sets.set_index[pod]
            asked = workload.pod_sets[at].constraints
            is_known = not (asked.unsupported or (asked.volumes and asked.volumes.obstacle))
            nodes = self._nodes if is_known else self._own_node((job, pod))
            spot = self._finder.find(self._as_it_was((job, pod)), at, nodes)
            if spot is None:
                state.roll_back(mark)
                self.joined -= {(job, each) for each in pods}
                # The pods before it in the job took room that is free again; and a pod with an
                # affinity may find its partner later, as one that is spread may follow others.
                is_telling = is_known and not (asked.can_be_helped or asked.held_nodes)
                if pod is pods[0] and is_telling:
                    self._misfits.add(shape_of(workload, workload.pod_sets[at]))
                return False
            self._settle(job, pod, Placement(pod, spot.node, spot.share))
        state.keep(mark)
        return True

    def _as_it_was(self, pod: PodKey) -> Workload:
        """Return the workload of a pod, which may use its old node even if it is held off it."""
        workload, before = self._state.workloads[pod[0]], self._places.get(pod)
        held = workload.pod_sets.of(pod[1]).constraints.held_nodes
        if before is None or before.node not in held:
            return workload
        return kept_off(workload, held - {before.node})

    def _own_node(self, pod: PodKey) -> set[str]:
        """Return the old node of a pod: Fairlead cannot judge which other nodes it may use."""
        before = self._places.get(pod)
        return {before.node} & self._nodes if before is not None and before.node else set()

    def _settle(self, job: WorkloadName, pod: PodId, place: Placement) -> None:
        """Give a pod its place: the one it had, if it is the same, else a reservation."""
        before = self._places.get((job, pod))
        if before is None and job != self._preemptor:
            self.joined.add((job, pod))
        if before is not None and before.is_running() and is_same(before, place):
            self._state.apply(
                WorkloadStarted(workload=job, placements=(place,), at_ms=before.started_ms)
            )
            return
        self._state.apply(WorkloadReserved(workload=job, placements=(place,), at_ms=self._now_ms))


def is_same(before: Placed, now: Placed | Placement) -> bool:
    """Return whether a pod is where it was: on the same node and the same devices."""
    return before.node == now.node and before.share == now.share
