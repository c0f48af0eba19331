"""The nodes of a scenario: at the start, added later, and lost."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.events import NodeRemoved
from fairlead.model.node import Node
from fairlead.model.quantity import format_amount
from fairlead.model.state import ClusterState
from fairlead.sim.engine.simulation_rules import NodeChange
from fairlead.sim.fields import added_up
from fairlead.sim.scenario.form.scenario_form import ClusterForm, NodeGroupForm
from fairlead.sim.scenario.variant.objects import MadeObject

ErrorReport = Callable[[Path, str, str, str], None]
"""Reports an error: where, its code, what is wrong, and how to fix it."""

_PATH: Path = ("spec", "cluster")


class _Step(msgspec.Struct, frozen=True, kw_only=True):
    """At one time nodes come or go; *place* says which of the changes it is."""

    at_ms: int
    come: tuple[str, ...] = ()
    go: tuple[str, ...] = ()
    place: int


def node_names(group: NodeGroupForm) -> list[str]:
    """Return what the nodes of *group* are called."""
    if group.count is None:
        return [group.name]
    return [f"{group.name}-{number}" for number in range(1, group.count + 1)]


def node_objects(cluster: ClusterForm) -> Iterator[MadeObject]:
    """Yield all nodes that ever are, as objects."""
    for origin, group in node_groups(cluster):
        capacity = {
            resource: format_amount(resource, amount) for resource, amount in group.capacity.items()
        }
        taints = [msgspec.to_builtins(taint) for taint in group.taints]
        for name in node_names(group):
            node: dict[str, Any] = {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": group.labels},
                "spec": {"taints": taints},
                "status": {"allocatable": capacity},
            }
            yield MadeObject(node, origin)


def first_capacity(cluster: ClusterForm) -> dict[str, int]:
    """Return what there is at the start, by resource in base units."""
    return added_up(map(_whole_capacity, cluster.nodes))


def most_capacity(cluster: ClusterForm) -> dict[str, int]:
    """Return what all nodes that ever are have together."""
    return added_up(_whole_capacity(group) for _, group in node_groups(cluster))


def take_out_later_nodes(cluster: ClusterForm, state: ClusterState) -> dict[str, Node]:
    """Leave in *state* only the nodes of the start; returns all, by name."""
    nodes = dict(state.nodes)
    for change in cluster.changes:
        if change.add is not None:
            for name in node_names(change.add):
                state.apply(NodeRemoved(name))
    return nodes


def node_changes(
    cluster: ClusterForm, nodes: Mapping[str, Node], start_ms: int
) -> tuple[NodeChange, ...]:
    """Return when which of *nodes* come and go, in the order of time."""
    groups = _names_by_group(cluster)
    return tuple(
        NodeChange(
            at_ms=start_ms + step.at_ms,
            added=tuple(nodes[name] for name in step.come),
            lost=step.go,
        )
        for step in _steps(cluster, groups)
    )


def check_changes(cluster: ClusterForm, first: Sequence[str], report: ErrorReport) -> None:
    """Report impossible changes, where the nodes called *first* exist at the start."""
    groups = _names_by_group(cluster)
    there = set(first)
    known = {*there, *groups, *(name for names in groups.values() for name in names)}
    for place, change in enumerate(cluster.changes):
        path = (*_PATH, "changes", place)
        if not change.lose and change.add is None:
            report(path, "missing-field", "found neither lose nor add", "add one of them")
        if change.for_ms is not None and not change.lose:
            report((*path, "for"), "contradiction", "found for without lose", "remove it")
        for at, name in enumerate(change.lose):
            if name not in known:
                hint = did_you_mean(name, known) or "name a node or a group of nodes"
                message = f"found the node {quote(name)}, which does not exist"
                report((*path, "lose", at), "missing-reference", message, hint)
                return
    for step in _steps(cluster, groups):
        for name in step.go:
            if name not in there:
                message = f"found the node {quote(name)}, which is not there at that time"
                report((*_PATH, "changes", step.place), "contradiction", message, "check the times")
        there.difference_update(step.go)
        there.update(step.come)


def _steps(cluster: ClusterForm, groups: Mapping[str, Sequence[str]]) -> list[_Step]:
    steps = []
    for place, change in enumerate(cluster.changes):
        lost = tuple(
            dict.fromkeys(node for name in change.lose for node in groups.get(name, [name]))
        )
        if lost and change.for_ms is not None:
            back_ms = change.at_ms + change.for_ms
            steps.append(_Step(at_ms=back_ms, come=lost, place=place))
        come = tuple(node_names(change.add)) if change.add is not None else ()
        steps.append(_Step(at_ms=change.at_ms, come=come, go=lost, place=place))
    # At one moment nodes come back before others are lost.
    return sorted(steps, key=lambda step: (step.at_ms, bool(step.go)))


def node_groups(cluster: ClusterForm) -> Iterator[tuple[Path, NodeGroupForm]]:
    """Yield the groups of all nodes that ever are, each with where it is written."""
    for place, group in enumerate(cluster.nodes):
        yield (*_PATH, "nodes", place), group
    for place, change in enumerate(cluster.changes):
        if change.add is not None:
            yield (*_PATH, "changes", place, "add"), change.add


def _names_by_group(cluster: ClusterForm) -> dict[str, list[str]]:
    return {group.name: node_names(group) for _, group in node_groups(cluster)}


def _whole_capacity(group: NodeGroupForm) -> dict[str, int]:
    count = 1 if group.count is None else group.count
    return {name: amount * count for name, amount in group.capacity.items()}
