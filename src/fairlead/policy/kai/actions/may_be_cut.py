"""Whether a plan may stop before everybody has had its turn, and go on in the next one.

That must come to the same as one plan. A job that was refused would stand in line again, and shape
the order of queues once more; a job whose claim comes later might take the place of one that has
started, which one cycle settles and two do not. So a plan is cut only where it is plain that all
who wait can start: then nobody is refused, and nobody claims.
"""

from collections.abc import Sequence

from fairlead.model.axes import Limits
from fairlead.model.state import ClusterState
from fairlead.placement.room_for_all import is_room_for_all
from fairlead.policy.kai.incremental.state import FollowedState
from fairlead.policy.kai.settings import KaiSettings


def may_be_cut(
    state: ClusterState, settings: KaiSettings, followed: FollowedState, starts: int
) -> bool:
    """Return whether more than *starts* pods wait, all of which plainly start in one cycle.

    Not so where allocate does not come first, or does not look at all of a queue: the next plan
    would look further. Cost: the queues, and a look at each node (see `is_room_for_all`).
    """
    if sum(followed.waiting_pods.by_shape().values()) <= starts:
        return False
    if settings.actions[:1] != ("allocate",) or "allocate" in dict(settings.queue_depth):
        return False
    if state.repelling or not _are_queues_open(state, followed):
        return False
    rooms = followed.finder.rooms()
    idle = {name: tuple(map(min, room.idle, room.later)) for name, room in rooms.items()}
    return is_room_for_all(state.books, idle, followed.waiting_pods.by_shape())


def _are_queues_open(state: ClusterState, followed: FollowedState) -> bool:
    """Return whether no limit or quota is in the way of all that is requested."""
    for name, queue in state.queues.items():
        if not _is_within(state.requested(name), queue.ceiling):
            return False
    for leaf in followed.waiting_pods.marked_queues():  # whose jobs nobody could preempt
        for name in state.path(leaf):
            sums = state.sums[name]
            waiting = state.axes.charge(state.resources, tuple(sums.pending))
            kept = [a + b for a, b in zip(sums.non_preemptible, waiting, strict=True)]
            if not _is_within(kept, state.queues[name].guaranteed):
                return False
    return True


def _is_within(amounts: Sequence[int], limits: Limits) -> bool:
    return all(most is None or amount <= most for amount, most in zip(amounts, limits, strict=True))
