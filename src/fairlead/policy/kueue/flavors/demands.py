"""A pending workload, as the assignment of flavors sees it."""

from collections.abc import Collection
from typing import Final, TypeAlias

from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodSet, Workload
from fairlead.policy.kueue.flavors.eligibility import Eligibility, eligible_flavors
from fairlead.policy.kueue.pending.queue import queued_ms
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import Demand, PendingWorkload

Eligibilities: TypeAlias = tuple[tuple[Eligibility, ...], ...]
"""For each pod set, by resource group."""

_PODS = "pods"
"""Every pod requests one of these, but only queues that list them count them."""

_MOST_KNOWN: Final = 10_000  # demands that are remembered at once


class DemandReader:
    """Reads the demands of workloads of one state; equal pod sets are looked at once."""

    def __init__(self, state: ClusterState, settings: KueueSettings) -> None:
        """Look at nothing yet."""
        self._state = state
        self._settings = settings
        self._known: dict[tuple[str, PodConstraints], tuple[Eligibility, ...]] = {}
        self._demands: dict[tuple[str, tuple[PodSet, ...]], tuple[Demand, ...]] = {}

    def pending(self, workload: Workload, rules: ClusterQueue) -> PendingWorkload:
        """Return *workload*, which is in the ClusterQueue of *rules*, as a pending one."""
        key = (workload.queue, workload.pod_sets)
        demands = self._demands.get(key)
        if demands is None:
            if len(self._demands) >= _MOST_KNOWN:
                self._demands.clear()
            demands = self._demands[key] = self._of_workload(workload, rules)
        return PendingWorkload(
            workload.name,
            workload.queue,
            workload.priority,
            queued_ms(workload, self._settings),
            demands,
        )

    def _of_workload(self, workload: Workload, rules: ClusterQueue) -> tuple[Demand, ...]:
        eligibility = self.eligibility(workload, rules)
        covered = {resource for group in rules.resource_groups for resource in group.resources}
        return tuple(
            Demand(
                requests=self._requests(pod_set, covered),
                count=pod_set.count,
                min_count=pod_set.min_count,
                flavors=None if eligibility is None else [each.flavors for each in eligibility[at]],
            )
            for at, pod_set in enumerate(workload.pod_sets)
        )

    def eligibility(self, workload: Workload, rules: ClusterQueue) -> Eligibilities | None:
        """Return which flavors its pods could run on; None if nothing is known of flavors."""
        if not self._state.catalogue.flavors:
            return None
        return tuple(self._of_set(workload.queue, pod_set, rules) for pod_set in workload.pod_sets)

    def _of_set(self, queue: str, pod_set: PodSet, rules: ClusterQueue) -> tuple[Eligibility, ...]:
        key = (queue, pod_set.constraints)
        found = self._known.get(key)
        if found is None:
            flavors = self._state.catalogue.flavors
            found = self._known[key] = tuple(
                eligible_flavors(group, flavors, pod_set.constraints, counted_keys="own")
                for group in rules.resource_groups
            )
        return found

    def _requests(self, pod_set: PodSet, covered: Collection[str]) -> dict[str, int]:
        """Return what needs quota: pods only where they are covered, or all only there."""
        ignores_undeclared = self._settings.ignores_undeclared
        return {
            name: amount
            for name, amount in zip(self._state.resources, pod_set.requests, strict=True)
            if amount and (name in covered or not (ignores_undeclared or name == _PODS))
        }
