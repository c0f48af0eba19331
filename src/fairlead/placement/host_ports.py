"""Whether the host ports that a pod opens are free on a node.

A port is a protocol and a number. The address to which a port is bound is ignored, so two pods that
open one port on different addresses of a node are kept apart; that is rare, and safe.
"""

from collections.abc import Collection, Iterator
from typing import Literal, TypeAlias

from fairlead.model.state import ClusterState, pods_on_node

Port: TypeAlias = tuple[str, int]  # protocol and number

PortRoom: TypeAlias = Literal["free", "later", "taken"]
"""Free now, free once terminating pods are gone, or taken by a pod that stays."""


def port_room(state: ClusterState, node: str, ports: Collection[Port]) -> PortRoom:
    """Return whether all of *ports* are free on *node*, now or later.

    A terminating pod holds its ports until it is gone; a pod with a reservation holds them already.
    Pods of other schedulers count in the same way. Law: more ports, or more pods on the node, never
    make a port freer. Cost: nothing without ports, else the pods on the node.
    """
    if not ports:
        return "free"
    room: PortRoom = "free"
    for held, is_leaving in _held_on(state, node):
        if any(port in ports for port in held):
            if not is_leaving:
                return "taken"
            room = "later"
    return room


def _held_on(state: ClusterState, node: str) -> Iterator[tuple[Collection[Port], bool]]:
    """Yield the ports of each pod on *node*, and whether the pod is terminating."""
    for (name, pod), is_leaving in pods_on_node(state, node):
        held = state.workloads[name].pod_sets.of(pod).constraints.host_ports
        yield held, is_leaving
    for foreign in state.books.asked_about(node):
        yield foreign.host_ports, foreign.leaving
