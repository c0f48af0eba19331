"""Whom a workload must not ask although Kueue's rules would let it, by options of ours."""

from typing import Final, NamedTuple

from fairlead.model.axes import WorkloadName
from fairlead.model.memory import GaveWay, KueueMemory
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.flavors.assignment import Waiting
from fairlead.policy.kueue.preemption.give_way import GiveWayOrder, Right, right_of
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import Restraint

WAITS_BEFORE_SHARING: Final = "WaitsBeforeSharing"
COOLS_DOWN: Final = "CoolsDown"


class HeldBack(NamedTuple):
    """Until when one may not ask others by fair sharing, and which option says so."""

    until_ms: int
    code: str  # of the reason


class ClaimRestraints:
    """The restraints at one moment, which follow the evictions of its plan."""

    def __init__(self, state: ClusterState, settings: KueueSettings, now_ms: int) -> None:
        """Take in who gave way to whom, if that is to count; *now_ms* may be set later."""
        self.now_ms = now_ms
        self.looked_at_the_clock = False  # somebody may ask others later, with nothing else changed
        self._memories = state.memories
        self._delay_ms = settings.options.preemption_delay_ms
        self._cooldown_ms = settings.cooldown_ms
        memories = state.memories if settings.options.ends_loops else {}
        self._order = GiveWayOrder(memories, state.workloads)
        self._counts_order = settings.options.ends_loops

    def of(self, waiting: Waiting) -> Restraint:
        """Return what holds for *waiting* now."""
        return Restraint(
            spared=self._order.above(waiting.name, Right.SHARING),
            spared_if_owed=self._order.above(waiting.name, Right.OWN_QUOTA),
            may_share=self.held_back(waiting) is None,
        )

    def held_back(self, waiting: Waiting) -> HeldBack | None:
        """Return until when *waiting* asks nobody beyond its own quota; None: it may.

        Who was just told to leave would else tell others to leave for it, and these the next.
        """
        from_ms, code = 0, WAITS_BEFORE_SHARING
        if self._delay_ms:
            from_ms = waiting.queued_ms + self._delay_ms
        preempted_ms = self._preempted_ms(waiting) if self._cooldown_ms else None
        if preempted_ms is not None and preempted_ms + self._cooldown_ms > from_ms:
            from_ms, code = preempted_ms + self._cooldown_ms, COOLS_DOWN
        if from_ms <= self.now_ms:
            return None
        self.looked_at_the_clock = True
        return HeldBack(from_ms, code)

    def _preempted_ms(self, waiting: Waiting) -> int | None:
        memory = self._memories.get(waiting.name)
        return memory.preempted_ms if isinstance(memory, KueueMemory) else None

    def record(self, beneficiary: WorkloadName, target: Target) -> None:
        """Note that *target* has to give way."""
        if self._counts_order:
            given = GaveWay(beneficiary, target.reason, target.by_own_quota)
            self._order.record(target.holder.name, beneficiary, right_of(given))
