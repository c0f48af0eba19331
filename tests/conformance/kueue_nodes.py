"""Asks the quota tree what Kueue answered: node state, dominant shares, and what fits.

Takes cases of the schema ``kueue-oracle/1`` and builds the tree directly from them, without
the manifest readers, which would refuse some of these inputs. Shares are compared as exact
float64 values, without any tolerance.
"""

import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from fairlead.fairness.dominant_share import DominantShare, dominant_share
from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


class World(msgspec.Struct, frozen=True, kw_only=True):
    """A case as the quota tree sees it."""

    axes: tuple[str, ...]  # "flavor/resource", in the order of the tree's axes
    nodes: tuple[QuotaNode, ...]
    tree: QuotaTree


def check(case: Any) -> list[Outcome]:
    """Compare every kind that the case has a result for; a malformed case fails, with why."""
    identity = str(case.get("name", "?")) if isinstance(case, dict) else "?"
    try:
        world = world_of(case)
        result = case["result"]
        kinds = [kind for kind in CHECKS if kind in result]
        if not kinds:
            raise ValueError(f"the result has none of {', '.join(CHECKS)}")
    except MALFORMED as problem:
        return [_malformed(identity, kind, problem) for kind in CHECKS]
    return [_attempt(identity, kind, world, case) for kind in kinds]


def world_of(case: Json) -> World:
    """The tree of a case with the usage of its admitted workloads."""
    axes = tuple(sorted(_axes(case)))
    number = {axis: position for position, axis in enumerate(axes)}
    nodes = tuple(_nodes(case, number))
    usage: dict[str, list[int]] = {}
    for workload in case.get("admitted") or ():
        row = usage.setdefault(f"cq:{workload['cq']}", [0] * len(axes))
        for axis, amount in requests_of(workload).items():
            row[number[axis]] += amount
    resources = [axis.split("/", 1)[1] for axis in axes]
    return World(axes=axes, nodes=nodes, tree=QuotaTree(resources, nodes, usage))


def _axes(case: Json) -> set[str]:
    """Every flavor and resource that a quota, a workload or an extra amount names."""
    found = set(case.get("drsExtra") or ())
    for holder in [*(case.get("cohorts") or ()), *case["clusterQueues"]]:
        found |= _quotas(holder).keys()
    for workload in [*(case.get("admitted") or ()), case.get("incoming")]:
        found |= requests_of(workload).keys() if workload else set()
    return found


def _quotas(holder: Json) -> dict[str, Json]:
    """Quota by axis, from all resource groups."""
    return {
        f"{entry['flavor']}/{resource}": quota
        for group in holder.get("resourceGroups") or ()
        for entry in group
        for resource, quota in entry["resources"].items()
    }


def requests_of(workload: Json) -> dict[str, int]:
    """Requested amounts by axis; ``flavors`` names one per resource, ``flavor`` one for all."""
    flavors = workload.get("flavors")
    return {
        f"{flavors[resource] if flavors else workload['flavor']}/{resource}": amount
        for resource, amount in workload["requests"].items()
    }


def _nodes(case: Json, number: Mapping[str, int]) -> list[QuotaNode]:
    """All nodes; a cohort that is only named by others exists, without quota."""
    cohorts = {cohort["name"]: cohort for cohort in case.get("cohorts") or ()}
    queues = case["clusterQueues"]
    named = [queue.get("cohort") for queue in queues]
    named += [cohort.get("parent") for cohort in cohorts.values()]
    for name in filter(None, named):
        cohorts.setdefault(name, {"name": name})
    nodes = [_node("cohort", cohort, cohort.get("parent"), number) for cohort in cohorts.values()]
    return nodes + [_node("cq", queue, queue.get("cohort"), number) for queue in queues]


def _node(kind: str, holder: Json, parent: str | None, number: Mapping[str, int]) -> QuotaNode:
    quotas = _quotas(holder)
    rows = [quotas.get(axis, {}) for axis in number]
    return QuotaNode(
        name=f"{kind}:{holder['name']}",
        parent=f"cohort:{parent}" if parent else None,
        weight=Decimal(holder.get("weight", "1")),
        guaranteed=tuple(row.get("nominal", 0) for row in rows),
        borrow_limit=tuple(row.get("borrowingLimit") for row in rows),
        lend_limit=tuple(row.get("lendingLimit") for row in rows),
        listed=frozenset(number[axis] for axis in quotas),
    )


