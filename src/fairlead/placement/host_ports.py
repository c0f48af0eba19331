"""Whether the host ports that a pod opens are free on a node.

A port is a protocol and a number. The address that a port may be bound to is not looked at, so two
pods that open one port on different addresses of a node are kept apart; that is rare, and safe.
"""

from collections.abc import Collection, Iterator
from typing import Literal, TypeAlias

from fairlead.model.state import ClusterState, pods_on_node

Port: TypeAlias = tuple[str, int]  # protocol and number

PortRoom: TypeAlias = Literal["free", "later", "taken"]
"""Free now, free once pods that are leaving have left, or taken by one that stays."""


def port_room(state: ClusterState, node: str, ports: Collection[Port]) -> PortRoom:
    """Return whether all of *ports* are free on *node*, now or later.

    Who is leaving holds its ports until it has left; who has a reservation holds them already.
    Pods that are not ours hold theirs in the same way. Law: more ports, or more pods on the node,
    never make a port freer. Cost: nothing without ports, else one look at each pod on the node.
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
    """Yield what each pod on *node* opens, and whether it is leaving."""
    for (name, pod), is_leaving in pods_on_node(state, node):
        held = state.workloads[name].pod_sets.of(pod).constraints.host_ports
        yield held, is_leaving
    for foreign in state.books.asked_about(node):
        yield foreign.host_ports, foreign.leaving
