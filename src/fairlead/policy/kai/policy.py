"""KAI's rules as one function: from a state to what should be done about it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairlead.model.events import MemoryChanged
from fairlead.model.holding import holding
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.plan import Decision, Plan
from fairlead.model.state import ClusterState
from fairlead.policy.kai.followed_state import FollowedState
from fairlead.policy.kai.look_ahead import look_ahead
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShare


class KaiPolicy:
    """Plans under KAI's rules with the settings of one administrator."""

    def __init__(self, settings: KaiSettings) -> None:
        """Make the policy once; it may plan for any number of states, and is fastest for one."""
        self.settings = settings
        self.holds_until_ms: int | None = None  # nobody knows for how long a plan holds
        self._followed: FollowedState | None = None
        self._last: _Planned | None = None

    def plan(self, state: ClusterState, now_ms: int, *, held: Holds = NOTHING_HELD) -> Plan:
        """Return what to do about *state*, which is afterwards as it was before.

        The same state gives the same decisions, whatever was planned before and in whichever order
        things were listed. A state that has not changed since the last call costs nothing; one
        that has, keeps what did not change.

        A job that is *held* does not stand in its queue, so that others pass it. It keeps the pods
        that run, which may be asked to leave as always. A job of which any pod is held as a victim
        is not asked at all, since the rest of a gang alone would be of no use.
        """
        planned = self._look_ahead(state, now_ms, held, tells_why=True)
        return Plan(taken_ms=now_ms, decisions=planned.decisions, memories=planned.memories)

    def changes(
        self, state: ClusterState, now_ms: int, *, held: Holds = NOTHING_HELD
    ) -> Sequence[Decision]:
        """Return the plan without its waits, for who asks again and again and reads no reasons.

        Law: these are the decisions of ``plan`` that are no ``Wait``.
        """
        return self._look_ahead(state, now_ms, held, tells_why=False).decisions

    def shares(self, state: ClusterState) -> list[KaiShare]:
        """Return what queues are entitled to, parents before children, siblings by name.

        Law: these are the rows of `KaiShares`. Cost: what changed since the last plan.
        """
        division = self._follow(state).shares
        division.catch_up()
        return list(division.shares.values())

    def _look_ahead(
        self, state: ClusterState, now_ms: int, held: Holds, *, tells_why: bool
    ) -> "_Planned":
        followed, last = self._follow(state), self._last
        if last is not None and last.may_serve(state, now_ms, held, tells_why=tells_why):
            return last
        with holding(state, held):
            outlook = look_ahead(state, self.settings, now_ms, followed, tells_why=tells_why)
            memories = self._to_remember(followed, outlook.decisions, now_ms)
        looked_at_the_clock = outlook.looked_at_the_clock or any(each.memory for each in memories)
        taken_ms = now_ms if looked_at_the_clock else None
        planned = _Planned(state.moment, outlook.decisions, memories, held, tells_why, taken_ms)
        self._last = planned
        return planned

    def _to_remember(
        self, followed: FollowedState, decisions: Iterable[Decision], now_ms: int
    ) -> tuple[MemoryChanged, ...]:
        """Return since when which gangs are incomplete, if that is to count."""
        if "stalegangeviction" not in self.settings.actions:
            return ()
        return followed.stale_gangs.memories(now_ms, self.settings.stale_grace_ms, decisions)

    def _follow(self, state: ClusterState) -> FollowedState:
        """Return what is kept of *state*, and of no other."""
        if self._followed is None or self._followed.state is not state:
            self._followed, self._last = FollowedState(state, self.settings), None
        return self._followed

    @property
    def memories(self) -> tuple[MemoryChanged, ...]:
        """What the last plan leaves to be remembered."""
        return () if self._last is None else self._last.memories

    @property
    def looked_at_the_clock(self) -> bool:
        """Whether the last plan might have been another one at another time."""
        return self._last is not None and self._last.taken_ms is not None


class _Planned(NamedTuple):
    """When a state was planned for, and what came of it."""

    moment: int
    decisions: tuple[Decision, ...]
    memories: tuple[MemoryChanged, ...]
    held: Holds
    tells_why: bool  # those who wait
    taken_ms: int | None  # None: at any time they would be the same

    def may_serve(self, state: ClusterState, now_ms: int, held: Holds, *, tells_why: bool) -> bool:
        """Return whether nothing changed but the time, and that makes no difference."""
        is_same_time = self.taken_ms is None or self.taken_ms == now_ms
        is_same = self.moment == state.moment and self.held == held
        return is_same and is_same_time and self.tells_why == tells_why
