"""Nothing starts that the next cycle would take away again.

A cycle gives idle room to whoever is next, and nobody who came in it is asked to give way in it.
In the next one they are, by somebody whose claim comes to nothing today: pods start only to be
stopped, and some clusters never come to rest. So before a plan is given, the next cycle is tried on
what it would leave behind. Pods that would lose their new place are held back, and the cycle is
planned again without them, until nothing of it would be taken back. If then nobody is left to
start, one of those held back may, who is safe if the others wait.

The next plan looks ahead in turn, so it may hold back somebody and then ask others than a plain
cycle asks. That must not cost a newcomer its place: when a cycle is planned again, those newcomers
are spared whom it did not ask at first. So the law holds from plan to plan.
"""

from collections.abc import Iterable, Mapping, Set
from typing import Final, NamedTuple, TypeAlias, assert_never

from fairlead.model.axes import WorkloadName
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey
from fairlead.policy.kai.cycle import NO_TAKERS, KaiCycle
from fairlead.policy.kai.followed_state import FollowedState
from fairlead.policy.kai.hold_back import pods_to_hold_back
from fairlead.policy.kai.may_be_cut import may_be_cut
from fairlead.policy.kai.pending_jobs import NOBODY
from fairlead.policy.kai.settings import KaiSettings

CLAIMS: Final = frozenset({"consolidation", "reclaim", "preempt"})
NEXT_CYCLE_MS: Final = 1_000
"""When the next cycle is tried: after KAI's own period."""
MOST_ROUNDS: Final = 10
MOST_LET_GO: Final = 10
"""How many jobs are tried alone where everybody is held back."""
NEWCOMER_MS: Final = NEXT_CYCLE_MS
"""For how long a pod is new. The law holds if the next cycle comes within that time."""

Taken: TypeAlias = dict[PodKey, WorkloadName | None]
"""Pods that lose or leave their place, and for whom; None: for nobody in particular."""


class Restraint(NamedTuple):
    """What a cycle does not do although it could: start some pods, ask others to give way."""

    held_back: Mapping[WorkloadName, Set[PodId]] = NOBODY
    spared: Set[PodKey] = frozenset()
    takers: Mapping[WorkloadName, WorkloadName] = NO_TAKERS  # who would have the place next

    def cycle(
        self,
        state: ClusterState,
        settings: KaiSettings,
        now_ms: int,
        followed: FollowedState | None = None,
        *,
        tells_why: bool = True,
    ) -> KaiCycle:
        """Return a cycle under this restraint. The caller has put *state* on trial."""
        restraint = self.held_back, self.spared, self.takers
        return KaiCycle(state, settings, now_ms, followed, *restraint, tells_why=tells_why)


class Outlook(NamedTuple):
    """What a cycle decides that looks one cycle ahead, and under which restraint."""

    decisions: tuple[Decision, ...]
    restraint: Restraint
    looked_at_the_clock: bool  # at another time it might come out otherwise
    is_cut: bool = False  # after so many starts, with others to come


def look_ahead(
    state: ClusterState,
    settings: KaiSettings,
    now_ms: int,
    followed: FollowedState | None = None,
    *,
    tells_why: bool = True,
    at_most_starts: int | None = None,
) -> Outlook:
    """Return what to do about *state*, which is afterwards as it was before.

    Law, but in faithful mode: if nothing else happens until then, the outlook of the next cycle
    neither evicts nor moves a pod that this one starts or has room reserved for, whether its
    reservations have been kept by then or their pods wait again. A pod that is moved may be again.
    The law ends where pods are held back for `MOST_ROUNDS` times and still some would lose their
    places: then those and all who wait for what they leave are held back, and that is that.

    Cost: if something starts that could give way while others wait, a second cycle, and a third if
    somebody leaves for it. As much again each time that pods are held back. Without *tells_why*
    there is no `Wait` among the decisions; with it, the last cycle is made once more to tell if
    anybody waits. After *at_most_starts* it is cut where `may_be_cut` allows it; then nobody could
    lose its place again, so that no second cycle is tried.
    """
    followed = followed or FollowedState(state, settings)
    ahead = _Ahead(state, settings, now_ms, followed)
    restraint = Restraint()
    if at_most_starts is not None and may_be_cut(state, settings, followed, at_most_starts):
        decisions = ahead.first_starts(at_most_starts)
        if decisions is not None:
            return Outlook(decisions, restraint, ahead.looked_at_the_clock, is_cut=True)
    plain = decisions = ahead.plan(restraint)
    rounds = 0
    while undone := ahead.undone(decisions):
        rounds += 1
        is_last = rounds == MOST_ROUNDS
        restraint = ahead.stricter(restraint, decisions, undone, holds_all_others=is_last)
        decisions = ahead.plan(restraint)
        if is_last:
            break
    if restraint.held_back and not _places(decisions):
        restraint, decisions = ahead.with_one_let_go(restraint, plain) or (restraint, decisions)
    if tells_why and (restraint.held_back or ahead.has_waiting):
        decisions = ahead.plan(restraint, tells_why=True)
    return Outlook(decisions, restraint, ahead.looked_at_the_clock)


