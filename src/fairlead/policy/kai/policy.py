"""KAI's rules as one function: from a state to what should be done about it."""

from typing import NamedTuple

from fairlead.model.events import MemoryChanged
from fairlead.model.holding import holding
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.plan import Decision, Plan
from fairlead.model.state import ClusterState
from fairlead.policy.kai.actions.look_ahead import LookAhead, look_ahead
from fairlead.policy.kai.fair_share.shares import KaiShare
from fairlead.policy.kai.incremental.state import IncrementalSources
from fairlead.policy.kai.settings import KaiSettings


class KaiPolicy:
    """Plans under KAI's rules with the settings of one administrator."""

    def __init__(self, settings: KaiSettings) -> None:
        """Make the policy once; it may plan for any number of states, and is fastest for one."""
        self.settings = settings
        self._sources: IncrementalSources | None = None
        self._last: _LastPlan | None = None

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
        all who wait can start (see `may_cut`). Law: slices in a row, each carried out, are the
        whole plan without its waits, in both modes; the last one has the waits.
        """
        asked = PlanRequest(held, at_most_starts, explain)
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

    def _look_ahead(self, state: ClusterState, now_ms: int, asked: "PlanRequest") -> "_LastPlan":
        sources, last = self._follow(state), self._last
        if last is not None and last.may_serve(state, now_ms, asked):
            return last
        with holding(state, asked.held):
            outlook = look_ahead(
                state,
                self.settings,
                now_ms,
                sources,
                explain=asked.explain,
                at_most_starts=asked.at_most_starts,
            )
            memories = self._to_remember(sources, outlook, now_ms)
        time_dependent = outlook.time_dependent or any(each.memory for each in memories)
        self._last = made = _LastPlan(
            moment=state.moment,
            decisions=outlook.decisions,
            memories=memories,
            is_cut=outlook.is_cut,
            asked=asked,
            taken_ms=now_ms if time_dependent else None,
        )
        return made

    def _to_remember(
        self, sources: IncrementalSources, outlook: LookAhead, now_ms: int
    ) -> tuple[MemoryChanged, ...]:
        """Return since when which gangs are incomplete, if that is to count.

        Not of a plan that is cut: the next may complete them.
        """
        if outlook.is_cut or "stalegangeviction" not in self.settings.actions:
            return ()
        grace_ms = self.settings.stale_grace_ms
        return sources.stale_gangs.memories(now_ms, grace_ms, outlook.decisions)

    def _follow(self, state: ClusterState) -> IncrementalSources:
        """Return what is kept of *state*, and of no other."""
        if self._sources is None or self._sources.state is not state:
            self._sources, self._last = IncrementalSources(state, self.settings), None
        return self._sources


class PlanRequest(NamedTuple):
    """All that a caller says of a plan besides the state and the time."""

    held: Holds
    at_most_starts: int | None
    explain: bool  # why jobs wait


class _LastPlan(NamedTuple):
    """When a state was planned for, and what came of it."""

    moment: int
    decisions: tuple[Decision, ...]
    memories: tuple[MemoryChanged, ...]
    is_cut: bool
    asked: PlanRequest
    taken_ms: int | None  # None: at any time they would be the same

    def may_serve(self, state: ClusterState, now_ms: int, asked: PlanRequest) -> bool:
        """Return whether nothing changed but the time, and that makes no difference."""
        is_same_time = self.taken_ms is None or self.taken_ms == now_ms
        return self.moment == state.moment and is_same_time and self.asked == asked
