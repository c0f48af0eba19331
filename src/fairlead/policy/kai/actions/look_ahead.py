"""Starts nothing that the next cycle would evict.

A cycle gives idle room to the next job in order, and a pod that started in it is not evicted in it.
In the next cycle it may be, by a job whose attempt fails today: pods would start only to be
stopped, and some clusters would never settle. So before a plan is returned, the next cycle is tried
on what the plan would leave behind. Pods that would lose their new places are held back, and the
cycle is planned again without them, until it starts nothing that would be evicted. If then nothing
starts at all, one of the jobs held back may start that is safe if the others wait.

The next plan looks ahead in turn, so it may hold back a job and then evict others than a cycle
without restraint does. That must not cost a newcomer its place: when a cycle is planned again, the
newcomers are spared that it did not evict at first. So the law holds from plan to plan.
"""

from collections.abc import Iterable, Sequence, Set
from typing import Final, NamedTuple, TypeAlias, assert_never

from fairlead.model.axes import Limits, WorkloadName
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start, Unknown, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey
from fairlead.placement.room_for_all import is_room_for_all
from fairlead.policy.kai.actions.cycle import NO_RESTRAINT, KaiCycle, Restraint
from fairlead.policy.kai.actions.prefilter import Backend, plain_backend
from fairlead.policy.kai.actions.sources import Sources
from fairlead.policy.kai.settings import KaiSettings

VICTIM_ACTIONS: Final = frozenset({"consolidation", "reclaim", "preempt"})
NEXT_CYCLE_MS: Final = 1_000
"""When the next cycle is tried: after KAI's own period."""
MOST_ROUNDS: Final = 10
MOST_LET_GO: Final = 10
"""How many jobs are tried alone where all are held back."""
NEWCOMER_MS: Final = NEXT_CYCLE_MS
"""For how long a pod is new. The law holds if the next cycle comes within that time."""

Displaced: TypeAlias = dict[PodKey, WorkloadName | None]
"""Pods that are evicted or moved, each with the job that benefits, if there is one."""


class LookAhead(NamedTuple):
    """The decisions of a cycle that looks one cycle ahead, and its restraint."""

    decisions: tuple[Decision, ...]
    restraint: Restraint
    time_dependent: bool  # at another time the outcome may differ
    is_cut: bool = False  # after so many starts, with others to come


def look_ahead(
    state: ClusterState,
    settings: KaiSettings,
    now_ms: int,
    backend: Backend | None = None,
    *,
    explain: bool = True,
    at_most_starts: int | None = None,
) -> LookAhead:
    """Return what to do about *state*, which is afterwards as it was before.

    Law, except in faithful mode: if nothing else happens until then, the look-ahead of the next
    cycle neither evicts nor moves a pod that this one starts or reserves room for, whether its
    reservations have been kept by then or their pods are pending again. A moved pod may be moved
    again. The law ends where pods are held back `MOST_ROUNDS` times and some would still lose their
    places: then those and all jobs without a place are held back, and that is the plan.

    Cost: if something starts that could be evicted while others wait, a second cycle, and a third
    if it evicts. As much again each time that pods are held back. With *explain* there is a `Wait`
    for each job that waits, with the reasons of the cycle that decided. After *at_most_starts* it
    is cut where `may_cut` allows it; then no place can be lost again, so that no second cycle is
    tried.
    """
    backend = backend or plain_backend(state, settings)
    cycles = _TwoCycles(state, settings, now_ms, backend, explain=explain)
    restraint = NO_RESTRAINT
    if at_most_starts is not None and not may_cut(state, settings, backend.sources, at_most_starts):
        at_most_starts = None
    unrestrained = decisions = cycles.plan(restraint, at_most_starts)
    if cycles.is_cut:
        return LookAhead(decisions, restraint, cycles.time_dependent, is_cut=True)
    rounds = 0
    while undone := cycles.undone(decisions):
        rounds += 1
        is_last = rounds == MOST_ROUNDS
        restraint = cycles.stricter(restraint, decisions, undone, holds_all_others=is_last)
        decisions = cycles.plan(restraint)
        if is_last:
            break
    if restraint.held_back and not _places(decisions):
        let_go = cycles.with_one_let_go(restraint, unrestrained)
        restraint, decisions = let_go or (restraint, decisions)
    return LookAhead(decisions, restraint, cycles.time_dependent)


