"""Preferred nodes count together with how full the nodes are."""

import pytest
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadChanged
from fairlead.model.plan import Start
from fairlead.model.selector import LabelRequirement, NodeTerm, PreferredNodes
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodSets, Preferences
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.policy.elastic_quota.plan_world import NOW_MS, OURS, cluster

NODES = """
    name  has
    a     10
    b     10
"""
PODS = """
    name   of  asks  on
    other  x   6     b
    pod    x   2     -
"""
QUOTAS = """
    of  min  max
    x   20   -
"""

# Free with the pod on it: a (10 - 2) / 10 = 80 points, b (10 - 6 - 2) / 10 = 20 points.
CASES = {
    "a preferred node wins: 20 + 200 > 80 + 0": ({"b": 10}, "b"),
    "a heavier term wins: 20 + 200 > 80 + 2 * 30": ({"a": 30, "b": 100}, "b"),
    "the emptier of nearly equal nodes wins: 80 + 2 * 80 > 20 + 200": ({"a": 80, "b": 100}, "a"),
    "a preferred node that does not exist changes nothing": ({"c": 100}, "a"),
}


def preferring(state: ClusterState, weights: dict[str, int]) -> None:
    """Let the pod prefer nodes by their names."""
    terms = [
        PreferredNodes(
            weight=weight,
            term=NodeTerm(
                names=(LabelRequirement(key="metadata.name", operator="In", values=(name,)),)
            ),
        )
        for name, weight in weights.items()
    ]
    old = state.workloads[WorkloadName("pod")]
    where = PodConstraints(preferences=Preferences(nodes=tuple(terms)))
    sets = PodSets([replace(each, constraints=where) for each in old.pod_sets])
    state.apply(WorkloadChanged(replace(old, pod_sets=sets)))


@pytest.mark.parametrize("settings", [OURS, FAITHFUL], ids=["ours", "faithful"])
@pytest.mark.parametrize(("weights", "node"), CASES.values(), ids=CASES.keys())
def test_preferred_nodes_and_load_together(
    settings: ElasticQuotaSettings, weights: dict[str, int], node: str
) -> None:
    state = cluster(QUOTAS, NODES, PODS, resources="cpu")
    preferring(state, weights)
    (start,) = ElasticQuotaPolicy(settings).plan(state, NOW_MS).decisions
    assert isinstance(start, Start)
    assert [each.node for each in start.placements] == [node]


def test_a_preferred_node_without_room_is_no_choice() -> None:
    state = cluster(QUOTAS, NODES, PODS.replace("2     -", "5     -"), resources="cpu")
    preferring(state, {"b": 100})
    (start,) = ElasticQuotaPolicy(OURS).plan(state, NOW_MS).decisions
    assert isinstance(start, Start)
    assert [each.node for each in start.placements] == ["a"]
