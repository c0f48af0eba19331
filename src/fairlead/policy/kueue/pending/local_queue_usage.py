"""How much a LocalQueue has used of late, as Kueue's admission fair sharing counts it.

What is in use is sampled now and then, and what was sampled before fades with a half-life. Amounts
are billionths of the unit that users write: a core, a byte, a device. Kueue keeps as many places
and cuts off the rest of each product, and so does this; sums and quotients are exact.

The status of a LocalQueue says what it had used when Kueue last wrote it. From then until now it
counts as having used what it holds now, and each admission of a plan counts at once.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ldexp
from typing import Final, TypeAlias

from fairlead.fairness.decay import FRACTION_BITS, decay_factor
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.catalogue import LocalQueue
from fairlead.model.quantity import scale_of
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.settings import AdmissionFairSharing, KueueSettings
from fairlead.policy.kueue.workloads import Usage, local_queue_name, run_usage

BILLIONTHS: Final = 10**9
_NOTHING_LEFT: Final = 1000  # half-lives after which nothing is left of any real amount

Billionths: TypeAlias = dict[str, int]
"""By resource."""

UsageRank: TypeAlias = tuple[bool, Fraction]
"""Sorts less usage first; True: without a weight usage counts as infinite."""


def in_billionths(resource: str, amount: int) -> int:
    """Return base units of *resource*, such as millicores, as billionths of a core or byte."""
    return amount * (BILLIONTHS // scale_of(resource))


def part_left(age_ms: int, half_life_ms: int) -> Fraction:
    """Return which part of a usage is left after *age_ms*: a half after each half-life.

    Whole half-lives are exact, the rest is so to 48 binary places. Older is never more.
    """
    half_lives, rest_ms = divmod(age_ms, half_life_ms)
    if half_lives > _NOTHING_LEFT:
        return Fraction(0)
    factor = round(ldexp(decay_factor(rest_ms, half_life_ms), FRACTION_BITS))
    return Fraction(factor, 1 << (FRACTION_BITS + half_lives))


def sampled(
    consumed: Mapping[str, int], in_use: Mapping[str, int], age_ms: int, half_life_ms: int
) -> Billionths:
    """Return *consumed*, which is *age_ms* old, as of now, with *in_use* ever since.

    Law: between the two, for each resource, and nearer to *in_use* the older it is.
    """
    left = part_left(age_ms, half_life_ms)
    return {
        name: _cut(left * consumed.get(name, 0)) + _cut((1 - left) * in_use.get(name, 0))
        for name in {**consumed, **in_use}
    }


def entry_penalty(requests: Mapping[str, int], rules: AdmissionFairSharing) -> Billionths:
    """Return what counts as used as soon as *requests* are admitted: a first sample in advance.

    Else all workloads of a LocalQueue could be admitted before the next sample is taken.
    """
    gained = 1 - part_left(rules.sampling_interval_ms, rules.half_life_ms)
    return {name: _cut(gained * amount) for name, amount in requests.items()}


def usage_rank(
    consumed: Mapping[str, int], rules: AdmissionFairSharing, weight: Fraction
) -> UsageRank:
    """Return where a LocalQueue of *weight* ranks that has *consumed* so much.

    Resources are added up in cores and bytes, each times its weight, which is 1 unless *rules* say
    otherwise: so a byte counts as much as a core.
    """
    if weight <= 0:
        return True, Fraction(0)
    weights = dict(rules.resource_weights)
    total = sum(Fraction(weights.get(name, 1)) * amount for name, amount in consumed.items())
    return False, total / (BILLIONTHS * weight)


def _cut(amount: Fraction) -> int:
    return amount.numerator // amount.denominator


_NO_USAGE: Final[UsageRank] = (False, Fraction(0))


def local_queue_usage(
    state: ClusterState, settings: KueueSettings, now_ms: int
) -> "LocalQueueUsage | None":
    """Return the usage of all LocalQueues; None if *settings* let it order nothing."""
    rules = settings.admission_fair_sharing
    if rules is None or not dict(settings.feature_gates).get("AdmissionFairSharing", True):
        return None
    return LocalQueueUsage(state, rules, now_ms)


class LocalQueueUsage:
    """The usage of LocalQueues, each found when it is first needed."""

    def __init__(self, state: ClusterState, rules: AdmissionFairSharing, now_ms: int) -> None:
        """Look at nothing yet."""
        self._state = state
        self._rules = rules
        self._now_ms = now_ms
        self._held: dict[QueueName, dict[str, Billionths]] = {}
        self._consumed: dict[str, Billionths] = {}
        self._ranks: dict[str, UsageRank] = {}

    def orders_by_usage(self, queue: QueueName) -> bool:
        """Return whether the usage of LocalQueues orders a ClusterQueue."""
        found = self._state.queues.get(queue)
        rules = found.extension if found else None
        return isinstance(rules, ClusterQueue) and rules.usage_based_admission

    def local_queue(self, name: WorkloadName) -> str:
        """Return the LocalQueue of a workload."""
        return local_queue_name(self._state.workloads[name])

    def rank(self, name: WorkloadName) -> UsageRank:
        """Return the rank of a workload's LocalQueue; one that does not exist has used nothing.

        Cost: O(1); a look at each workload of its ClusterQueue the first time.
        """
        local_queue = self.local_queue(name)
        rank = self._ranks.get(local_queue)
        if rank is None:
            rank = self._ranks[local_queue] = self._find_rank(local_queue)
        return rank

    def admit(self, name: WorkloadName, usage: Usage) -> None:
        """Count that a workload is admitted with *usage* from now on."""
        local_queue = self.local_queue(name)
        found = self._state.catalogue.local_queues.get(local_queue)
        if found is None:
            return
        consumed = self._consumed_by(found, local_queue)
        penalty = entry_penalty(self._by_resource(usage), self._rules)
        for resource, amount in penalty.items():
            consumed[resource] = consumed.get(resource, 0) + amount
        self._ranks.pop(local_queue, None)

    def _find_rank(self, local_queue: str) -> UsageRank:
        found = self._state.catalogue.local_queues.get(local_queue)
        if found is None:
            return _NO_USAGE
        consumed = self._consumed_by(found, local_queue)
        return usage_rank(consumed, self._rules, Fraction(found.weight))

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
        """Return what is admitted now in a ClusterQueue, by LocalQueue."""
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
