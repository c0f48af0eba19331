"""Whom a workload must not ask although Kueue's rules would let it, by options of ours."""

from fairlead.model.axes import WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import GaveWay
from fairlead.policy.kueue.flavor_assignment import Waiting
from fairlead.policy.kueue.give_way import GiveWayOrder, Right, right_of
from fairlead.policy.kueue.holder import Restraint
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.target import Target


class ClaimRestraints:
    """The restraints at one moment, which follow the evictions of its plan."""

    def __init__(self, state: ClusterState, settings: KueueSettings, now_ms: int) -> None:
        """Take in who gave way to whom, if that is to count."""
        self.now_ms = now_ms
        self._delay_ms = settings.options.preemption_delay_ms
        self._order = GiveWayOrder(state.workloads if settings.options.ends_loops else {})
        self._counts_order = settings.options.ends_loops

    def of(self, waiting: Waiting) -> Restraint:
        """Return what holds for *waiting* now."""
        return Restraint(
            spared=self._order.above(waiting.name, Right.SHARING),
            spared_if_owed=self._order.above(waiting.name, Right.OWN_QUOTA),
            may_share=not self._delay_ms or self.now_ms - waiting.queued_ms >= self._delay_ms,
        )

    def record(self, beneficiary: WorkloadName, target: Target) -> None:
        """Note that *target* has to give way."""
        if self._counts_order:
            given = GaveWay(beneficiary, target.reason, target.by_own_quota)
            self._order.record(target.holder.name, beneficiary, right_of(given))