class _TwoCycles:
    """Two cycles, one after the other, tried on a state that stays as it is."""

    def __init__(
        self,
        state: ClusterState,
        settings: KaiSettings,
        now_ms: int,
        backend: Backend,
        *,
        explain: bool,
    ) -> None:
        self._state = state
        self._settings = settings
        self._now_ms = now_ms
        self._backend = backend
        self._explain = explain  # why jobs wait in the first cycle; the next one is only tried
        self._can_evict = not settings.faithful and not VICTIM_ACTIONS.isdisjoint(settings.actions)
        self.is_cut = False  # the last plan, after so many starts
        self.has_waiting = False  # after the last plan
        self.time_dependent = False

    def plan(self, restraint: Restraint, at_most_starts: int | None = None) -> tuple[Decision, ...]:
        with self._state.trial():
            cycle = KaiCycle(
                self._state,
                self._settings,
                self._now_ms,
                self._backend,
                restraint,
                explain=self._explain,
                at_most_starts=at_most_starts,
            )
            decisions = self._decisions(cycle)
            self.is_cut, self.has_waiting = cycle.is_cut, self._state.has_waiting()
            return decisions

    def undone(self, decisions: tuple[Decision, ...]) -> Displaced:
        """Return the pods that get a place by *decisions* and lose it in the next cycle.

        Where there are reservations it is tried with them kept; if that undoes nothing, without.
        """
        if not self._can_evict or not self._will_any_wait(decisions):
            return {}
        started = self._preemptible(_placed(decisions, (Start,)))
        reserved = _placed(decisions, (Reserve,))
        at_stake = started | self._preemptible(reserved)
        undone: Displaced = {}
        if reserved and at_stake:
            displaced = self._displaced_next(decisions, keeps_reservations=True)
            undone = {pod: displaced[pod] for pod in displaced.keys() & at_stake}
        if started and not undone:
            displaced = self._displaced_next(decisions, keeps_reservations=False)
            undone = {pod: displaced[pod] for pod in displaced.keys() & started}
        return undone

    def stricter(
        self,
        restraint: Restraint,
        decisions: tuple[Decision, ...],
        undone: Displaced,
        *,
        holds_all_others: bool = False,
    ) -> Restraint:
        """Return the restraint for the next round, which holds back the *undone* pods, too.

        If that was not enough before, also those behind them; or all that get nothing by
        *decisions*.
        """
        is_first = not restraint.held_back
        lost_to = {name: winner for (name, _), winner in self._in_order(undone) if winner}
        takers = {**lost_to, **restraint.takers}
        pods = pods_to_hold_back(
            self._state,
            decisions,
            undone.keys(),
            with_queue=not is_first,
            takers=set(takers.values()),
        )
        if holds_all_others:
            pods |= self._without_place(decisions)
        held = {(name, pod) for name, held in restraint.held_back.items() for pod in held}
        held_back: dict[WorkloadName, set[PodId]] = {}
        for name, pod in sorted(held | pods):
            held_back.setdefault(name, set()).add(pod)
        spared = restraint.spared
        if is_first:  # these are the decisions of a cycle without restraint
            spared = self._newcomers() - _displaced(decisions).keys()
            self.time_dependent = True
        return Restraint(held_back, spared, takers)

    def with_one_let_go(
        self, restraint: Restraint, unrestrained: tuple[Decision, ...]
    ) -> tuple[Restraint, tuple[Decision, ...]] | None:
        """Return the restraint without the first job that is safe if it alone gets its place.

        So room does not stay idle because each of several jobs would lose it to another. None if
        none of the first few jobs that get a place by the *unrestrained* decisions is safe.
        """
        served = dict.fromkeys(name for name, _ in _places(unrestrained))
        for name in [name for name in served if name in restraint.held_back][:MOST_LET_GO]:
            others = {job: pods for job, pods in restraint.held_back.items() if job != name}
            looser = restraint._replace(held_back=others)
            decisions = self.plan(looser)
            if _places(decisions) and not self.undone(decisions):
                return looser, decisions
        return None

    def _in_order(self, undone: Displaced) -> list[tuple[PodKey, WorkloadName | None]]:
        """Return pods with the jobs that displace them, by job and by their position there."""
        workloads = self._state.workloads

        def position(entry: tuple[PodKey, WorkloadName | None]) -> tuple[str, int]:
            name, pod = entry[0]
            return name, workloads[name].pod_sets.position[pod]

        return sorted(undone.items(), key=position)

    def _without_place(self, decisions: tuple[Decision, ...]) -> set[PodKey]:
        state, placed = self._state, set(_places(decisions))
        names = [name for queue in state.waited_for() for name in state.waiting(queue)]
        return {(name, pod) for name in names for pod in state.workloads[name].pods()} - placed

    def _displaced_next(
        self, decisions: tuple[Decision, ...], *, keeps_reservations: bool
    ) -> Displaced:
        with self._state.trial():
            carry_out(self._state, decisions, self._now_ms, keeps_reservations=keeps_reservations)
            then_ms = self._now_ms + NEXT_CYCLE_MS
            cycle = KaiCycle(self._state, self._settings, then_ms, self._backend, explain=False)
            return _displaced(self._decisions(cycle))

    def _decisions(self, cycle: KaiCycle) -> tuple[Decision, ...]:
        decisions = tuple(cycle.decisions())
        self.time_dependent |= cycle.time_dependent
        return decisions

    def _will_any_wait(self, decisions: tuple[Decision, ...]) -> bool:
        """Return whether any job may be pending in the next cycle.

        It waits after the last plan, loses its place by it, or is terminating already.
        """
        if self.has_waiting or not all(isinstance(each, Start) for each in decisions):
            return True
        return any(any(sums.leaving) for sums in self._state.sums.values())

    def _preemptible(self, pods: Iterable[PodKey]) -> Set[PodKey]:
        workloads = self._state.workloads
        return {pod for pod in pods if workloads[pod[0]].preemptible}

    def _newcomers(self) -> Set[PodKey]:
        since_ms = self._now_ms - NEWCOMER_MS
        return {
            (name, pod)
            for name, run in self._state.runs.items()
            for pod, placed in run.pods.items()
            if placed.started_ms >= since_ms
        }


