"""What every node is to a pod that looks for a place, and how much is free there."""

import msgspec

from fairlead.explain.axis_order import by_interest
from fairlead.model.axes import Amounts, Axis
from fairlead.model.device_share import SHARED_GPU, WHOLE_DEVICE_E9
from fairlead.model.quantity import format_amount
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_room import THOUSANDTH_E9, NodeRoom

POD_SLOTS = "pods"  # every pod asks for one; who lacks them says so in words


class Free(msgspec.Struct, frozen=True, kw_only=True):
    """What is free of a resource on a node, in base units: now, and once others have left.

    One amount; for a pod that asks for part of a GPU, followed by what is free of each device that
    is shared already, the most first.
    """

    axis: Axis
    now: Amounts
    later: Amounts


class NodeStanding(msgspec.Struct, frozen=True, kw_only=True):
    """One node as a pod finds it. Of one that is not ready nothing is known to be free."""

    node: str
    what: str  # goes on after "nodes": lack cpu, have room
    free: tuple[Free, ...]  # of what the pod asks for, the scarcest first


def node_standings(
    state: ClusterState, finder: NodeFinder, workload: Workload, pod_set: int
) -> tuple[NodeStanding, ...]:
    """Return every node as it is to one more pod of a set, by name. Cost: a look at each node."""
    asked = workload.pod_sets[pod_set]
    rooms = finder.rooms()
    return tuple(
        NodeStanding(node=name, what=what, free=_free(state, rooms.get(name), asked))
        for name, what in sorted(finder.standings(workload, pod_set).items())
    )


def _free(state: ClusterState, room: NodeRoom | None, asked: PodSet) -> tuple[Free, ...]:
    if room is None:
        return ()
    places = {
        Axis(resource): at
        for at, (resource, need) in enumerate(zip(state.resources, asked.requests, strict=True))
        if need > 0 and resource != POD_SLOTS
    }
    return tuple(
        _free_parts(room, axis, at)
        if asked.gpu_share and axis.resource == SHARED_GPU
        else Free(axis=axis, now=(room.idle[at],), later=(room.later[at],))
        for axis, at in ((axis, places[axis]) for axis in by_interest(places))
    )


def _free_parts(room: NodeRoom, axis: Axis, at: int) -> Free:
    now = [each.idle_e9 // THOUSANDTH_E9 for each in room.devices]
    later = [  # a device that everybody is leaving is among the whole ones by then
        each.later_e9 // THOUSANDTH_E9 for each in room.devices if each.later_e9 < WHOLE_DEVICE_E9
    ]
    return Free(
        axis=axis,
        now=(room.idle[at], *sorted(filter(None, now), reverse=True)),
        later=(room.later[at], *sorted(filter(None, later), reverse=True)),
    )


def room_document(standing: NodeStanding) -> dict[str, object]:
    """Return a node as programs read it."""
    free = [
        {
            "resource": each.axis.resource,
            "now": [format_amount(each.axis.resource, amount) for amount in each.now],
            "later": [format_amount(each.axis.resource, amount) for amount in each.later],
        }
        for each in standing.free
    ]
    return {"node": standing.node, "what": standing.what, "free": free}
