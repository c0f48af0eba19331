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
from fairlead.policy.elastic_quota.nodes.running_pods import Holder
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.quota.pending_pod import Readiness, readiness, turn_of
from fairlead.policy.elastic_quota.reasons.wait import UNSUPPORTED_CONSTRAINT
from fairlead.policy.elastic_quota.scheduling.gangs import GangPromised, GangStarted, GangTurns
from fairlead.policy.elastic_quota.scheduling.pods import (
    Loss,
    PodTurns,
    Promised,
    Refused,
    Started,
)
from fairlead.policy.elastic_quota.scheduling.refusals import Refusals
from fairlead.policy.elastic_quota.settings import PluginQuirks
from fairlead.policy.obstacles import obstacle_reason

NOT_READY: Final = "NotReady"
SCHEDULING_GATED: Final = "SchedulingGated"
WOULD_BE_EVICTED: Final = "WouldBeEvicted"


class Cycle:
    """Decides about everything that waits in one state."""

    def __init__(
        self, desk: Desk, refusals: Refusals, held_back: Mapping[WorkloadName, WorkloadName]
    ) -> None:
        """Work on *desk*, which is used up; who is *held_back* waits, for the one to whom it does.

        A workload of which some pods run keeps those, and gets no more.
        """
        self._desk = desk
        self.has_only_started = True  # whoever had a turn so far
        self._held_back = held_back
        self._pods = PodTurns(desk, refusals)
        self._gangs = GangTurns(desk, self._pods, refusals)

    def decisions(self) -> Iterator[Decision]:
        """Yield what to do, in the order in which to do it."""
        state = self._desk.state
        waiting = [
            state.workloads[name] for queue in state.waited_for() for name in state.waiting(queue)
        ]
        waiting.sort(key=turn_of)
        for workload in waiting:
            self.take_in(workload)
        for workload in waiting:
            yield from self.turn(workload)

    def has_waiting(self) -> bool:
        """Return whether a pod of any workload has no place."""
        return self._desk.state.has_waiting()

    def take_in(self, workload: Workload) -> None:
        """Count for which nodes a workload waits; who has no turn waits for none any more."""
        if self._not_to_be_tried(workload, readiness(self._desk.state, workload)) is None:
            self._desk.nominate_all(workload)

    def turn(self, workload: Workload) -> Iterator[Decision]:
        """Give a workload its turn; all have been taken in, and those before it had theirs."""
        ready = readiness(self._desk.state, workload)
        reason = self._not_to_be_tried(workload, ready)
        if reason is not None:
            yield Wait(workload=workload.name, reason=reason)
        elif ready.needed > 0:
            needed = ready.needed
            yield from self._decide_gang(workload, ready.pods[:needed], ready.pods[needed:])
        else:
            yield from self._decide_pods(workload, ready.pods)

    def _not_to_be_tried(self, workload: Workload, ready: Readiness) -> Reason | None:
        queue = workload.queue if workload.queue in self._desk.state.queues else None
        reason = why_not_to_be_tried(workload, ready, queue)
        if reason is None and workload.name in self._desk.state.holds.workloads:
            return Reason(code=HELD_AFTER_FAILURE, queue=queue)
        if reason is None and workload.name in self._held_back:
            names = (self._held_back[workload.name],)
            return Reason(code=WOULD_BE_EVICTED, queue=queue, names=names)
        return reason

    def _decide_gang(
        self, workload: Workload, needed: Sequence[PodId], more: Sequence[PodId]
    ) -> Iterator[Decision]:
        match self._gangs.take(workload, needed, may_wait=not self._is_timed_out(workload)):
            case GangStarted() as turn:
                yield _start(workload, turn.pods, turn.reason)
                yield from self._decide_pods(workload, more)
            case GangPromised() as turn:
                self.has_only_started = False
                yield from self._promise(workload, turn.pods)
            case Refused() as turn:
                self.has_only_started = False
                yield Wait(workload=workload.name, reason=turn.reason, claims=turn.claims)
            case turn:
                assert_never(turn)

    def _decide_pods(self, workload: Workload, pods: Iterable[PodId]) -> Iterator[Decision]:
        """Let each pod have its turn; a reservation tells of all that wait for a node at once."""
        promised: list[Promised] = []
        refused: Refused | None = None
        for pod in pods:
            turn = self._pods.take(self._desk.asker(workload, pod))
            match turn:
                case Started():
                    yield _start(workload, (turn,), turn.reason)
                case Promised():
                    self.has_only_started = False
                    promised.append(turn)
                case Refused():
                    self.has_only_started = False
                    refused = refused or turn
                case _:
                    assert_never(turn)
        if promised:
            yield from self._promise(workload, promised)
        elif refused is not None:
            yield Wait(workload=workload.name, reason=refused.reason, claims=refused.claims)

    def _promise(self, workload: Workload, pods: Sequence[Promised]) -> Iterator[Decision]:
        """Yield who has to leave, those of one workload together, and for which nodes pods wait."""
        losses: dict[WorkloadName, list[Loss]] = {}
        for each in pods:
            for loss in each.losses:
                losses.setdefault(loss.holder.key[0], []).append(loss)
        for name, own in losses.items():
            pod_sets = self._desk.state.workloads[name].pod_sets
            yield Evict(
                workload=name,
                pods=tuple(pod_sets.in_order([loss.holder.key[1] for loss in own])),
                beneficiary=workload.name,
                reason=own[0].reason,
            )
        awaited = [holder for each in pods for holder in each.waits_for]
        telling = next((each for each in pods if each.losses), pods[0])
        yield Reserve(
            workload=workload.name,
            placements=tuple([Placement(each.asker.pod, each.node) for each in pods]),
            charged=_charged(pods[0].asker.queue),
            waits_for=_names(awaited or self._leaving()),
            reason=telling.reason,
        )

    def _leaving(self) -> list[Holder]:
        """Return everybody who is leaving: where it is a rule that is broken, any may be why."""
        holders = self._desk.holders
        return [each for node in self._desk.state.nodes for each in holders.leaving(node)]

    def _is_timed_out(self, workload: Workload) -> bool:
        """Return whether a gang may wait for nodes no longer, because it did for too long."""
        own = workload.extension
        if not isinstance(own, ElasticPods) or own.schedule_timeout_s is None:
            return False
        if own.schedule_timeout_s == 0:
            return True
        memory = self._desk.state.memories.get(workload.name)
        if not isinstance(memory, ElasticMemory) or not memory.nominated:
            return False  # it begins to wait now
        if memory.nominated_ms is None:
            return False
        self._desk.looked_at_the_clock = True
        return self._desk.now_ms >= memory.nominated_ms + own.schedule_timeout_s * 1000


