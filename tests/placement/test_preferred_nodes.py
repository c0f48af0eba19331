"""The points of nodes that a pod prefers, as the default scheduler counts them."""

import pytest

from fairlead.model.node import Node
from fairlead.model.selector import LabelRequirement, NodeTerm, PreferredNodes
from fairlead.model.workload import Preferences
from fairlead.placement.preferred_nodes import preference_points
from tests.text_table import rows

# Each term is weight:key=value; a node's points are 2 * (100 * its sum // the highest sum).
SCENARIOS = {
    "the best node has 200 points, the others in proportion": """
        node  labels           points
        a     disk=ssd         200     # 2 * (100 * 80 // 80)
        b     net=fast         50      # 2 * (100 * 20 // 80)
        c     -                0
    """,
    "weights of several terms add up": """
        node  labels           points
        a     disk=ssd         160     # 2 * (100 * 80 // 100)
        b     disk=ssd;net=fast 200    # 2 * (100 * 100 // 100)
    """,
    "each score is rounded down before it counts twice": """
        node  labels           points
        a     pool=x           200     # 2 * (100 * 3 // 3)
        b     pool=y           66      # 2 * (100 * 1 // 3), 33.3 rounded down
    """,
    "without a node that meets a term all are alike": """
        node  labels           points
        a     -                0
        b     disk=hdd         0
    """,
}
TERMS = (("disk", "ssd", 80), ("net", "fast", 20), ("pool", "x", 3), ("pool", "y", 1))


def preferred(key: str, value: str, weight: int) -> PreferredNodes:
    wanted = LabelRequirement(key=key, operator="In", values=(value,))
    return PreferredNodes(weight=weight, term=NodeTerm(labels=(wanted,)))


@pytest.mark.parametrize("table", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_points_of_preferred_nodes(table: str) -> None:
    found = rows("\n".join(line.partition("#")[0] for line in table.splitlines()))
    nodes = [
        Node(
            name=row["node"],
            allocatable=(),
            labels=dict(each.split("=") for each in row["labels"].split(";") if each != "-"),
        )
        for row in found
    ]
    preferences = Preferences(nodes=tuple(preferred(*each) for each in TERMS))
    assert preference_points(nodes, preferences) == [int(row["points"]) for row in found]


def test_no_node_has_no_points() -> None:
    assert preference_points([], Preferences(nodes=(preferred("disk", "ssd", 1),))) == []
