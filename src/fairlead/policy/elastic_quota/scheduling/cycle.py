"""One cycle: pending workloads are attempted, highest priority first.

That is the order of the default scheduler of Kubernetes: by priority, then by age. Each result is
applied to the planning context, so that the next attempt sees it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, assert_never

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Placement
from fairlead.model.holds import HELD_AFTER_FAILURE
from fairlead.model.memory import ElasticMemory
from fairlead.model.plan import Decision, Evict, LeftPending, Reason, Reserve, Start, Tally, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodId, Workload
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.quota.pending_pod import Readiness, readiness, scheduling_order
from fairlead.policy.elastic_quota.scheduling.gangs import (
    GangNominated,
    GangScheduling,
    GangStarted,
)
from fairlead.policy.elastic_quota.scheduling.pods import (
    Eviction,
    KnownResults,
    Nominated,
    PodScheduling,
    Started,
    Unschedulable,
)
from fairlead.policy.obstacles import constraint_reason, left_pending, obstacle_reason

NOT_READY: Final = "NotReady"
SCHEDULING_GATED: Final = "SchedulingGated"
WOULD_BE_EVICTED: Final = "WouldBeEvicted"
WOULD_PREEMPT_IN_VAIN: Final = "WouldPreemptInVain"


class HeldBack(NamedTuple):
    """Why a workload is not attempted in this plan, and for which other one that is."""

    code: str
    beneficiary: WorkloadName


class AttemptOrder(Protocol):
    """Which pending workloads are attempted, and in which order."""

    def possibly_nominated(self) -> Iterable[Workload]:
        """Return all workloads that earlier plans may have nominated to nodes."""

    def next_workload(self) -> Workload | None:
        """Return the next workload to attempt; None: there is none."""

    def attempted(self, workload: Workload, *, has_changed: bool) -> None:
        """Note that *workload* was attempted, and whether anything but its wait came of it."""


class EveryWorkload:
    """Every pending workload in scheduling order."""

    def __init__(self, state: ClusterState) -> None:
        """Attempt all that are pending in *state* now."""
        pending = [
            state.workloads[name] for queue in state.waited_for() for name in state.waiting(queue)
        ]
        self._pending: Final = sorted(pending, key=scheduling_order)
        self._left: Final = iter(self._pending)

    def possibly_nominated(self) -> Iterable[Workload]:
        """Return all of them."""
        return self._pending

    def next_workload(self) -> Workload | None:
        """Return the next one."""
        return next(self._left, None)

    def attempted(self, workload: Workload, *, has_changed: bool) -> None:
        """Do nothing: the order depends on no result."""


class Cycle:
    """Decides about the pending workloads of one state."""

    def __init__(
        self,
        context: PlanningContext,
        known_results: KnownResults,
        order: AttemptOrder,
        held_back: Mapping[WorkloadName, HeldBack],
    ) -> None:
        """Change *context* by each decision; a workload *held_back* waits for another one.

        If some of its pods run, they go on running, and no more are started.
        """
        self.context: Final = context
        self._order = order
        self.has_only_started = True  # no attempt so far had another result
        self._held_back = held_back
        self._pods = PodScheduling(context, known_results)
        self._gangs = GangScheduling(context, self._pods, known_results)

    def decisions(self) -> Iterator[Decision]:
        """Yield what to do, in the order in which to do it."""
        for each in self._order.possibly_nominated():
            if self._not_attempted_reason(each, self._readiness(each)) is None:
                self.context.restore_nominations(each)
        while (workload := self._order.next_workload()) is not None:
            has_changed = False
            for decision in self.attempt(workload):
                has_changed = has_changed or not isinstance(decision, LeftPending)
                yield decision
            self._order.attempted(workload, has_changed=has_changed)

    def has_pending(self) -> bool:
        """Return whether a pod of any workload has no node."""
        return self.context.state.has_waiting()

    def attempt(self, workload: Workload) -> Iterator[Decision]:
        """Yield the decisions about one workload, after those before it in the order."""
        ready = self._readiness(workload)
        reason = self._not_attempted_reason(workload, ready)
        if reason is not None:
            yield left_pending(workload, reason)
        elif ready.needed > 0:
            needed = ready.needed
            yield from self._decide_gang(workload, ready.pods[:needed], ready.pods[needed:])
        else:
            yield from self._decide_pods(workload, ready.pods)

    def _readiness(self, workload: Workload) -> Readiness:
        return readiness(self.context.state, workload)

    def _not_attempted_reason(self, workload: Workload, ready: Readiness) -> Reason | None:
        queue = workload.queue if workload.queue in self.context.state.queues else None
        reason = not_attempted_reason(workload, ready, queue)
        if reason is None and workload.name in self.context.state.holds.workloads:
            return Reason(code=HELD_AFTER_FAILURE, queue=queue)
        if reason is None and workload.name in self._held_back:
            held_back = self._held_back[workload.name]
            return Reason(code=held_back.code, queue=queue, names=(held_back.beneficiary,))
        return reason

    def _decide_gang(
        self, workload: Workload, needed: Sequence[PodId], more: Sequence[PodId]
    ) -> Iterator[Decision]:
        match self._gangs.schedule(workload, needed, may_wait=not self._is_timed_out(workload)):
            case GangStarted() as result:
                yield _start(workload, result.pods, result.reason)
                yield from self._decide_pods(workload, more)
            case GangNominated() as result:
                self.has_only_started = False
                yield from self._nominate(workload, result.pods)
            case Unschedulable() as result:
                self.has_only_started = False
                yield Wait(workload=workload.name, reason=result.reason, claims=result.claims)
            case result:
                assert_never(result)

    def _decide_pods(self, workload: Workload, pods: Iterable[PodId]) -> Iterator[Decision]:
        """Attempt each pod alone; one reservation names all that are nominated."""
        nominated: list[Nominated] = []
        unschedulable: Unschedulable | None = None
        for pod in pods:
            result = self._pods.schedule(self.context.pending_pod(workload, pod))
            match result:
                case Started():
                    yield _start(workload, (result,), result.reason)
                case Nominated():
                    self.has_only_started = False
                    nominated.append(result)
                case Unschedulable():
                    self.has_only_started = False
                    unschedulable = unschedulable or result
                case _:
                    assert_never(result)
        if nominated:
            yield from self._nominate(workload, nominated)
        elif unschedulable is not None:
            yield Wait(
                workload=workload.name, reason=unschedulable.reason, claims=unschedulable.claims
            )

    def _nominate(self, workload: Workload, pods: Sequence[Nominated]) -> Iterator[Decision]:
        """Yield the evictions, one per workload, and the reservation of the nominated pods."""
        evictions: dict[WorkloadName, list[Eviction]] = {}
        for each in pods:
            for eviction in each.evictions:
                evictions.setdefault(eviction.victim.key[0], []).append(eviction)
        for name, own in evictions.items():
            pod_sets = self.context.state.workloads[name].pod_sets
            yield Evict(
                workload=name,
                pods=tuple(pod_sets.in_order([eviction.victim.key[1] for eviction in own])),
                beneficiary=workload.name,
                reason=own[0].reason,
            )
        awaited = [candidate for each in pods for candidate in each.waits_for]
        first = next((each for each in pods if each.evictions), pods[0])
        yield Reserve(
            workload=workload.name,
            placements=tuple([Placement(each.pending.pod, each.node) for each in pods]),
            charged=_charged(pods[0].pending.queue),
            waits_for=_names(awaited or self._terminating()),
            reason=first.reason,
        )

    def _terminating(self) -> list[RunningPod]:
        """Return all terminating pods: if a quota rule is broken, any of them may be the cause."""
        running = self.context.running
        return [each for node in self.context.state.nodes for each in running.terminating(node)]

    def _is_timed_out(self, workload: Workload) -> bool:
        """Return whether a gang was nominated for longer than its schedule timeout."""
        own = workload.extension
        if not isinstance(own, ElasticPods) or own.schedule_timeout_s is None:
            return False
        if own.schedule_timeout_s == 0:
            return True
        memory = self.context.state.memories.get(workload.name)
        if not isinstance(memory, ElasticMemory) or not memory.nominated:
            return False  # its nomination begins now
        if memory.nominated_ms is None:
            return False
        self.context.time_dependent = True
        return self.context.now_ms >= memory.nominated_ms + own.schedule_timeout_s * 1000


def not_attempted_reason(
    workload: Workload, ready: Readiness, queue: QueueName | None
) -> Reason | None:
    """Return why a workload is not attempted: pods are missing, gated or cannot be judged.

    It depends on nothing but the workload and which of its pods have a node.
    """
    if workload.obstacle is not None:
        return obstacle_reason(workload, queue)
    if ready.there < workload.min_count:
        missing = Tally(
            count=ready.there,
            of=workload.min_count,
            things="pods that it needs",
            what="are there",
        )
        return Reason(code=NOT_READY, queue=queue, tallies=(missing,))
    if not ready.pods or len(ready.pods) < ready.needed:
        held_back = Tally(
            count=ready.there - ready.staying - len(ready.pods),
            of=workload.pod_count(),
            things="pods",
            what="have a scheduling gate",
        )
        return Reason(code=SCHEDULING_GATED, queue=queue, tallies=(held_back,))
    return constraint_reason(workload, ready.pods, queue)


def _start(workload: Workload, pods: Sequence[Started], reason: Reason) -> Start:
    return Start(
        workload=workload.name,
        placements=tuple([Placement(each.pending.pod, each.node) for each in pods]),
        charged=_charged(pods[0].pending.queue),
        reason=reason,
    )


def _names(running: Iterable[RunningPod]) -> tuple[WorkloadName, ...]:
    return tuple(sorted({candidate.key[0] for candidate in running}))


def _charged(queue: QueueName | None) -> tuple[QueueName, ...]:
    return () if queue is None else (queue,)
