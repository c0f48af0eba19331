"""Victims that have left their places for the sake of a try, and what that takes back.

Every try begins from the state as the search found it. But most of those who leave in one try leave
in the next one as well, in the same order; so only what the two do not have in common is undone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    Placement,
    WorkloadDisplaced,
    WorkloadReserved,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.holding import kept_off
from fairlead.model.journal import Mark
from fairlead.model.node_books import PodKey
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.fair_share.capacity import refusal
from fairlead.policy.kai.jobs.start_job import Shape, shape_of
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.tournament import QueueTournament
from fairlead.policy.kai.victims.candidates import VictimGroup
from fairlead.policy.kai.victims.eviction_order import charge_of


class _Left(NamedTuple):
    group: VictimGroup
    mark: Mark  # before it left
    nodes: set[str]  # that it had


class Evictions:
    """Groups that have left one state, which is on trial, and where they had been."""

    def __init__(
        self, state: ClusterState, note: Callable[[WorkloadName], None], *, faithful: bool
    ) -> None:
        """Begin with nobody gone. *note* is told of every job before anything is done to it.

        *faithful*: what was only promised to a pod is held until it has left, as in KAI.
        """
        self.places: dict[PodKey, Placed] = {}
        """Where who left had been."""
        self._state = state
        self._note = note
        self._faithful = faithful
        self._left: list[_Left] = []
        self._start = state.mark()
        self._all_left: Mark | None = None  # the moment; None: nothing was done since the start

    def let_leave(self, groups: Sequence[VictimGroup]) -> set[str]:
        """Let these groups be gone and no others, and nothing else be done; returns their nodes.

        Law: the state is as if they had left one after the other at the start. Cost: the groups in
        which this differs from the time before, and what was done since; a glance at the others.
        """
        common = 0
        for left, group in zip(self._left, groups, strict=False):
            if left.group is not group and left.group != group:
                break
            common += 1
        self._return_from(common)
        for group in groups[common:]:
            mark = self._state.mark()
            self._left.append(_Left(group, mark, self._leave(group)))
        self._all_left = self._state.mark()
        return {node for left in self._left for node in left.nodes}

    def take_back(self) -> None:
        """Let the state be as it was at the start."""
        if self._all_left is not None:
            self._return_from(0)
            self._state.roll_back(self._start)
            self._start = self._state.mark()
            self._all_left = None

    def end(self, *, stands: bool) -> None:
        """Let all that was done stand, or nothing of it."""
        if stands:
            self._state.keep(self._start)
        else:
            self._state.roll_back(self._start)

    def _return_from(self, common: int) -> None:
        """Undo what was done since all had left, and let groups return from a place on."""
        if self._all_left is None:
            return
        returning = self._left[common:]
        self._state.roll_back(returning[0].mark if returning else self._all_left)
        for left in returning:
            for pod in left.group.members():
                del self.places[pod]
        del self._left[common:]

    def _leave(self, group: VictimGroup) -> set[str]:
        """Take the places of a group away; returns the nodes that it had."""
        state = self._state
        self._note(group.job)
        run = state.runs[group.job]
        places = {pod: run.pods[pod] for pod in group.pods}
        self.places |= {(group.job, pod): placed for pod, placed in places.items()}
        open_ended = [pod for pod, placed in places.items() if placed.phase == "reserved"]
        if self._faithful:
            open_ended = []
        if open_ended:  # what was only promised to it holds nothing
            state.apply(WorkloadStopped(workload=group.job, pods=tuple(open_ended)))
        rest = tuple([pod for pod in group.pods if pod not in open_ended])
        if rest:
            state.apply(WorkloadDisplaced(workload=group.job, pods=rest))
        return {placed.node for placed in places.values() if placed.node is not None}


class Reschedule:
    """One try: who has left is placed again, once each, and the claimant."""

    def __init__(
        self,
        state: ClusterState,
        finder: NodeFinder,
        preemptor: WorkloadName,
        places: Mapping[PodKey, Placed],
        nodes: Set[str],
        now_ms: int,
    ) -> None:
        """Place on *nodes*. *places* is where those who left had been."""
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
        """Place the claimant and, once each, the *victims*, in the order of service.

        Who else waits is taken in turn and passed over: it only shapes the order. Returns whether
        the claimant found its place.
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
            nodes = self._own_node((job, pod)) if asked.unsupported else self._nodes
            spot = self._finder.find(self._as_it_was((job, pod)), at, nodes)
            if spot is None:
                state.roll_back(mark)
                self.joined -= {(job, each) for each in pods}
                # Those before it in the job took room that is free again; and who must be near
                # another may find it there later.
                is_telling = not (asked.pod_affinity or asked.unsupported or asked.held_nodes)
                if pod is pods[0] and is_telling:
                    self._misfits.add(shape_of(workload, workload.pod_sets[at]))
                return False
            self._settle(job, pod, Placement(pod, spot.node, spot.share))
        state.keep(mark)
        return True

    def _as_it_was(self, pod: PodKey) -> Workload:
        """Return the workload of a pod, which is not kept off the node that it had."""
        workload, before = self._state.workloads[pod[0]], self._places.get(pod)
        held = workload.pod_sets.of(pod[1]).constraints.held_nodes
        if before is None or before.node not in held:
            return workload
        return kept_off(workload, held - {before.node})

    def _own_node(self, pod: PodKey) -> set[str]:
        """Return the node that a pod had: where else it may run, no filter of ours can tell."""
        before = self._places.get(pod)
        return {before.node} & self._nodes if before is not None and before.node else set()

    def _settle(self, job: WorkloadName, pod: PodId, place: Placement) -> None:
        """Give a pod its place: what it had there before, if it had one, else a reservation."""
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
    """Return whether a pod is where it was: on the same node, and the same devices of it."""
    return before.node == now.node and before.share == now.share
