"""Whether a plan may stop before everybody has had its turn, and go on in the next one.

That must come to the same as one plan. The plugin never takes back what it decided before in a
plan, so that a plan may stop wherever nothing but starts came before: nobody was refused who might
be tried again, nobody waits for others to leave. In our own mode somebody may be held back for one
whose turn comes much later (see `newcomers`). So a plan is cut only where it is plain that all who
wait can start.
"""

from collections.abc import Iterator

from fairlead.model.plan import Decision, Start
from fairlead.placement.node_room import GpuResources, node_room
from fairlead.placement.room_for_all import is_room_for_all
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.scheduling.cycle import Cycle
from fairlead.policy.elastic_quota.settings import PluginQuirks


def may_be_cut(desk: Desk, starts: int) -> bool:
    """Return whether more than *starts* pods wait, and the plan may stop after so many.

    Not so where nodes are promised to somebody, of whom a plan that is cut would say nothing. Cost:
    the workloads that changed; in our own mode also the quotas, and a look at each node (see
    `is_room_for_all`).
    """
    state, quirks, waiting = desk.state, desk.settings.quirks, desk.waiting_pods
    if sum(waiting.by_shape().values()) <= starts or state.promised:
        return False
    if quirks.start_in_vain:
        return True
    if quirks != PluginQuirks() or waiting.marked_queues() or state.repelling:
        return False
    if not _are_quotas_enough(desk):
        return False
    books = state.books
    gpus = GpuResources(kinds=(), shared=books.shared_gpu)
    idle = {
        name: node_room(
            node, books.offered(node), books.occupied(name).leaving, books.use(name), gpus
        ).idle
        for name, node in state.nodes.items()
        if node.ready
    }
    return is_room_for_all(state.books, idle, waiting.by_shape())


def until_cut(
    cycle: Cycle, decisions: Iterator[Decision], at_most_starts: int | None
) -> tuple[list[Decision], bool]:
    """Return the *decisions* of *cycle*, and whether they are cut after so many pods started.

    None: all of them. So are they where anything but starts comes before.
    """
    made: list[Decision] = []
    started = 0
    for each in decisions:
        made.append(each)
        if at_most_starts is None or not isinstance(each, Start):
            continue
        started += len(each.placements)
        if started >= at_most_starts and cycle.has_only_started and cycle.has_waiting():
            return [each for each in made if isinstance(each, Start)], True
    return made, False


def _are_quotas_enough(desk: Desk) -> bool:
    """Return whether no max, and not the pool, is in the way of all that waits."""
    state, books = desk.state, desk.books
    axes = range(len(books.pool))
    asked = list(books.now.pool)
    for name, used in books.now.used.items():
        waiting = state.axes.charge(state.resources, tuple(state.sums[name].pending))
        ceiling = books.ceiling[name]
        for at in axes:
            asked[at] += waiting[at]
            most = ceiling[at]
            if waiting[at] and most is not None and used[at] + waiting[at] > most:
                return False
    more = [asked[at] - books.now.pool[at] for at in axes]
    return all(asked[at] <= books.pool[at] for at in axes if more[at])
