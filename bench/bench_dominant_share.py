"""Dominant shares of Kueue's bench world: 1,000 queues under 100 cohorts, 2 axes, all full.

The first benchmark times everything between the description of the nodes and the shares: a
tree is built from 1,100 ``QuotaNode`` and the 1,000 queues' usage sums (ordering the nodes,
subtree and retained quota, usage of the cohorts, potential), then every share is computed.
Reading the file and summing the 10,000 workloads are not timed. The others time what a
scheduling cycle does on a tree that stands.
"""

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench.harness import AbsentInputError, Work, benchmark
from fairlead.fairness.quota_tree import QuotaNode, QuotaTree

WORLD = "vectors/kueue-bench-world.json"
PEER = "Kueue 0.7-1.1 ms"
AXES = (("default", "cpu"), ("default", "nvidia.com/gpu"))
RESOURCES = tuple(resource for _, resource in AXES)


def _world() -> dict[str, Any]:
    default = Path(__file__).resolve().parent.parent.parent / "shared"
    file = Path(os.environ.get("FAIRLEAD_SHARED") or default) / WORLD
    if not file.exists():
        raise AbsentInputError(f"no {WORLD} in the shared folder: set FAIRLEAD_SHARED")
    world: dict[str, Any] = json.loads(file.read_text())
    return world


def _node(kind: str, holder: dict[str, Any], parent: str | None) -> QuotaNode:
    quotas = {
        (entry["flavor"], resource): quota
        for group in holder.get("resourceGroups", ())
        for entry in group
        for resource, quota in entry["resources"].items()
    }
    rows = [quotas.get(axis, {}) for axis in AXES]
    return QuotaNode(
        name=f"{kind}:{holder['name']}",
        parent=f"cohort:{parent}" if parent else None,
        weight=Decimal(holder.get("weight", "1")),
        guaranteed=tuple(row.get("nominal", 0) for row in rows),
        borrow_limit=tuple(row.get("borrowingLimit") for row in rows),
        lend_limit=tuple(row.get("lendingLimit") for row in rows),
        listed=frozenset(number for number, axis in enumerate(AXES) if axis in quotas),
    )


def _given() -> tuple[list[QuotaNode], dict[str, list[int]]]:
    """The nodes, and what the admitted workloads of each queue use together."""
    world = _world()
    nodes = [_node("cohort", each, each.get("parent")) for each in world["cohorts"]]
    nodes += [_node("cq", each, each["cohort"]) for each in world["clusterQueues"]]
    usage: dict[str, list[int]] = {}
    for workload in world["admitted"]:
        row = usage.setdefault(f"cq:{workload['cq']}", [0] * len(AXES))
        for number, (flavor, resource) in enumerate(AXES):
            if workload["flavor"] == flavor:
                row[number] += workload["requests"].get(resource, 0)
    assert len(nodes) == 1_100
    return nodes, usage


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
