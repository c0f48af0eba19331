"""KAI's rules as one function: from a state to what should be done about it."""

from typing import NamedTuple

from fairlead.model.events import MemoryChanged
from fairlead.model.execution.holding import holding
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.plan import Decision, Plan
from fairlead.model.state import ClusterState
from fairlead.policy.kai.followed_state import FollowedState
from fairlead.policy.kai.look_ahead import Outlook, look_ahead
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShare


class KaiPolicy:
    """Plans under KAI's rules with the settings of one administrator."""

    def __init__(self, settings: KaiSettings) -> None:
        """Make the policy once; it may plan for any number of states, and is fastest for one."""
        self.settings = settings
        self._followed: FollowedState | None = None
        self._last: _Planned | None = None

    def plan(
        self,
        state: ClusterState,
        now_ms: int,
        *,
        held: Holds = NOTHING_HELD,
        at_most_starts: int | None = None,
        explain: bool = True,
    ) -> Plan:
        """Return what to do about *state*, which is afterwards as it was before.

        The same state gives the same decisions, whatever was planned before and in whichever order
        things were listed. A state that has not changed since the last call costs nothing; one
        that has, keeps what did not change.

        A job that is *held* does not stand in its queue, so that others pass it. It keeps the pods
        that run, which may be asked to leave as always. A job of which any pod is held as a victim
        is not asked at all, since the rest of a gang alone would be of no use.

        The plan stops after *at_most_starts* pods, but not within a gang, where it is plain that
        all who wait can start (see `may_be_cut`). Law: slices in a row, each carried out, are the
        whole plan without its waits, in both modes; the last one has the waits.
        """
        asked = Asked(held, at_most_starts, explain)
        made = self._look_ahead(state, now_ms, asked)
        return Plan(
            taken_ms=now_ms,
            decisions=made.decisions,
            memories=made.memories,
            is_cut=made.is_cut,
            time_dependent=made.taken_ms is not None,
        )

    def shares(self, state: ClusterState) -> list[KaiShare]:
        """Return what queues are entitled to, parents before children, siblings by name.

        Law: these are the rows of `KaiShares`. Cost: what changed since the last plan.
        """
        division = self._follow(state).shares
        division.catch_up()
        return list(division.shares.values())

    def _look_ahead(self, state: ClusterState, now_ms: int, asked: "Asked") -> "_Planned":
        followed, last = self._follow(state), self._last
        if last is not None and last.may_serve(state, now_ms, asked):
            return last
        with holding(state, asked.held):
            outlook = look_ahead(
                state,
                self.settings,
                now_ms,
                followed,
                tells_why=asked.explain,
                at_most_starts=asked.at_most_starts,
            )
            memories = self._to_remember(followed, outlook, now_ms)
        looked_at_the_clock = outlook.looked_at_the_clock or any(each.memory for each in memories)
        self._last = made = _Planned(
            moment=state.moment,
            decisions=outlook.decisions,
            memories=memories,
            is_cut=outlook.is_cut,
            asked=asked,
            taken_ms=now_ms if looked_at_the_clock else None,
        )
        return made

    def _to_remember(
        self, followed: FollowedState, outlook: Outlook, now_ms: int
    ) -> tuple[MemoryChanged, ...]:
        """Return since when which gangs are incomplete, if that is to count.

        Not of a plan that is cut: the next may complete them.
        """
        if outlook.is_cut or "stalegangeviction" not in self.settings.actions:
            return ()
        grace_ms = self.settings.stale_grace_ms
        return followed.stale_gangs.memories(now_ms, grace_ms, outlook.decisions)

    def _follow(self, state: ClusterState) -> FollowedState:
        """Return what is kept of *state*, and of no other."""
        if self._followed is None or self._followed.state is not state:
            self._followed, self._last = FollowedState(state, self.settings), None
        return self._followed


class Asked(NamedTuple):
    """All that a caller says of a plan besides the state and the time."""

    held: Holds
    at_most_starts: int | None
    explain: bool  # why jobs wait


class _Planned(NamedTuple):
    """When a state was planned for, and what came of it."""

    moment: int
    decisions: tuple[Decision, ...]
    memories: tuple[MemoryChanged, ...]
    is_cut: bool
    asked: Asked
    taken_ms: int | None  # None: at any time they would be the same

    def may_serve(self, state: ClusterState, now_ms: int, asked: Asked) -> bool:
        """Return whether nothing changed but the time, and that makes no difference."""
        is_same_time = self.taken_ms is None or self.taken_ms == now_ms
        return self.moment == state.moment and is_same_time and self.asked == asked
