"""The points of nodes that a pod prefers, as the default scheduler counts them."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.node import Node
from fairlead.model.selector import LabelRequirement, NodeTerm, PreferredNodes
from fairlead.model.workload import PodSets, Preferences
from fairlead.placement.pod_affinity import PodAffinity
from fairlead.placement.preference_points import preference_points
from tests.placement.affinity_takers import waiting
from tests.placement.affinity_world import spreads, state_of
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


# Pods per node are given; a pod that is to be spread weighs ln(domains + 2) for each that matches.
NODES = """
    node  labels
    a1    zone=a,host=a1
    a2    zone=a,host=a2
    b1    zone=b,host=b1
    c1    zone=c,host=c1
    out   host=out
"""
SPREADS = {
    # ln(3 + 2) = 1.61. a: round(2 * 1.61) = 3, b: round(1.61) = 2, c: 0; highest 3, lowest 0.
    # a: 2 * (100 * (3 + 0 - 3) // 3), b: 2 * (100 * 1 // 3), c: 2 * (100 * 3 // 3)
    "three zones; a node without one has no points": (
        "zone/1/app=web",
        "a1 a2 b1",
        [0, 0, 66, 200, 0],
    ),
    # With maxSkew 3 each has 2 more. a: 5, b: round(3.61) = 4, c: 2; highest 5, lowest 2.
    # a: 2 * (100 * (5 + 2 - 5) // 5), b: 2 * (100 * 3 // 5), c: 2 * (100 * 5 // 5)
    "a larger maxSkew brings the points nearer": (
        "zone/3/app=web",
        "a1 a2 b1",
        [80, 80, 120, 200, 0],
    ),
    # ln(5 + 2) = 1.95: round(1.95) = 2 on a1, a2 and b1, 0 on the others.
    "hosts": ("host/1/app=web", "a1 a2 b1", [0, 0, 0, 200, 200]),
    # Without the node out there are 3 zones and 4 hosts, ln(4 + 2) = 1.79.
    # a1: round(2 * 1.61 + 2 * 1.79) = 7, a2: round(2 * 1.61) = 3, b1 and c1: 0
    # a1: 2 * (100 * (7 + 0 - 7) // 7), a2: 2 * (100 * (7 - 3) // 7)
    "two constraints add up, and a node that lacks one key has none": (
        "zone/1/app=web;host/1/app=web",
        "a1 a1",
        [0, 114, 200, 200, 0],
    ),
    "where no pod matches all with the key are alike": (
        "zone/1/app=web",
        "",
        [200, 200, 200, 200, 0],
    ),
    "and also with a larger maxSkew: 100 * (1 + 1 - 1) // 1": (
        "zone/2/app=web",
        "",
        [200, 200, 200, 200, 0],
    ),
}


def spread_points(spread: str, places: Sequence[str], among: Sequence[str]) -> list[int]:
    pods = [
        "pod node labels",
        "p - app=web",
        *(f"w{at} {on} app=web" for at, on in enumerate(places)),
    ]
    state = state_of(NODES, "\n".join(pods))
    old = waiting(state)
    wishes = Preferences(spread=spreads(spread))
    where = replace(old.pod_sets[0].constraints, preferences=wishes)
    new = replace(old, pod_sets=PodSets([replace(old.pod_sets[0], constraints=where)]))
    limits = PodAffinity(state).preferred_spread(new, 0)
    return preference_points([state.nodes[name] for name in among], wishes, limits)


ALL = ("a1", "a2", "b1", "c1", "out")


@pytest.mark.parametrize(("spread", "places", "points"), SPREADS.values(), ids=SPREADS.keys())
def test_points_of_spread(spread: str, places: str, points: list[int]) -> None:
    assert spread_points(spread, places.split(), ALL) == points


def test_only_domains_of_nodes_that_fit_count() -> None:
    """With a1 and b1 alone ln(2 + 2) = 1.39: a round(2 * 1.39) = 3, b round(1.39) = 1."""
    # Lowest 1, highest 3: a1 2 * (100 * (3 + 1 - 3) // 3), b1 2 * (100 * 3 // 3)
    assert spread_points("zone/1/app=web", ["a1", "a2", "b1"], ["a1", "b1"]) == [66, 200]


def test_both_kinds_of_preference_add_up() -> None:
    node = Node(name="n", allocatable=(), labels={"disk": "ssd"})
    wishes = Preferences(nodes=(preferred("disk", "ssd", 5),))
    assert preference_points([node], wishes) == [200]


def plain_points(pods: dict[str, int], skew: int) -> dict[str, int]:
    """Return the points of zones by so many matching pods, with the peer's floats."""
    weight = math.log(len(pods) + 2)
    sums = {zone: math.floor(count * weight + skew - 1 + 0.5) for zone, count in pods.items()}
    most, least = max(sums.values()), min(sums.values())
    return {
        zone: 2 * (100 * (most + least - own) // most if most else 100)
        for zone, own in sums.items()
    }


@given(st.dictionaries(st.sampled_from("abc"), st.integers(0, 40), min_size=3), st.integers(1, 5))
def test_points_of_zones_equal_the_floats_of_the_peer(pods: dict[str, int], skew: int) -> None:
    places = [f"{zone}1" for zone, count in pods.items() for _ in range(count)]
    found = spread_points(f"zone/{skew}/app=web", places, ["a1", "b1", "c1"])
    expected = plain_points(pods, skew)
    assert found == [expected[zone] for zone in "abc"]
