"""The ElasticQuota rules as one function: from a state to what should be done about it."""

from typing import NamedTuple

from msgspec.structs import replace

from fairlead.model.execution.holding import holding
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.plan import Plan, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.incremental.state import IncrementalState
from fairlead.policy.elastic_quota.scheduling.plan import CycleSource, PlainSource, settled_plan
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings


class ElasticQuotaPolicy:
    """Plans under ElasticQuotas with the settings of one administrator."""

    def __init__(self, settings: ElasticQuotaSettings, *, plain: bool = False) -> None:
        """Make the policy once; it may plan for any number of states, and is fastest for one.

        *plain*: keep nothing from plan to plan and skip nothing. The decisions are the same.
        """
        self.settings = settings
        self._plain = plain
        self._last: _Planned | None = None
        self._incremental: IncrementalState | None = None

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
        objects were listed. A state that has not changed since the last call costs nothing. Without
        *explain* the plan has no waits, and costs what changed where workloads can be skipped.

        A workload that is *held* is not attempted, and its nominations are ignored. Pods that are
        held as victims are no candidates, but other pods of their workload are.

        The plan stops after *at_most_starts* pods, but not within a gang, if that changes nothing.
        Law: plans in a row, each carried out, are the whole plan without its waits, in both modes;
        the last one has the waits.
        """
        kept = None if self._plain else self._kept(state)
        attempts_all = explain or kept is None or not kept.can_skip()
        request = _Request(held, at_most_starts)
        last = self._last
        if attempts_all and last is not None and last.answers(state, now_ms, request):
            plan = replace(last.plan, taken_ms=now_ms)
        else:
            with holding(state, held):
                source: CycleSource
                if kept is None:
                    source = PlainSource(state, self.settings)
                elif attempts_all:
                    source = kept
                else:
                    source = kept.feasible_workloads()
                plan = settled_plan(source, state, now_ms, at_most_starts).plan
            if attempts_all and kept is not None:
                self._last = _Planned(state, state.moment, request, plan)
        return plan if explain else _without_waits(plan)

    def _kept(self, state: ClusterState) -> IncrementalState:
        if self._incremental is None or not self._incremental.serves(state):
            self._incremental = IncrementalState(state, self.settings)
        return self._incremental


class _Request(NamedTuple):
    """Everything that a caller asks of a plan besides the state and the time."""

    held: Holds
    at_most_starts: int | None


class _Planned(NamedTuple):
    """The last plan in which every workload was attempted, and what it was made for."""

    state: ClusterState
    moment: int
    request: _Request
    plan: Plan

    def answers(self, state: ClusterState, now_ms: int, request: _Request) -> bool:
        """Return whether nothing changed but the time, and that makes no difference."""
        is_same_time = not self.plan.time_dependent or self.plan.taken_ms == now_ms
        is_same_state = self.state is state and self.moment == state.moment
        return is_same_state and self.request == request and is_same_time


def _without_waits(plan: Plan) -> Plan:
    decisions = [each for each in plan.decisions if not isinstance(each, Wait)]
    return replace(plan, decisions=tuple(decisions))
