"""What pods cost their queues, worked out once for all workloads that share their pod sets.

Work comes in few sizes, and whoever makes many workloads of one size gives them the same pod sets.
"""

from typing import Final, TypeAlias

from fairlead.model.axes import Amounts, QuotaAxes
from fairlead.model.workload import PodSets

MOST_KNOWN: Final = 1024
"""That are remembered; where sizes are drawn by chance there may be as many as workloads."""

_Known: TypeAlias = tuple[PodSets, tuple[dict[str, str], ...], tuple[Amounts, ...]]


class KnownCharges:
    """The charges of pod sets that were asked for lately, by the identity of these."""

    def __init__(self, resources: tuple[str, ...], axes: QuotaAxes) -> None:
        """Charge requests for *resources* on *axes*."""
        self._resources = resources
        self._axes = axes
        self._known: dict[int, _Known] = {}

    def of(self, pod_sets: PodSets, flavors: tuple[dict[str, str], ...]) -> tuple[Amounts, ...]:
        """Return what one pod of each set costs with the flavors that the set was given."""
        known = self._known.get(id(pod_sets))
        # In a copy of a state the sets are others than those whose identity is the key.
        if known is not None and known[0] is pod_sets and known[1] == flavors:
            return known[2]
        charge, resources = self._axes.charge, self._resources
        pairs = zip(pod_sets, flavors, strict=True)
        charges = tuple([charge(resources, each.requests, given) for each, given in pairs])
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[id(pod_sets)] = pod_sets, flavors, charges
        return charges
