"""The nodes as a pod finds them: what each lacks or has free, and a table of them."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from fairlead.explain.text.amounts import amount_text, by_interest
from fairlead.explain.text.explanation import Section
from fairlead.explain.text.names import first_few
from fairlead.explain.text.reasons import tallies_text, verb_agrees
from fairlead.model.axes import Amounts, Axis
from fairlead.model.device_share import SHARED_GPU, WHOLE_DEVICE_E9
from fairlead.model.plan import Tally
from fairlead.model.quantity import format_amount
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_room import THOUSANDTH_E9, NodeRoom

POD_SLOTS = "pods"  # every pod asks for one; a lack of them is said in words


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
    has_parts = asked.gpu_share is not None
    return tuple(
        free_of(room, axis, at, with_parts=has_parts)
        for axis, at in asked_axes(state, asked.requests)
    )


def free_of(room: NodeRoom, axis: Axis, at: int, *, with_parts: bool) -> Free:
    """Return what is free of one resource, which has the place *at*, in *room*."""
    if with_parts and axis.resource == SHARED_GPU:
        return _free_parts(room, axis, at)
    return Free(axis=axis, now=(room.idle[at],), later=(room.later[at],))


def asked_axes(state: ClusterState, requests: Amounts) -> list[tuple[Axis, int]]:
    """Return what a pod with *requests* asks for, the scarcest first, with the place of each."""
    places = {
        Axis(resource): at
        for at, (resource, need) in enumerate(zip(state.resources, requests, strict=True))
        if need > 0 and resource != POD_SLOTS
    }
    return [(axis, places[axis]) for axis in by_interest(places)]


def _free_parts(room: NodeRoom, axis: Axis, at: int) -> Free:
    now = [each.idle_e9 // THOUSANDTH_E9 for each in room.devices]
    later = [  # a device that all pods are leaving counts as a whole one by then
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


HAVE_ROOM = "have room"

MOST_ROWS = 3
"""How many rows there are of nodes that lack the same, those with the most free first."""

MOST_PARTS = 3
"""How many devices with a part free are shown of a node."""

Row = tuple[str, ...]


def node_table(pod: str, standings: Sequence[NodeStanding], tallies: tuple[Tally, ...]) -> Section:
    """Return what the nodes are to *pod*, what they have room for first; *tallies* sum it up."""
    axes = next(([free.axis for free in each.free] for each in standings if each.free), [])
    head = ("NODES", "", *(f"FREE {axis.resource.upper()}" for axis in axes))
    rows = [row for tally in _room_first(tallies) for row in _rows(standings, tally, len(axes))]
    return Section(
        title=f"Nodes considered for pod {pod}",
        table=(head, *rows),
        words=2,
        remarks=(f"{tallies_text(tallies)}.",),
    )


def _room_first(tallies: Sequence[Tally]) -> list[Tally]:
    return sorted(tallies, key=lambda tally: not tally.what.startswith(HAVE_ROOM))


def _rows(standings: Sequence[NodeStanding], tally: Tally, columns: int) -> Iterator[Row]:
    """Yield a row for each different amount that is free on the nodes of *tally*."""
    own = sorted((each for each in standings if each.what == tally.what), key=_most_free_first)
    alike = [[*group] for _, group in groupby(own, key=lambda each: each.free)]
    for group in alike[:MOST_ROWS]:
        amounts = tuple(map(free_text, group[0].free)) or ("",) * columns
        names = first_few([each.node for each in group])
        yield (names, verb_agrees(tally.what, len(group)), *amounts)
    rest = sum(map(len, alike[MOST_ROWS:]))
    if rest:
        yield (f"({rest} more)", verb_agrees(tally.what, rest), *[""] * columns)


def _most_free_first(standing: NodeStanding) -> tuple[tuple[int, ...], str]:
    """Order by the scarcest resource: whole, in all, then the next."""
    amounts = (n for free in standing.free for n in (sum(free.later), sum(free.now), *free.later))
    return tuple(-amount for amount in amounts), standing.node


def free_text(free: Free) -> str:
    """Return ``2``, or ``0, then 2`` where pods are terminating."""
    now, later = _sum_text(free.axis, free.now), _sum_text(free.axis, free.later)
    return now if now == later else f"{now}, then {later}"


def _sum_text(axis: Axis, amounts: Amounts) -> str:
    """Return ``1 + 0.5 + 0.25``: what is whole, and parts of devices."""
    whole, *parts = amounts
    shown = [amount for amount in (whole, *parts[:MOST_PARTS]) if amount] or [0]
    more = ["..."] if len(parts) > MOST_PARTS else []
    return " + ".join([*(amount_text(axis, amount) for amount in shown), *more])