def why_not_to_be_tried(
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
        placements=tuple([Placement(each.asker.pod, each.node) for each in pods]),
        charged=_charged(pods[0].asker.queue),
        reason=reason,
    )


def _names(holders: Iterable[Holder]) -> tuple[WorkloadName, ...]:
    return tuple(sorted({holder.key[0] for holder in holders}))


def _charged(queue: QueueName | None) -> tuple[QueueName, ...]:
    return () if queue is None else (queue,)


def may_be_cut(desk: Desk, starts: int) -> bool:
    """Return whether more than *starts* pods wait, and the plan may stop after so many.

    Not so where nodes are promised to somebody, of whom a plan that is cut would say nothing. Cost:
    the workloads that changed; in our own mode also the quotas, and a look at each node (see
    `is_room_for_all`).
    """
    state, quirks, waiting = desk.state, desk.settings.quirks, desk.waiting_pods
    if sum(waiting.by_shape().values()) <= starts or state.promised:
        return False
    if quirks.start_in_vain:
        return True
    if quirks != PluginQuirks() or waiting.marked_queues() or state.repelling:
        return False
    if not _are_quotas_enough(desk):
        return False
    books = state.books
    gpus = GpuResources(kinds=(), shared=books.shared_gpu)
    idle = {
        name: node_room(
            node, books.offered(node), books.occupied(name).leaving, books.use(name), gpus
        ).idle
        for name, node in state.nodes.items()
        if node.ready
    }
    return is_room_for_all(state.books, idle, waiting.by_shape())


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
        if started >= at_most_starts and cycle.has_only_started and cycle.has_waiting():
            return [each for each in made if isinstance(each, Start)], True
    return made, False


def _are_quotas_enough(desk: Desk) -> bool:
    """Return whether no max, and not the pool, is in the way of all that waits."""
    state, books = desk.state, desk.books
    axes = range(len(books.pool))
    asked = list(books.now.pool)
    for name, used in books.now.used.items():
        waiting = state.axes.charge(state.resources, tuple(state.sums[name].pending))
        ceiling = books.ceiling[name]
        for at in axes:
            asked[at] += waiting[at]
            most = ceiling[at]
            if waiting[at] and most is not None and used[at] + waiting[at] > most:
                return False
    more = [asked[at] - books.now.pool[at] for at in axes]
    return all(asked[at] <= books.pool[at] for at in axes if more[at])
