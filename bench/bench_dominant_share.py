"""Dominant shares of Kueue's bench world: 1,000 queues under 100 cohorts, 2 axes, all full.

The first benchmark times everything between the description of the nodes and the shares: a
tree is built from 1,100 ``QuotaNode`` and the 1,000 queues' usage sums (ordering the nodes,
subtree and retained quota, usage of the cohorts, potential), then every share is computed.
Reading the file and summing the 10,000 workloads are not timed. The others time what a
scheduling cycle does on a tree that stands.
"""

from bench.harness import Work, benchmark
from bench.kueue_world import RESOURCES, nodes_of, read_world, usage_of
from fairlead.fairness.quota_tree import QuotaNode, QuotaTree

PEER = "Kueue 0.7-1.1 ms"


def _given() -> tuple[list[QuotaNode], dict[str, list[int]]]:
    world = read_world()
    nodes = nodes_of(world)
    assert len(nodes) == 1_100
    return nodes, usage_of(world)


@benchmark("dominant share of 1,100 nodes, tree and usage built anew", goal_cpu_ms=2.0, peer=PEER)
def from_scratch() -> Work:
    """Node descriptions and leaf sums in, all shares out."""
    nodes, usage = _given()
    return lambda: QuotaTree(RESOURCES, nodes, usage).dominant_shares()


@benchmark("dominant share of 1,100 nodes, tree standing", peer=PEER)
def standing() -> Work:
    """All shares from a tree whose sums are current."""
    nodes, usage = _given()
    return QuotaTree(RESOURCES, nodes, usage).dominant_shares


@benchmark("dominant share of one queue on trial: charge, share, discharge")
def on_trial() -> Work:
    """What a tournament does for one head at one level."""
    nodes, usage = _given()
    tree = QuotaTree(RESOURCES, nodes, usage)
    queue, request = next(iter(usage)), (1_000, 1)

    def trial() -> None:
        tree.charge(queue, request)
        tree.dominant_share(queue)
        tree.discharge(queue, request)

    return trial


@benchmark("dominant share: one workload admitted or removed", goal_cpu_ms=0.05, operations=2)
def admitted_and_removed() -> Work:
    """All sums, and the ranks of all nodes that they change."""
    nodes, usage = _given()
    tree = QuotaTree(RESOURCES, nodes, usage)
    parents = {node.name: node.parent for node in nodes}
    queue, request = next(iter(usage)), ((0, 1_000), (1, 1))
    path = [queue]
    while (parent := parents[path[-1]]) is not None:
        path.append(parent)

    def both() -> None:
        tree.charge_axes(queue, request)
        for name in path:
            tree.rank(name)
        tree.discharge_axes(queue, request)
        for name in path:
            tree.rank(name)

    return both
