"""What the queues of a state hold and are guaranteed, as levels to write down.

A queue is told with what its own workloads hold; what is below it is told of the queues there, and
added up by the reader. A pod that is told to stop holds its place until it has left; one that
only has a reservation holds nothing. Workloads name no user, so levels are of the queue alone.
"""

import msgspec

from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.model.state import ClusterState
from fairlead.usage.entries import Capacity, Entry, Guarantee, Held, Removed


class StateLevels(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is told of one state, on its quota axes."""

    resources: tuple[str, ...]  # the quota axes, by name
    held: dict[QueueName, Amounts]  # every queue that there is
    guarantees: dict[QueueName, Limits]  # of those that hold, or could
    capacity: Amounts


def levels_of(state: ClusterState) -> StateLevels:
    """What is to be told of *state*. Cost: O(queues and workloads)."""
    whole = {
        name: tuple(map(int.__add__, sums.allocated, sums.leaving))
        for name, sums in state.sums.items()
    }
    own = dict(whole)
    inner = set()
    for name, queue in state.queues.items():
        if queue.parent in own:
            inner.add(queue.parent)
            if any(whole[name]):
                own[queue.parent] = tuple(map(int.__sub__, own[queue.parent], whole[name]))
    _take_reservations_away(state, own)
    guarantees = {
        name: queue.guaranteed
        for name, queue in state.queues.items()
        if name not in inner or any(own[name])
    }
    return StateLevels(
        resources=tuple(map(str, state.axes.axes)),
        held=own,
        guarantees=guarantees,
        capacity=state.total(),
    )


def levels_on(levels: StateLevels, wanted: tuple[str, ...]) -> StateLevels:
    """*levels* as levels of *wanted*: of a resource that they lack there is 0."""
    resources = levels.resources
    places = [resources.index(name) if name in resources else None for name in wanted]
    return StateLevels(
        resources=wanted,
        held={
            queue: tuple(0 if at is None else amounts[at] for at in places)
            for queue, amounts in levels.held.items()
        },
        guarantees={
            queue: tuple(0 if at is None else limits[at] for at in places)
            for queue, limits in levels.guarantees.items()
        },
        capacity=tuple(0 if at is None else levels.capacity[at] for at in places),
    )


def _take_reservations_away(state: ClusterState, own: dict[QueueName, Amounts]) -> None:
    for name, run in state.runs.items():
        if run.reserved:
            queue = state.workloads[name].queue
            for pod in run.reserved:
                if queue in own:
                    own[queue] = tuple(map(int.__sub__, own[queue], run.charge(pod)))


def changed_entries(before: StateLevels, after: StateLevels, at_ms: int) -> list[Entry]:
    """What must be told at *at_ms* so that *after* holds where *before* did.

    A queue of which nothing was told yet holds nothing, and nothing is guaranteed to it.
    """
    zero = (0,) * len(after.capacity)
    entries: list[Entry] = []
    if after.capacity != before.capacity:
        entries.append(Capacity(at_ms=at_ms, amounts=after.capacity))
    entries.extend(
        Removed(at_ms=at_ms, queue=queue) for queue in before.held if queue not in after.held
    )
    entries.extend(
        Guarantee(at_ms=at_ms, queue=queue, amounts=amounts)
        for queue, amounts in after.guarantees.items()
        if amounts != before.guarantees.get(queue, zero)
    )
    entries.extend(
        Held(at_ms=at_ms, queue=queue, amounts=amounts)
        for queue, amounts in after.held.items()
        if amounts != before.held.get(queue, zero)
    )
    return entries
