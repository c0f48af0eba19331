"""Placing a claimant and those who left for it, in the order of service.

While they are placed room only shrinks. So a pod that found no place tells of all the like that
come after it; a victim with such a pod needs no turn, and neither does anybody once no victim is
left that could find a place.
"""

from collections.abc import Iterable, Mapping, Sequence, Set

from fairlead.model.axes import WorkloadName
from fairlead.model.events import Placement, WorkloadReserved, WorkloadStarted
from fairlead.model.execution.holding import kept_off
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey, Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.gates import refusal
from fairlead.policy.kai.pending_jobs import PendingJobs
from fairlead.policy.kai.queue_race import QueueRace
from fairlead.policy.kai.start_job import Shape, shape_of
from fairlead.policy.kai.victim_line import charge_of


class PlaceAgain:
    """One try: who has left is placed again, once each, and the claimant."""

    def __init__(
        self,
        state: ClusterState,
        finder: NodeFinder,
        claimant: WorkloadName,
        places: Mapping[PodKey, Placed],
        nodes: Set[str],
        now_ms: int,
    ) -> None:
        """Place on *nodes*. *places* is where those who left had been."""
        self.joined: set[PodKey] = set()
        """Pods of victims that had no place before and have one now."""
        self._state = state
        self._finder = finder
        self._claimant = claimant
        self._places = places
        self._nodes = nodes
        self._now_ms = now_ms
        self._misfits: set[Shape] = set()

    def place(self, jobs: PendingJobs, race: QueueRace, victims: Iterable[WorkloadName]) -> bool:
        """Place the claimant and, once each, the *victims*, in the order of service.

        Who else waits is taken in turn and passed over: it only shapes the order. Returns whether
        the claimant found its place.
        """
        todo = {self._claimant, *victims}
        while todo and (queue := race.leader()) is not None:
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            if job in todo:
                todo.remove(job)
                misfits = len(self._misfits)
                is_placed = self._place(job, jobs.next_pods(job))
                if job == self._claimant and not is_placed:
                    return False
                if len(self._misfits) > misfits:
                    hopeless = {each for each in todo if self._has_misfit(each, jobs)}
                    if self._claimant in hopeless:
                        return False
                    todo -= hopeless
            jobs.drop_first(queue)
            race.renew(queue)
        return self._claimant not in todo

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
        if before is None and job != self._claimant:
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
