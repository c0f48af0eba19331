"""Kueue's bench world: 1,000 ClusterQueues under 100 cohorts, 2 axes, all capacity in use."""

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench.harness import AbsentInputError
from fairlead.fairness.quota_tree import QuotaNode

WORLD = "vectors/kueue-bench-world.json"
AXES = (("default", "cpu"), ("default", "nvidia.com/gpu"))
RESOURCES = tuple(resource for _, resource in AXES)


def read_world() -> dict[str, Any]:
    """Return what the file says, or report that it is not there."""
    default = Path(__file__).resolve().parent.parent.parent / "shared"
    file = Path(os.environ.get("FAIRLEAD_SHARED") or default) / WORLD
    if not file.exists():
        raise AbsentInputError(f"no {WORLD} in the shared folder: set FAIRLEAD_SHARED")
    world: dict[str, Any] = json.loads(file.read_text())
    return world


def nodes_of(world: dict[str, Any]) -> list[QuotaNode]:
    """Return all cohorts (``cohort:NAME``), then all ClusterQueues (``cq:NAME``)."""
    nodes = [_node("cohort", each, each.get("parent")) for each in world["cohorts"]]
    return nodes + [_node("cq", each, each["cohort"]) for each in world["clusterQueues"]]


def usage_of(world: dict[str, Any]) -> dict[str, list[int]]:
    """Return what the admitted workloads of each ClusterQueue use together."""
    usage: dict[str, list[int]] = {}
    for workload in world["admitted"]:
        row = usage.setdefault(f"cq:{workload['cq']}", [0] * len(AXES))
        for number, amount in request_of(workload):
            row[number] += amount
    return usage


def request_of(workload: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    """Return the amounts that a workload asks for, by axis."""
    return tuple(
        (number, workload["requests"][resource])
        for number, (flavor, resource) in enumerate(AXES)
        if workload["flavor"] == flavor and resource in workload["requests"]
    )


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
