"""Which workloads our options forbid a workload to preempt although Kueue's rules allow it.

Preemption loops when workloads take the same quota from each other in turn. Each eviction puts the
preemptor above its victim. If no preemption is allowed that would close a loop in that order, and
every preemptor does get its quota, evictions come to an end: a workload at the top is never
evicted, so it preempts once at most; then the workloads below those, and so on.

Rights are not equal. A workload that reclaims its nominal quota, or preempts by priority in its own
queue, must not be stopped because it once lost what it had borrowed. So each preemption is tested
against evictions by rights as strong as its own or stronger, and that is enough: in a loop, the
preemption by the weakest right is refused.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.execution.remember import gave_way_to
from fairlead.model.memory import GaveWay, KueueMemory, Memory
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import PendingWorkload, Restraint


class PreemptionRight(IntEnum):
    """By what right a workload was evicted, the strongest one first."""

    PRIORITY = 0  # or age, in one queue: these make no loops
    OWN_QUOTA = 1
    SHARING = 2


def right_of(given: GaveWay) -> PreemptionRight:
    """Return by what right a workload was evicted."""
    if given.code == "InClusterQueue":
        return PreemptionRight.PRIORITY
    return PreemptionRight.OWN_QUOTA if given.by_own_quota else PreemptionRight.SHARING


class EvictionHistory:
    """Which workloads were evicted for which, kept up while a plan is made."""

    def __init__(
        self, memories: Mapping[WorkloadName, Memory], known: Mapping[WorkloadName, Workload]
    ) -> None:
        """Read from *memories* the beneficiaries that are still *known*.

        Cost: a look at each memory.
        """
        self._above: dict[WorkloadName, dict[WorkloadName, PreemptionRight]] = {}
        for name, memory in memories.items():
            if isinstance(memory, KueueMemory):
                for each in memory.gave_way:
                    if gave_way_to(each, known) is not None:
                        self.record(name, each.beneficiary, right_of(each))

    def record(
        self, loser: WorkloadName, beneficiary: WorkloadName, right: PreemptionRight
    ) -> None:
        """Note that *loser* was evicted; of several rights the strongest one counts."""
        above = self._above.setdefault(loser, {})
        above[beneficiary] = min(right, above.get(beneficiary, right))

    def above(self, name: WorkloadName, right: PreemptionRight) -> frozenset[WorkloadName]:
        """Return the workloads that *name* must not preempt by *right*.

        All for which it was evicted, directly or through others, by rights as strong or stronger.
        """
        found: set[WorkloadName] = set()
        to_visit = [name]
        while to_visit:
            for each, theirs in self._above.get(to_visit.pop(), {}).items():
                if theirs <= right and each not in found:
                    found.add(each)
                    to_visit.append(each)
        return frozenset(found)


WAITS_BEFORE_SHARING: Final = "WaitsBeforeSharing"
COOLS_DOWN: Final = "CoolsDown"


class PreemptionDelay(NamedTuple):
    """Until when a workload may not preempt by fair sharing, and which option says so."""

    until_ms: int
    code: str  # of the reason


class PreemptionRestraints:
    """The restraints at one moment, which follow the evictions of its plan."""

    def __init__(self, state: ClusterState, settings: KueueSettings, now_ms: int) -> None:
        """Read the history of evictions, if that is to count; *now_ms* may be set later."""
        self.now_ms = now_ms
        self._memories = state.memories
        self._delay_ms = settings.options.preemption_delay_ms
        self._cooldown_ms = settings.cooldown_ms
        memories = state.memories if settings.options.ends_loops else {}
        self._order = EvictionHistory(memories, state.workloads)
        self._counts_order = settings.options.ends_loops

    def of(self, pending: PendingWorkload) -> Restraint:
        """Return the restraint of *pending* now."""
        return Restraint(
            spared=self._order.above(pending.name, PreemptionRight.SHARING),
            spared_within_nominal=self._order.above(pending.name, PreemptionRight.OWN_QUOTA),
            may_use_fair_sharing=self.preemption_delay(pending) is None,
        )

    def followed(self, pending: PendingWorkload) -> PendingWorkload:
        """Return *pending*, read in this plan, with its restraint after the evictions so far."""
        return replace(pending, restraint=self.of(pending)) if self._counts_order else pending

    def preemption_delay(self, pending: PendingWorkload) -> PreemptionDelay | None:
        """Return until when *pending* may not preempt beyond its nominal quota; None: it may.

        A workload that was just evicted would else evict others, and these the next ones.
        """
        from_ms, code = 0, WAITS_BEFORE_SHARING
        if self._delay_ms:
            from_ms = pending.queued_ms + self._delay_ms
        preempted_ms = self._preempted_ms(pending) if self._cooldown_ms else None
        if preempted_ms is not None and preempted_ms + self._cooldown_ms > from_ms:
            from_ms, code = preempted_ms + self._cooldown_ms, COOLS_DOWN
        if from_ms <= self.now_ms:
            return None
        return PreemptionDelay(from_ms, code)

    def _preempted_ms(self, pending: PendingWorkload) -> int | None:
        memory = self._memories.get(pending.name)
        return memory.preempted_ms if isinstance(memory, KueueMemory) else None

    def record(self, beneficiary: WorkloadName, target: Target) -> None:
        """Note that *target* is evicted."""
        if self._counts_order:
            given = GaveWay(beneficiary, target.reason, target.by_own_quota)
            self._order.record(target.workload.name, beneficiary, right_of(given))
