"""Trying to start a job: gates first, then a place for each pod, all of them or none.

The trial happens on the state itself. If every pod finds a place the change stays, and the
decision says what was done; otherwise the state is as before, and the reason says why.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.events import Placement, WorkloadReserved, WorkloadStarted
from fairlead.model.plan import Comparison, Reason, Reserve, Start, Tally, Term
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodSet, Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.gang import Gang
from fairlead.policy.kai.gates import refusal

WITHIN_QUOTA: Final = "WithinQuota"
OVER_QUOTA: Final = "OverQuota"
NO_NODE_FITS: Final = "NoNodeFits"
UNSUPPORTED_CONSTRAINT: Final = "UnsupportedConstraint"

Shape: TypeAlias = tuple[PodSet, ...]


class JobStarter:
    """Starts jobs of one state, one after the other, while room only shrinks."""

    def __init__(self, state: ClusterState, finder: NodeFinder, now_ms: int) -> None:
        """Take places with *finder*; what starts, starts at *now_ms*."""
        self._state = state
        self._finder = finder
        self._now_ms = now_ms
        self._hopeless: dict[Shape, Reason] = {}

    def start(
        self, name: WorkloadName, gang: Gang, pods: Sequence[PodId], request: Amounts
    ) -> Start | Reserve | Reason:
        """Give *pods* of a job their places, which costs its queue *request*; or say why not."""
        state = self._state
        workload = state.workloads[name]
        path = state.path(workload.queue)
        barred = refusal(state, path, request, preemptible=workload.preemptible)
        barred = barred or _unsupported(workload, pods)
        if barred is not None:
            return barred
        return self._place_or_say_why(workload, gang, pods, request, path)

    def _place_or_say_why(
        self,
        workload: Workload,
        gang: Gang,
        pods: Sequence[PodId],
        request: Amounts,
        path: Sequence[QueueName],
    ) -> Start | Reserve | Reason:
        """Place, unless the like of it has failed before: room only shrinks meanwhile."""
        shape = tuple([workload.pod_sets[pod.pod_set] for pod in pods])
        known = self._hopeless.get(shape)
        if known is not None:
            return known
        why = _quota_reason(self._state, path[0], request)
        mark = self._state.mark()
        failed = self._place(workload, pods)
        if failed is not None:
            self._state.roll_back(mark)
            if not any(each.constraints.pod_affinity for each in shape):
                self._hopeless[shape] = failed  # a pod that is sought may still come
            return failed
        run = self._state.runs[workload.name]
        placements = tuple(
            [Placement(pod, run.pods[pod].node, run.pods[pod].share) for pod in pods]
        )
        if any(run.pods[pod].phase == "reserved" for pod in pods) or gang.must_wait(run):
            self._state.roll_back(mark)
            return self._reserve(workload, placements, path, why)
        self._state.keep(mark)
        return Start(workload=workload.name, placements=placements, charged=tuple(path), reason=why)

    def _place(self, workload: Workload, pods: Sequence[PodId]) -> Reason | None:
        """Place pod after pod; the reason is that of the first that fits nowhere."""
        for at, pod in enumerate(pods):
            spot = self._finder.find(workload, pod.pod_set)
            if spot is None:
                tallies = self._finder.tallies(workload, pod.pod_set)
                if len(pods) > 1:
                    placed = Tally(count=at, of=len(pods), things="pods", what="found a place")
                    tallies = (*tallies, placed)
                return Reason(code=NO_NODE_FITS, queue=workload.queue, tallies=tallies)
            kind = WorkloadStarted if spot.now else WorkloadReserved
            place = (Placement(pod, spot.node, spot.share),)
            self._state.apply(kind(workload=workload.name, placements=place, at_ms=self._now_ms))
        return None

    def _reserve(
        self,
        workload: Workload,
        placements: tuple[Placement, ...],
        path: Sequence[QueueName],
        why: Reason,
    ) -> Reserve:
        self._state.apply(
            WorkloadReserved(workload=workload.name, placements=placements, at_ms=self._now_ms)
        )
        nodes = {placement.node for placement in placements}
        return Reserve(
            workload=workload.name,
            placements=placements,
            charged=tuple(path),
            waits_for=tuple(_leaving(self._state, nodes)),
            reason=why,
        )


def _leaving(state: ClusterState, nodes: set[str | None]) -> list[WorkloadName]:
    """Return the workloads of which a pod is leaving one of *nodes*."""
    found = {
        name
        for node in nodes
        if node is not None
        for name, pod in state.books.use(node).pods
        if state.runs[name].pods[pod].phase == "leaving"
    }
    return sorted(found)


def _unsupported(workload: Workload, pods: Sequence[PodId]) -> Reason | None:
    names = {
        name for pod in pods for name in workload.pod_sets[pod.pod_set].constraints.unsupported
    }
    if not names:
        return None
    return Reason(code=UNSUPPORTED_CONSTRAINT, queue=workload.queue, names=tuple(sorted(names)))


def _quota_reason(state: ClusterState, queue: QueueName, request: Amounts) -> Reason:
    """Return by what right a request starts: within what is guaranteed, or on idle room."""
    held, guaranteed = state.sums[queue].allocated, state.queues[queue].guaranteed
    compared = [
        Comparison(
            queue=queue,
            axis=state.axes.axes[at],
            left=(Term("allocated", held[at]), Term("request", more)),
            relation="<=" if (bound := guaranteed[at]) is None or held[at] + more <= bound else ">",
            right=Term("quota", bound),
        )
        for at, more in enumerate(request)
        if more > 0
    ]
    over = tuple([each for each in compared if each.relation == ">"])
    return Reason(
        code=OVER_QUOTA if over else WITHIN_QUOTA, queue=queue, comparisons=over or tuple(compared)
    )
