"""How much a pod prefers each of the nodes that may run it, in points of the default scheduler.

Its score ``NodeAffinity`` adds up the weights of the preferred terms that a node meets, sets the
node with the highest sum to 100 points and the others in proportion, rounded down, and counts
twice.
"""

from collections.abc import Sequence
from typing import Final

from fairlead.model.node import Node
from fairlead.model.selector import PreferredNodes
from fairlead.model.workload import Preferences

MOST_POINTS: Final = 100
AFFINITY_WEIGHT: Final = 2


def preference_points(nodes: Sequence[Node], preferences: Preferences) -> list[int]:
    """Return the points of each of *nodes*, which are all that may run the pod.

    Law: other nodes that meet no term change nothing. Cost: each node for each term.
    """
    return [AFFINITY_WEIGHT * points for points in _affinity_points(nodes, preferences.nodes)]


def _affinity_points(nodes: Sequence[Node], terms: Sequence[PreferredNodes]) -> list[int]:
    sums = [
        sum([each.weight for each in terms if each.term.matches(node.name, node.labels)])
        for node in nodes
    ]
    most = max(sums, default=0)
    return [MOST_POINTS * weight // most if most else 0 for weight in sums]
