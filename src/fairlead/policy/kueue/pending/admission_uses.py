"""What the LocalQueues of a state have used of late, while a plan goes on.

Their status says what they had used when Kueue last wrote it down. From then until now they count
as having used what they hold now, and each admission of the plan counts at once.
"""

from fractions import Fraction
from typing import Final

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.catalogue import LocalQueue
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.pending.local_queue_use import (
    Billionths,
    UseRank,
    entry_penalty,
    in_billionths,
    sampled,
    use_rank,
)
from fairlead.policy.kueue.run_usage import run_usage
from fairlead.policy.kueue.settings import AdmissionFairSharing, KueueSettings
from fairlead.policy.kueue.workload_facts import local_queue_name
from fairlead.policy.kueue.workloads import Usage

_NO_USE: Final[UseRank] = (False, Fraction(0))


def admission_uses(
    state: ClusterState, settings: KueueSettings, now_ms: int
) -> "AdmissionUses | None":
    """Return the uses of all LocalQueues; None if *settings* let them order nothing."""
    rules = settings.admission_fair_sharing
    if rules is None or not dict(settings.feature_gates).get("AdmissionFairSharing", True):
        return None
    return AdmissionUses(state, rules, now_ms)


class AdmissionUses:
    """The uses of LocalQueues, each found when it is first asked for."""

    def __init__(self, state: ClusterState, rules: AdmissionFairSharing, now_ms: int) -> None:
        """Look at nothing yet."""
        self._state = state
        self._rules = rules
        self._now_ms = now_ms
        self._held: dict[QueueName, dict[str, Billionths]] = {}
        self._consumed: dict[str, Billionths] = {}
        self._ranks: dict[str, UseRank] = {}

    def order(self, queue: QueueName) -> bool:
        """Return whether the use of LocalQueues orders what waits in a ClusterQueue."""
        found = self._state.queues.get(queue)
        rules = found.extension if found else None
        return isinstance(rules, ClusterQueue) and rules.usage_based_admission

    def local_queue(self, name: WorkloadName) -> str:
        """Return the LocalQueue of a workload."""
        return local_queue_name(self._state.workloads[name])

    def rank(self, name: WorkloadName) -> UseRank:
        """Return where the LocalQueue of a workload stands; one that is not there used nothing.

        Cost: O(1); a look at each workload of its ClusterQueue the first time.
        """
        local_queue = self.local_queue(name)
        rank = self._ranks.get(local_queue)
        if rank is None:
            rank = self._ranks[local_queue] = self._find_rank(local_queue)
        return rank

    def admit(self, name: WorkloadName, usage: Usage) -> None:
        """Count that a workload has quota for *usage* from now on."""
        local_queue = self.local_queue(name)
        found = self._state.catalogue.local_queues.get(local_queue)
        if found is None:
            return
        consumed = self._consumed_by(found, local_queue)
        penalty = entry_penalty(self._by_resource(usage), self._rules)
        for resource, amount in penalty.items():
            consumed[resource] = consumed.get(resource, 0) + amount
        self._ranks.pop(local_queue, None)

    def _find_rank(self, local_queue: str) -> UseRank:
        found = self._state.catalogue.local_queues.get(local_queue)
        if found is None:
            return _NO_USE
        consumed = self._consumed_by(found, local_queue)
        return use_rank(consumed, self._rules, Fraction(found.weight))

    def _consumed_by(self, found: LocalQueue, name: str) -> Billionths:
        consumed = self._consumed.get(name)
        if consumed is None:
            consumed = self._consumed[name] = self._sample(found, name)
        return consumed

    def _sample(self, found: LocalQueue, name: str) -> Billionths:
        consumed = dict(found.consumed_billionths)
        if found.consumed_at_ms is None:
            return consumed  # as new as can be
        age_ms = max(0, self._now_ms - found.consumed_at_ms)
        in_use = self._held_in(found.cluster_queue).get(name, {})
        return sampled(consumed, in_use, age_ms, self._rules.half_life_ms)

    def _held_in(self, queue: QueueName) -> dict[str, Billionths]:
        """Return what has quota now in a ClusterQueue, by LocalQueue."""
        held = self._held.get(queue)
        if held is None:
            held = self._held[queue] = {}
            for name in self._state.queued(queue):
                run = self._state.runs.get(name)
                if run is None:
                    continue
                sums = held.setdefault(self.local_queue(name), {})
                for resource, amount in self._by_resource(run_usage(run)).items():
                    sums[resource] = sums.get(resource, 0) + amount
        return held

    def _by_resource(self, usage: Usage) -> Billionths:
        sums: Billionths = {}
        for axis, amount in usage:
            resource = self._state.axes.axes[axis].resource
            sums[resource] = sums.get(resource, 0) + in_billionths(resource, amount)
        return sums
