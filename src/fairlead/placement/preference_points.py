"""How much a pod prefers each of the nodes that may run it, in points of the default scheduler.

Its score ``NodeAffinity`` adds up the weights of the preferred terms that a node meets, and sets
the node with the highest sum to 100 points and the others in proportion, rounded down.

Its score ``PodTopologySpread`` adds up the matching pods in the domains of a node, for the
constraints with ``ScheduleAnyway``. A count weighs more where there are more domains (the logarithm
of their number and 2), and `max_skew` - 1 is added to it, so that a small difference matters less.
The sum is rounded. Of the highest and the lowest sum, the node with the lowest has 100 points, and
each other node (highest + lowest - own) / highest of that, rounded down. A node that lacks one of
the keys has none. Both scores count twice.

The peer has logarithms in floats; ours are exact to nine decimals, so that no rounding depends on
the machine. The constraints that the peer adds to pods of services by default are left out.
"""

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from operator import mul
from typing import Final

from fairlead.model.node import Node
from fairlead.model.selector import PreferredNodes
from fairlead.model.workload import Preferences
from fairlead.placement.pod_spread import SpreadLimit

MOST_POINTS: Final = 100
AFFINITY_WEIGHT: Final = 2
SPREAD_WEIGHT: Final = 2
_E9: Final = 10**9


def preference_points(
    nodes: Sequence[Node], preferences: Preferences, spread: Sequence[SpreadLimit] = ()
) -> list[int]:
    """Return the points of each of *nodes*, which are all that may run the pod.

    *spread* has the counts for the spread constraints in *preferences*. Cost: each node for each
    term and constraint.
    """
    of_affinity = _affinity_points(nodes, preferences.nodes)
    of_spread = _spread_points(nodes, spread) if spread else [0] * len(nodes)
    return [
        AFFINITY_WEIGHT * one + SPREAD_WEIGHT * other
        for one, other in zip(of_affinity, of_spread, strict=True)
    ]


def _affinity_points(nodes: Sequence[Node], terms: Sequence[PreferredNodes]) -> list[int]:
    sums = [
        sum([each.weight for each in terms if each.term.matches(node.name, node.labels)])
        for node in nodes
    ]
    most = max(sums, default=0)
    return [MOST_POINTS * weight // most if most else 0 for weight in sums]


def _spread_points(nodes: Sequence[Node], spread: Sequence[SpreadLimit]) -> list[int]:
    sums = _crowds(nodes, spread)
    known = [each for each in sums if each is not None]
    most, least = max(known, default=0), min(known, default=0)
    if most == 0:
        return [0 if each is None else MOST_POINTS for each in sums]
    return [0 if each is None else MOST_POINTS * (most + least - each) // most for each in sums]


def _crowds(nodes: Sequence[Node], spread: Sequence[SpreadLimit]) -> list[int | None]:
    """Return how crowded the domains of each node are; None: it lacks one of the keys."""
    values = [[limit.value(node) for limit in spread] for node in nodes]
    complete = [row for row in values if None not in row]
    weights_e9 = [_weight_e9(len(set(column))) for column in zip(*complete, strict=True)]
    tolerance_e9 = sum([limit.spread.max_skew - 1 for limit in spread]) * _E9
    found: list[int | None] = []
    for row in values:
        placed = zip(spread, row, strict=True)
        pods = [limit.pods(value) for limit, value in placed if value is not None]
        total_e9 = sum(map(mul, pods, weights_e9)) + tolerance_e9
        found.append(None if None in row else (total_e9 + _E9 // 2) // _E9)
    return found


@lru_cache(maxsize=1024)
def _weight_e9(domains: int) -> int:
    """Return how much a matching pod counts where there are so many domains."""
    return int(Decimal(domains + 2).ln() * _E9)