class _Ahead:
    """Two cycles, one after the other, tried on a state that stays as it is."""

    def __init__(
        self, state: ClusterState, settings: KaiSettings, now_ms: int, followed: FollowedState
    ) -> None:
        self._state = state
        self._settings = settings
        self._now_ms = now_ms
        self._followed = followed
        self._can_take = not settings.faithful and not CLAIMS.isdisjoint(settings.actions)
        self.has_waiting = False  # after the last plan
        self._known_next: Taken | None = None  # what would be taken after it; None: not known
        self.looked_at_the_clock = False

    def plan(self, restraint: Restraint, *, tells_why: bool = False) -> tuple[Decision, ...]:
        self._known_next = None
        with self._state.trial():
            cycle = self._cycle(restraint, self._now_ms, tells_why=tells_why)
            decisions = self._decisions(cycle)
            self.has_waiting = self._state.has_waiting()
            if not tells_why and self._is_carried_out(cycle, decisions):
                self._known_next = self._next_on_trial(decisions)
            return decisions

    def first_starts(self, most: int) -> tuple[Decision, ...] | None:
        """Return the first starts of a plain cycle that is cut after so many; None: it is not."""
        world = self._state, self._settings, self._now_ms, self._followed
        with self._state.trial():
            cycle = KaiCycle(*world, tells_why=False, at_most_starts=most)
            decisions = self._decisions(cycle)
            return decisions if cycle.is_cut else None

    def undone(self, decisions: tuple[Decision, ...]) -> Taken:
        """Return pods that get a place by *decisions* and lose or leave it in the next cycle.

        With each comes for whom. Where there are reservations it is tried with them kept; if all
        is well, also without.
        """
        if not self._can_take or not self._will_somebody_wait(decisions):
            return {}
        started = self._could_give_way(_placed(decisions, (Start,)))
        promised = _placed(decisions, (Reserve,))
        at_stake = started | self._could_give_way(promised)
        undone: Taken = {}
        if promised and at_stake:
            taken = self._taken_next(decisions, keeps_reservations=True)
            undone = {pod: taken[pod] for pod in taken.keys() & at_stake}
        if started and not undone:
            taken = self._taken_next(decisions, keeps_reservations=False)
            undone = {pod: taken[pod] for pod in taken.keys() & started}
        return undone

    def stricter(
        self,
        restraint: Restraint,
        decisions: tuple[Decision, ...],
        undone: Taken,
        *,
        holds_all_others: bool = False,
    ) -> Restraint:
        """Return the restraint for the next attempt, which holds back those pods, too.

        If that was not enough before, also those behind them; or all who get nothing by
        *decisions*.
        """
        is_first = not restraint.held_back
        lost_to = {name: winner for (name, _), winner in self._in_order(undone) if winner}
        takers = {**lost_to, **restraint.takers}
        pods = pods_to_hold_back(
            self._state,
            decisions,
            undone.keys(),
            with_those_behind=not is_first,
            takers=set(takers.values()),
        )
        if holds_all_others:
            pods |= self._without_place(decisions)
        held = {(name, pod) for name, held in restraint.held_back.items() for pod in held}
        held_back: dict[WorkloadName, set[PodId]] = {}
        for name, pod in sorted(held | pods):
            held_back.setdefault(name, set()).add(pod)
        spared = restraint.spared
        if is_first:  # these are the decisions of a plain cycle
            spared = self._newcomers() - _asked(decisions).keys()
            self.looked_at_the_clock = True
        return Restraint(held_back, spared, takers)

    def with_one_let_go(
        self, restraint: Restraint, plain: tuple[Decision, ...]
    ) -> tuple[Restraint, tuple[Decision, ...]] | None:
        """Return the restraint without the first job that is safe if it alone gets its place.

        So room does not stay idle because each of several would lose it to another. None if nobody
        of those who get a place by the *plain* decisions is safe, or not one of the first few.
        """
        served = dict.fromkeys(name for name, _ in _places(plain))
        for name in [name for name in served if name in restraint.held_back][:MOST_LET_GO]:
            others = {job: pods for job, pods in restraint.held_back.items() if job != name}
            looser = restraint._replace(held_back=others)
            decisions = self.plan(looser)
            if _places(decisions) and not self.undone(decisions):
                return looser, decisions
        return None

    def _in_order(self, undone: Taken) -> list[tuple[PodKey, WorkloadName | None]]:
        """Return pods with what took their places, by job and by their position there."""
        workloads = self._state.workloads

        def place(entry: tuple[PodKey, WorkloadName | None]) -> tuple[str, int]:
            name, pod = entry[0]
            return name, workloads[name].pod_sets.position[pod]

        return sorted(undone.items(), key=place)

    def _without_place(self, decisions: tuple[Decision, ...]) -> set[PodKey]:
        state, placed = self._state, set(_places(decisions))
        names = [name for queue in state.waited_for() for name in state.waiting(queue)]
        return {(name, pod) for name in names for pod in state.workloads[name].pods()} - placed

    def _taken_next(self, decisions: tuple[Decision, ...], *, keeps_reservations: bool) -> Taken:
        if self._known_next is not None:
            return self._known_next
        with self._state.trial():
            carry_out(self._state, decisions, self._now_ms, keeps_reservations=keeps_reservations)
            return self._asked_next()

    def _is_carried_out(self, cycle: KaiCycle, decisions: tuple[Decision, ...]) -> bool:
        """Return whether the state after a cycle is what carrying out its *decisions* comes to.

        So it is where pods only start: nobody leaves, and nothing is reserved.
        """
        if cycle.has_displaced or not all(isinstance(each, Start) for each in decisions):
            return False
        return not self._followed.leavers.are_any()

    def _next_on_trial(self, decisions: tuple[Decision, ...]) -> Taken | None:
        """Return what the next cycle would take if *decisions*, which only start pods, stand.

        They are carried out on the state already, so it goes on from there. None: nobody asks.
        """
        if not self._can_take or not self.has_waiting:
            return None
        return self._asked_next() if self._could_give_way(_places(decisions)) else None

    def _asked_next(self) -> Taken:
        return _asked(self._decisions(self._cycle(Restraint(), self._now_ms + NEXT_CYCLE_MS)))

    def _cycle(self, restraint: Restraint, now_ms: int, *, tells_why: bool = False) -> KaiCycle:
        return restraint.cycle(
            self._state, self._settings, now_ms, self._followed, tells_why=tells_why
        )

    def _decisions(self, cycle: KaiCycle) -> tuple[Decision, ...]:
        decisions = tuple(cycle.decisions())
        self.looked_at_the_clock |= cycle.looked_at_the_clock
        return decisions

    def _will_somebody_wait(self, decisions: tuple[Decision, ...]) -> bool:
        """Return whether there can be anybody to claim something in the next cycle.

        Whoever waits does so after the last plan; others lose their places now, or are leaving
        already.
        """
        if self.has_waiting or not all(isinstance(each, Start) for each in decisions):
            return True
        return any(any(sums.leaving) for sums in self._state.sums.values())

    def _could_give_way(self, pods: Iterable[PodKey]) -> Set[PodKey]:
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


def _places(decisions: Iterable[Decision]) -> list[PodKey]:
    return _placed(decisions, (Start, Reserve))


def _placed(
    decisions: Iterable[Decision], kinds: tuple[type[Start | Reserve], ...]
) -> list[PodKey]:
    return [
        (each.workload, place.pod)
        for each in decisions
        if isinstance(each, kinds)
        for place in each.placements
    ]


def _asked(decisions: Iterable[Decision]) -> Taken:
    """Return the pods that lose their places or move, and for whom."""
    taken: Taken = {}
    for each in decisions:
        match each:
            case Evict():
                taken |= {(each.workload, pod): each.beneficiary for pod in each.pods}
            case Move():
                taken |= {(each.workload, p.pod): each.beneficiary for p in each.placements}
            case Start() | Reserve() | Wait():
                pass  # nobody loses anything by it
            case _:
                assert_never(each)
    return taken
