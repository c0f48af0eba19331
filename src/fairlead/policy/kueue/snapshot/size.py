"""How large an admitted workload is, for the size rule of KEP-1714 [C3].

Among candidates of equal priority that rule preempts the smallest one first. The size is measured
on the dominant resource: the largest part that the workload uses of all quota of a resource in its
cohort tree. Kueue orders by admission time instead, so the rule is an option.
"""

from collections.abc import Mapping
from typing import TypeAlias

from fairlead.model.axes import QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.build import trees_of
from fairlead.policy.kueue.workloads import Usage

_Totals: TypeAlias = Mapping[str, int]


class WorkloadSizes:
    """Measures workloads on the quotas of one state, as long as its queues stay as they are."""

    def __init__(self, state: ClusterState, settings: KueueSettings) -> None:
        """Add up the quota of each tree, unless the option is off: then all sizes are equal."""
        self._resources = [axis.resource for axis in state.axes.axes]
        self._totals: dict[QueueName, _Totals] = {}
        if not settings.options.smallest_first:
            return
        for names in trees_of(state):
            totals = dict.fromkeys(self._resources, 0)
            for name in names:
                for resource, amount in zip(
                    self._resources, state.queues[name].guaranteed, strict=True
                ):
                    totals[resource] += amount or 0
            self._totals.update(dict.fromkeys(names, totals))

    def of(self, queue: QueueName, usage: Usage) -> float:
        """Return the size of a workload of *queue*: 1 if it uses all quota of some resource.

        A resource without quota counts as used up many times over. Cost: the axes of *usage*.
        """
        totals = self._totals.get(queue)
        if totals is None:
            return 0.0
        used: dict[str, int] = {}
        for axis, amount in usage:
            resource = self._resources[axis]
            used[resource] = used.get(resource, 0) + amount
        return max([amount / (totals[name] or 1) for name, amount in used.items()], default=0.0)
