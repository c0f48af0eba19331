"""ElasticQuota's rules as one function: from a state to what should be done about it."""

from collections.abc import Set
from typing import NamedTuple

from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.execution.holding import holding
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.plan import Plan, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.cut_plan import may_be_cut, until_cut
from fairlead.policy.elastic_quota.cycle import Cycle
from fairlead.policy.elastic_quota.desk import Desk, NodeKnowledge
from fairlead.policy.elastic_quota.followed_state import FollowedState
from fairlead.policy.elastic_quota.newcomers import Newcomers
from fairlead.policy.elastic_quota.refusals import Refusals
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings


class ElasticQuotaPolicy:
    """Plans under ElasticQuotas with the settings of one administrator."""

    def __init__(self, settings: ElasticQuotaSettings) -> None:
        """Make the policy once; it may plan for any number of states, and is fastest for one."""
        self.settings = settings
        self.spared: Set[WorkloadName] = frozenset()  # newcomers of the last plan, from all claims
        self._last: _Planned | None = None
        self._followed: FollowedState | None = None

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
        that has, keeps its index of pods and nodes, and what was refused and could not change.

        A workload that is *held* has no turn, and waits for no node that was promised to it. Of
        one that has pods held as victims, others may be asked.

        The plan stops after *at_most_starts* pods, but not within a gang, where `may_be_cut` allows
        it. Law: slices in a row, each carried out, are the whole plan without its waits, in both
        modes; the last one has the waits.
        """
        if not explain:
            return self._changes(state, now_ms, held, at_most_starts)
        asked = _Asked(held, at_most_starts)
        last = self._last if self._last is not None and self._last.state is state else None
        if last is not None and last.may_serve(state.moment, now_ms, asked):
            self.spared = last.spared
            return replace(last.plan, taken_ms=now_ms)
        knowledge, refusals = self._known(state, last)
        with holding(state, held):
            plan = self._try(state, now_ms, knowledge, refusals, at_most_starts)
        self._last = _Planned(
            state=state,
            moment=state.moment,
            asked=asked,
            knowledge=knowledge,
            refusals=refusals,
            plan=plan,
            spared=self.spared,
        )
        return plan

    def _try(
        self,
        state: ClusterState,
        now_ms: int,
        knowledge: NodeKnowledge,
        refusals: Refusals,
        at_most_starts: int | None,
    ) -> Plan:
        """Return the first try that may stand."""
        newcomers = Newcomers(state)
        while True:
            refusals.next_plan()
            desk = Desk(state, self.settings, now_ms, knowledge, newcomers.spared)
            if at_most_starts is not None and not may_be_cut(desk, at_most_starts):
                at_most_starts = None
            with state.trial():
                cycle = Cycle(desk, refusals, newcomers.held_back)
                decisions, is_cut = until_cut(cycle, cycle.decisions(), at_most_starts)
            if self.settings.quirks.start_in_vain or newcomers.are_settled(decisions):
                break
        self.spared = frozenset(newcomers.spared)
        return Plan(
            taken_ms=now_ms,
            decisions=tuple(decisions),
            is_cut=is_cut,
            time_dependent=desk.looked_at_the_clock,
        )

    def _changes(
        self, state: ClusterState, now_ms: int, held: Holds, at_most_starts: int | None
    ) -> Plan:
        """Return the plan without its waits.

        Cost: where a state can be followed through its changes, what changed and whom it concerns;
        else a plan.
        """
        followed = self._followed
        if followed is None or not followed.serves(state):
            followed = self._followed = FollowedState(state, self.settings)
        if not followed.is_possible:
            plan = self.plan(state, now_ms, held=held, at_most_starts=at_most_starts)
            changes = [each for each in plan.decisions if not isinstance(each, Wait)]
            return replace(plan, decisions=tuple(changes))
        with holding(state, held):
            decisions = followed.changes(now_ms, at_most_starts)
        self.spared = followed.spared
        return Plan(
            taken_ms=now_ms,
            decisions=tuple(decisions),
            is_cut=followed.is_cut,
            time_dependent=followed.looked_at_the_clock,
        )

    def _known(
        self, state: ClusterState, last: "_Planned | None"
    ) -> tuple[NodeKnowledge, Refusals]:
        if last is not None and last.knowledge.serves(state):
            return last.knowledge, last.refusals
        return NodeKnowledge(state, self.settings), Refusals()


class _Asked(NamedTuple):
    """All that a caller says of a plan besides the state and the time."""

    held: Holds
    at_most_starts: int | None


class _Planned(NamedTuple):
    """The last state that was planned for, and what came of it."""

    state: ClusterState
    moment: int
    asked: _Asked
    knowledge: NodeKnowledge
    refusals: Refusals
    plan: Plan
    spared: Set[WorkloadName]

    def may_serve(self, moment: int, now_ms: int, asked: _Asked) -> bool:
        """Return whether nothing changed but the time, and that makes no difference."""
        is_same_time = not self.plan.time_dependent or self.plan.taken_ms == now_ms
        return self.moment == moment and self.asked == asked and is_same_time
