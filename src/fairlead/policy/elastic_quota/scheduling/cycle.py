"""Whether a plan may stop before everybody has had its turn, and go on in the next one.

That must come to the same as one plan. The plugin never takes back what it decided before in a
plan, so that a plan may stop wherever nothing but starts came before: nobody was refused who might
be tried again, nobody waits for others to leave. In our own mode somebody may be held back for one
whose turn comes much later (see `newcomers`). So a plan is cut only where it is plain that all who
wait can start.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, assert_never

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Placement
from fairlead.model.holds import HELD_AFTER_FAILURE
from fairlead.model.memory import ElasticMemory
from fairlead.model.plan import Decision, Evict, Reason, Reserve, Start, Tally, Wait
from fairlead.model.workload import ElasticPods, PodId, Workload
from fairlead.placement.node_room import GpuResources, node_room
from fairlead.placement.room_for_all import is_room_for_all
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.quota.pending_pod import Readiness, readiness, scheduling_order
from fairlead.policy.elastic_quota.reasons.wait import UNSUPPORTED_CONSTRAINT
from fairlead.policy.elastic_quota.scheduling.gangs import (
    GangNominated,
    GangScheduling,
    GangStarted,
)
from fairlead.policy.elastic_quota.scheduling.pods import (
    Eviction,
    Nominated,
    PodScheduling,
    Started,
    Unschedulable,
)
from fairlead.policy.elastic_quota.scheduling.refusals import UnschedulableCache
from fairlead.policy.elastic_quota.settings import PluginQuirks
from fairlead.policy.obstacles import obstacle_reason

NOT_READY: Final = "NotReady"
SCHEDULING_GATED: Final = "SchedulingGated"
WOULD_BE_EVICTED: Final = "WouldBeEvicted"


class Cycle:
    """Decides about everything that waits in one state."""

    def __init__(
        self,
        context: PlanningContext,
        unschedulable_cache: UnschedulableCache,
        held_back: Mapping[WorkloadName, WorkloadName],
    ) -> None:
        """Work on *desk*, which is used up; who is *held_back* waits, for the one to whom it does.

        A workload of which some pods run keeps those, and gets no more.
        """
        self._context = context
        self.has_only_started = True  # whoever had a turn so far
        self._held_back = held_back
        self._pods = PodScheduling(context, unschedulable_cache)
        self._gangs = GangScheduling(context, self._pods, unschedulable_cache)

    def decisions(self) -> Iterator[Decision]:
        """Yield what to do, in the order in which to do it."""
        state = self._context.state
        waiting = [
            state.workloads[name] for queue in state.waited_for() for name in state.waiting(queue)
        ]
        waiting.sort(key=scheduling_order)
        for workload in waiting:
            self.restore_nominations(workload)
        for workload in waiting:
            yield from self.attempt(workload)

    def has_pending(self) -> bool:
        """Return whether a pod of any workload has no place."""
        return self._context.state.has_waiting()

    def restore_nominations(self, workload: Workload) -> None:
        """Count for which nodes a workload waits; who has no turn waits for none any more."""
        if self._not_attempted_reason(workload, readiness(self._context.state, workload)) is None:
            self._context.restore_nominations(workload)

    def attempt(self, workload: Workload) -> Iterator[Decision]:
        """Give a workload its turn; all have been taken in, and those before it had theirs."""
        ready = readiness(self._context.state, workload)
        reason = self._not_attempted_reason(workload, ready)
        if reason is not None:
            yield Wait(workload=workload.name, reason=reason)
        elif ready.needed > 0:
            needed = ready.needed
            yield from self._decide_gang(workload, ready.pods[:needed], ready.pods[needed:])
        else:
            yield from self._decide_pods(workload, ready.pods)

    def _not_attempted_reason(self, workload: Workload, ready: Readiness) -> Reason | None:
        queue = workload.queue if workload.queue in self._context.state.queues else None
        reason = not_attempted_reason(workload, ready, queue)
        if reason is None and workload.name in self._context.state.holds.workloads:
            return Reason(code=HELD_AFTER_FAILURE, queue=queue)
        if reason is None and workload.name in self._held_back:
            names = (self._held_back[workload.name],)
            return Reason(code=WOULD_BE_EVICTED, queue=queue, names=names)
        return reason

    def _decide_gang(
        self, workload: Workload, needed: Sequence[PodId], more: Sequence[PodId]
    ) -> Iterator[Decision]:
        match self._gangs.schedule(workload, needed, may_wait=not self._is_timed_out(workload)):
            case GangStarted() as turn:
                yield _start(workload, turn.pods, turn.reason)
                yield from self._decide_pods(workload, more)
            case GangNominated() as turn:
                self.has_only_started = False
                yield from self._nominate(workload, turn.pods)
            case Unschedulable() as turn:
                self.has_only_started = False
                yield Wait(workload=workload.name, reason=turn.reason, claims=turn.claims)
            case turn:
                assert_never(turn)

    def _decide_pods(self, workload: Workload, pods: Iterable[PodId]) -> Iterator[Decision]:
        """Let each pod have its turn; a reservation tells of all that wait for a node at once."""
        nominated: list[Nominated] = []
        unschedulable: Unschedulable | None = None
        for pod in pods:
            turn = self._pods.schedule(self._context.pending_pod(workload, pod))
            match turn:
                case Started():
                    yield _start(workload, (turn,), turn.reason)
                case Nominated():
                    self.has_only_started = False
                    nominated.append(turn)
                case Unschedulable():
                    self.has_only_started = False
                    unschedulable = unschedulable or turn
                case _:
                    assert_never(turn)
        if nominated:
            yield from self._nominate(workload, nominated)
        elif unschedulable is not None:
            yield Wait(
                workload=workload.name, reason=unschedulable.reason, claims=unschedulable.claims
            )

    def _nominate(self, workload: Workload, pods: Sequence[Nominated]) -> Iterator[Decision]:
        """Yield who has to leave, those of one workload together, and for which nodes pods wait."""
        evictions: dict[WorkloadName, list[Eviction]] = {}
        for each in pods:
            for eviction in each.evictions:
                evictions.setdefault(eviction.victim.key[0], []).append(eviction)
        for name, own in evictions.items():
            pod_sets = self._context.state.workloads[name].pod_sets
            yield Evict(
                workload=name,
                pods=tuple(pod_sets.in_order([eviction.victim.key[1] for eviction in own])),
                beneficiary=workload.name,
                reason=own[0].reason,
            )
        awaited = [candidate for each in pods for candidate in each.waits_for]
        telling = next((each for each in pods if each.evictions), pods[0])
        yield Reserve(
            workload=workload.name,
            placements=tuple([Placement(each.pending.pod, each.node) for each in pods]),
            charged=_charged(pods[0].pending.queue),
            waits_for=_names(awaited or self._leaving()),
            reason=telling.reason,
        )

    def _leaving(self) -> list[RunningPod]:
        """Return everybody who is leaving: where it is a rule that is broken, any may be why."""
        running = self._context.running
        return [each for node in self._context.state.nodes for each in running.terminating(node)]

    def _is_timed_out(self, workload: Workload) -> bool:
        """Return whether a gang may wait for nodes no longer, because it did for too long."""
        own = workload.extension
        if not isinstance(own, ElasticPods) or own.schedule_timeout_s is None:
            return False
        if own.schedule_timeout_s == 0:
            return True
        memory = self._context.state.memories.get(workload.name)
        if not isinstance(memory, ElasticMemory) or not memory.nominated:
            return False  # it begins to wait now
        if memory.nominated_ms is None:
            return False
        self._context.time_dependent = True
        return self._context.now_ms >= memory.nominated_ms + own.schedule_timeout_s * 1000


def not_attempted_reason(
    workload: Workload, ready: Readiness, queue: QueueName | None
) -> Reason | None:
    """Return why a workload has no turn: pods are missing or held back, or cannot be placed.

    That follows from the workload and what of it has a place, whatever else there is.
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
    sets = workload.pod_sets
    unknown = {name for pod in ready.pods for name in sets.of(pod).constraints.unsupported}
    if unknown:
        return Reason(code=UNSUPPORTED_CONSTRAINT, queue=queue, names=tuple(sorted(unknown)))
    return None


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