def _attempt(identity: str, kind: str, world: World, case: Json) -> Outcome:
    try:
        expected, got = CHECKS[kind](world, case)
    except MALFORMED as problem:
        return _malformed(identity, kind, problem)
    if expected == got:
        return Outcome(id=identity, kind=kind, status="passed")
    if isinstance(expected, dict) and isinstance(got, dict):  # show only what differs
        keys = sorted(expected.keys() | got.keys())
        differing = [key for key in keys if expected.get(key) != got.get(key)]
        expected = {key: expected.get(key) for key in differing}
        got = {key: got.get(key) for key in differing}
    return Outcome(
        id=identity,
        kind=kind,
        status="failed",
        expected=json.dumps(expected, sort_keys=True),
        got=json.dumps(got, sort_keys=True),
    )


def _malformed(identity: str, kind: str, problem: BaseException) -> Outcome:
    note = f"malformed case: {type(problem).__name__}: {problem}"
    return Outcome(id=identity, kind=kind, status="failed", note=note)


def _check_nodes(world: World, case: Json) -> tuple[object, object]:
    """Usage where it is not 0; the rest on the axes of the node's subtree quota."""
    tree = world.tree
    got = {}
    for node in world.nodes:
        listed = tree.listed(node.name)
        used = {axis: a for axis, a in zip(world.axes, tree.charged(node.name), strict=True) if a}
        state = {"usage": used}
        for field, amounts in (
            ("subtree", tree.subtree(node.name)),
            ("available", tree.available(node.name)),
            ("potential", tree.potential(node.name)),
        ):
            state[field] = {world.axes[number]: amounts[number] for number in listed}
        got[node.name] = {field: values for field, values in state.items() if values}
    return case["result"]["nodes"], got


def _check_drs(world: World, case: Json) -> tuple[object, object]:
    """Shares of all nodes; what is left out has share 0 and does not borrow."""
    extra = case.get("drsExtra")
    if not extra:
        shares = world.tree.dominant_shares()
    else:
        shares = {node.name: _share_with(world, node, extra) for node in world.nodes}
    expected: Json = {
        name: {
            **share,
            "share": _float64(share["share"]),
            "ratio": _float64(share.get("ratio", share["share"])),
        }
        for name, share in case["result"]["drs"].items()
    }
    got: Json = {
        name: {
            "share": "inf" if math.isinf(share.share) else share.share,
            "ratio": share.ratio,
            "dominant": share.dominant,
            "borrowing": share.borrowing,
        }
        for name, share in shares.items()
        if share.borrowing
    }
    for name, wanted in case.get("expected", {}).get("drs", {}).items():
        expected[f"{name} rounded"] = wanted["rounded"]
        got[f"{name} rounded"] = shares[name].weighted_share_status
    return expected, got


def _float64(number: object) -> object:
    """Recorded shares are float64 values, printed in full; "inf" stays a word."""
    return number if isinstance(number, str) else float(str(number))


def _share_with(world: World, node: QuotaNode, extra: Mapping[str, int]) -> DominantShare:
    """The share if the node, and no other, used *extra* on top."""
    tree = world.tree
    usage, subtree = tree.charged(node.name), tree.subtree(node.name)
    borrowed: dict[str, int] = {}
    for number in tree.listed(node.name) if node.parent else ():
        axis = world.axes[number]
        over = usage[number] + extra.get(axis, 0) - subtree[number]
        if over > 0:
            resource = axis.split("/", 1)[1]
            borrowed[resource] = borrowed.get(resource, 0) + over
    return dominant_share(borrowed, tree.lendable(node.name), node.weight)


def _check_fits(world: World, case: Json) -> tuple[object, object]:
    incoming = case["incoming"]
    requests = requests_of(incoming)
    row = [requests.get(axis, 0) for axis in world.axes]
    return case["result"]["fits"], world.tree.fits(f"cq:{incoming['cq']}", row)


CHECKS: dict[str, Callable[[World, Json], tuple[object, object]]] = {
    "nodes": _check_nodes,
    "drs": _check_drs,
    "fits": _check_fits,
}
