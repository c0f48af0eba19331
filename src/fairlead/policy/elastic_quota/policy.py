"""The ElasticQuota rules as one function: from a state to what should be done about it."""

from msgspec.structs import replace

from fairlead.model.collector import paused_collector
from fairlead.model.execution.holding import holding
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.plan import LeftPending, Plan
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
        self._incremental: IncrementalState | None = None

    @paused_collector()
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
        objects were listed. Without *explain* the plan has no waits, and costs what changed where
        workloads can be skipped.

        A workload that is *held* is not attempted, and its nominations are ignored. Pods that are
        held as victims are no candidates, but other pods of their workload are.

        The plan stops after *at_most_starts* pods, but not within a gang, if that changes nothing.
        Law: plans in a row, each carried out, are the whole plan without its waits, in both modes;
        the last one has the waits.
        """
        kept = None if self._plain else self._kept(state)
        can_skip = kept is not None and not explain and kept.can_skip()
        with holding(state, held):
            source: CycleSource
            if kept is None:
                source = PlainSource(state, self.settings)
            else:
                source = kept.feasible_workloads() if can_skip else kept
            plan = settled_plan(source, state, now_ms, at_most_starts).plan
        if explain:
            return plan
        decisions = [each for each in plan.decisions if not isinstance(each, LeftPending)]
        return replace(plan, decisions=tuple(decisions))

    def _kept(self, state: ClusterState) -> IncrementalState:
        if self._incremental is None or not self._incremental.serves(state):
            self._incremental = IncrementalState(state, self.settings)
        return self._incremental