def may_be_cut(context: PlanningContext, starts: int) -> bool:
    """Return whether more than *starts* pods wait, and the plan may stop after so many.

    Not so where nodes are promised to somebody, of whom a plan that is cut would say nothing. Cost:
    the workloads that changed; in our own mode also the quotas, and a look at each node (see
    `is_room_for_all`).
    """
    state, quirks, waiting = context.state, context.settings.quirks, context.waiting_pods
    if sum(waiting.by_shape().values()) <= starts or state.promised:
        return False
    if quirks.start_in_vain:
        return True
    if quirks != PluginQuirks() or waiting.marked_queues() or state.repelling:
        return False
    if not _are_quotas_enough(context):
        return False
    node_books = state.books
    gpus = GpuResources(kinds=(), shared=node_books.shared_gpu)
    idle = {
        name: node_room(
            node,
            node_books.offered(node),
            node_books.occupied(name).leaving,
            node_books.use(name),
            gpus,
        ).idle
        for name, node in state.nodes.items()
        if node.ready
    }
    return is_room_for_all(node_books, idle, waiting.by_shape())


def until_cut(
    cycle: Cycle, decisions: Iterator[Decision], at_most_starts: int | None
) -> tuple[list[Decision], bool]:
    """Return the *decisions* of *cycle*, and whether they are cut after so many pods started.

    None: all of them. So are they where anything but starts comes before.
    """
    made: list[Decision] = []
    started = 0
    for each in decisions:
        made.append(each)
        if at_most_starts is None or not isinstance(each, Start):
            continue
        started += len(each.placements)
        if started >= at_most_starts and cycle.has_only_started and cycle.has_pending():
            return [each for each in made if isinstance(each, Start)], True
    return made, False


def _are_quotas_enough(context: PlanningContext) -> bool:
    """Return whether no max, and not the pool, is in the way of all that waits."""
    state, quotas = context.state, context.quotas
    axes = range(len(quotas.pool))
    asked = list(quotas.now.pool)
    for name, used in quotas.now.used.items():
        waiting = state.axes.charge(state.resources, tuple(state.sums[name].pending))
        ceiling = quotas.ceiling[name]
        for at in axes:
            asked[at] += waiting[at]
            most = ceiling[at]
            if waiting[at] and most is not None and used[at] + waiting[at] > most:
                return False
    more = [asked[at] - quotas.now.pool[at] for at in axes]
    return all(asked[at] <= quotas.pool[at] for at in axes if more[at])
