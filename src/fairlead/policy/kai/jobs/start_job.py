"""Starting a job: limits and quotas first, then a place for each pod, all of them or none.

It is tried on the state itself. If every pod finds a place the change stays; otherwise the state is
as before. Either way the outcome has a reason.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.accounting.journal import Mark
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.events import Placement, WorkloadReserved, WorkloadStarted
from fairlead.model.plan import Comparison, Reason, Tally, Term
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodSet, Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.fair_share.capacity import refusal
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.obstacles import constraint_reason, unsupported_constraint

WITHIN_QUOTA: Final = "WithinQuota"
OVER_QUOTA: Final = "OverQuota"
NO_NODE_FITS: Final = "NoNodeFits"

Shape: TypeAlias = tuple[object, ...]
"""Everything about a pod that decides whether it finds a place."""

Misfit: TypeAlias = tuple[Tally, ...]
"""How many nodes lack what."""

NOT_EXPLAINED: Final[Misfit] = (Tally(count=0, of=0, things="", what=""),)


class Outcome(NamedTuple):
    """Why pods of a job got their places, or why they did not."""

    is_placed: bool
    reason: Reason


class Shortage(NamedTuple):
    """How many more places for pods of a size are needed before some pods can all start."""

    size: Amounts
    places: int


class JobStarter:
    """Starts jobs of one state, one after the other, while room only shrinks."""

    def __init__(
        self, state: ClusterState, finder: NodeFinder, now_ms: int, *, explain: bool = True
    ) -> None:
        """Take places with *finder*; pods start at *now_ms*.

        Without *explain* a misfit is not explained by what nodes lack.
        """
        self._state = state
        self._finder = finder
        self._now_ms = now_ms
        self._explain = explain
        self._places: dict[Amounts, int | None] = {}  # for how many pods there was room

    def start(
        self, name: WorkloadName, gang: Gang, pods: Sequence[PodId], request: Amounts
    ) -> Outcome:
        """Give *pods* of a job their places, which costs its queue *request*; or say why not.

        They start, or get a reservation if the room is still being released.
        """
        state = self._state
        workload = state.workloads[name]
        path = state.path(workload.queue)
        barred = refusal(state, path, request, preemptible=workload.preemptible)
        barred = barred or constraint_reason(workload, pods, workload.queue)
        if barred is not None:
            return Outcome(is_placed=False, reason=barred)
        why = _quota_reason(state, path[0], request)
        misfit = self._place_all(workload, gang, pods)
        if misfit is None:
            return Outcome(is_placed=True, reason=why)
        reason = Reason(code=NO_NODE_FITS, queue=workload.queue, tallies=misfit)
        return Outcome(is_placed=False, reason=reason)

    def is_infeasible(self, name: WorkloadName, pods: Sequence[PodId]) -> bool:
        """Return whether it is plain that *pods* of a job find no room while it only shrinks.

        A pod with an affinity may find its partner later, and one that is spread may follow others.
        Pods with a constraint that cannot be judged get no room at all.
        """
        workload = self._state.workloads[name]
        if unsupported_constraint(workload, pods, workload.queue) is not None:
            return True
        set_index = workload.pod_sets.set_index
        may_fit = self._finder.find(workload, set_index[pods[0]]) is not None
        if may_fit and (len(pods) == 1 or not self._has_too_few_places(workload, pods)):
            return False
        sets = [workload.pod_sets[at] for at in {set_index[pod] for pod in pods}]
        return not any(each.constraints.can_be_helped for each in sets)

    def shortage(self, name: WorkloadName, pods: Sequence[PodId]) -> Shortage | None:
        """Return what is lacking for infeasible *pods*, if it is nothing but room.

        For a part of a device any growth of a node counts, as for a pod without requests.
        """
        workload = self._state.workloads[name]
        at = workload.pod_sets.set_index[pods[0]]
        first = workload.pod_sets[at]
        if not self._finder.looks_at_room_alone(workload, at):
            return None
        lacking = self._lacking_places(workload, pods)
        return lacking or Shortage(() if first.gpu_share else first.requests, 1)

    def _has_too_few_places(self, workload: Workload, pods: Sequence[PodId]) -> bool:
        """Return whether it is plain without placing them that *pods* do not all fit."""
        return self._lacking_places(workload, pods) is not None

    def _lacking_places(self, workload: Workload, pods: Sequence[PodId]) -> Shortage | None:
        """Return for which size there are too few places for *pods*, by amounts alone.

        A count is an upper bound as long as room only shrinks.
        """
        sets, sizes = workload.pod_sets, self._finder.besides_shares
        for requests, count in Counter([sizes(sets.of(pod)) for pod in pods]).items():
            if requests not in self._places:
                self._places[requests] = self._finder.places(requests)
            most = self._places[requests]
            if most is not None and most < count:
                return Shortage(requests, count - most)
        return None

    def _place_all(self, workload: Workload, gang: Gang, pods: Sequence[PodId]) -> Misfit | None:
        """Place all of *pods* or none; returns what stopped the first one that fits nowhere."""
        if not self._explain and len(pods) > 1 and self._has_too_few_places(workload, pods):
            return NOT_EXPLAINED
        mark = self._state.mark()
        count = self._count_placed(workload, pods)
        if count == len(pods):
            self._settle(mark, workload, gang, pods)
            self._places.clear()  # there is less room now
            return None
        misfit = NOT_EXPLAINED
        if self._explain:
            misfit = self._finder.tallies(workload, workload.pod_sets.set_index[pods[count]])
        self._state.roll_back(mark)
        if len(pods) > 1:
            return (*misfit, Tally(count=count, of=len(pods), things="pods", what="found a place"))
        return misfit

    def _settle(self, mark: Mark, workload: Workload, gang: Gang, pods: Sequence[PodId]) -> None:
        """Keep what was placed since *mark*, as a reservation if some of it cannot start yet."""
        state = self._state
        run = state.runs[workload.name]
        if not any(run.pods[pod].phase == "reserved" for pod in pods) and not gang.must_wait(run):
            state.keep(mark)
            return
        places = tuple([Placement(pod, run.pods[pod].node, run.pods[pod].share) for pod in pods])
        state.roll_back(mark)
        state.apply(WorkloadReserved(workload=workload.name, placements=places, at_ms=self._now_ms))

    def _count_placed(self, workload: Workload, pods: Sequence[PodId]) -> int:
        """Place *pods* one after the other until one finds no place; return how many did."""
        set_index = workload.pod_sets.set_index
        for placed, pod in enumerate(pods):
            spot = self._finder.find(workload, set_index[pod])
            if spot is None:
                return placed
            event = WorkloadStarted if spot.now else WorkloadReserved
            place = (Placement(pod, spot.node, spot.share),)
            self._state.apply(event(workload=workload.name, placements=place, at_ms=self._now_ms))
        return len(pods)


def shape_of(workload: Workload, asked: PodSet) -> Shape:
    """Return what two pods must have in common to find the same places."""
    return asked.requests, asked.gpu_share, asked.constraints, asked.labels, workload.namespace


def _quota_reason(state: ClusterState, queue: QueueName, request: Amounts) -> Reason:
    """Return why a request may start: within what is guaranteed, or over quota on idle room."""
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