def pods_to_hold_back(
    state: ClusterState,
    decisions: Sequence[Decision],
    undone: Set[PodKey],
    *,
    with_queue: bool,
    takers: Set[WorkloadName] = frozenset(),
) -> set[PodKey]:
    """Return which pods should wait, because *undone* would get places by *decisions* in vain.

    These pods, and the pods of their jobs without a place: those would take the same room and lose
    it in the same way. So may other jobs of the queue, one after the other; *with_queue* holds back
    all of the queue that get nothing by *decisions*, except the *takers*. But not because of a
    reservation, which no other job takes over. Law: *undone* are among them, so repeating it ends.
    Cost: a look at each decision; *with_queue* also at each pending job of those queues.
    """
    started = {each.workload for each in decisions if isinstance(each, Start)}
    served = started | {each.workload for each in decisions if isinstance(each, Reserve)}
    losing = {name for name, _ in undone}
    held = set(losing)
    if with_queue:
        queues = {state.workloads[name].queue for name in losing & started}
        held |= {name for queue in queues for name in state.waiting(queue)} - served - takers
    waiting = {(name, pod) for name in held for pod in state.workloads[name].pods()}
    return (waiting - set(_places(decisions))) | undone


def may_cut(state: ClusterState, settings: KaiSettings, sources: Sources, starts: int) -> bool:
    """Return whether a plan may stop after *starts* pods, and go on in the next one.

    The two together must be the same as one plan. A job that was refused would have another turn
    and shape the queue order again; an attempt of a later job might evict one that has started,
    which one cycle settles and two do not. So a plan is cut only where more than *starts* pods wait
    and all of them plainly start in one cycle: then no job is refused, and none needs victims. Nor
    is it cut where allocate is not the first action, or has a queue depth: the next plan would look
    further. Cost: the queues, and a look at each node (see `is_room_for_all`).
    """
    if sum(sources.waiting_pods.by_shape().values()) <= starts:
        return False
    if settings.actions[:1] != ("allocate",) or "allocate" in dict(settings.queue_depth):
        return False
    if state.repelling or not _have_queues_room(state, sources):
        return False
    rooms = sources.finder.rooms()
    idle = {name: tuple(map(min, room.idle, room.later)) for name, room in rooms.items()}
    return is_room_for_all(state.books, idle, sources.waiting_pods.by_shape())


def _have_queues_room(state: ClusterState, sources: Sources) -> bool:
    """Return whether no limit or quota prevents anything that is requested."""
    for name, queue in state.queues.items():
        if not _is_within(state.requested(name), queue.ceiling):
            return False
    for leaf in sources.waiting_pods.marked_queues():  # with jobs that are not preemptible
        for name in state.path(leaf):
            sums = state.sums[name]
            waiting = state.axes.charge(state.resources, tuple(sums.pending))
            kept = [a + b for a, b in zip(sums.non_preemptible, waiting, strict=True)]
            if not _is_within(kept, state.queues[name].guaranteed):
                return False
    return True


def _is_within(amounts: Sequence[int], limits: Limits) -> bool:
    return all(most is None or amount <= most for amount, most in zip(amounts, limits, strict=True))


def _places(decisions: Iterable[Decision]) -> list[PodKey]:
    return _placed(decisions, (Start, Reserve))


def _placed(
    decisions: Iterable[Decision], types: tuple[type[Start | Reserve], ...]
) -> list[PodKey]:
    return [
        (each.workload, place.pod)
        for each in decisions
        if isinstance(each, types)
        for place in each.placements
    ]


def _displaced(decisions: Iterable[Decision]) -> Displaced:
    """Return the pods that are evicted or moved, and for which job."""
    displaced: Displaced = {}
    for each in decisions:
        match each:
            case Evict():
                displaced |= {(each.workload, pod): each.beneficiary for pod in each.pods}
            case Move():
                displaced |= {(each.workload, p.pod): each.beneficiary for p in each.placements}
            case Start() | Reserve() | Wait() | Unknown():
                pass  # no pod is displaced
            case _:
                assert_never(each)
    return displaced
