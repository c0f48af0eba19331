"""Nodes of 8 cpus and 8 GPUs, of which some are free, for the bounds that count amounts alone."""

from collections.abc import Mapping

from fairlead.model.axes import Amounts
from fairlead.model.node import Node
from fairlead.placement.node_room import NodeRoom


def rooms_with(free: Mapping[str, Amounts]) -> dict[str, NodeRoom]:
    """Return the room of each node that has so much *free*, now and later."""
    return {
        name: NodeRoom(
            node=Node(name=name, allocatable=(8, 8)),
            idle=later,
            later=later,
            gpu_later=later[1],
            devices=(),
        )
        for name, later in free.items()
    }
