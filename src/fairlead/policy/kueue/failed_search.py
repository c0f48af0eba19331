"""How far a fair search got that found too few who give way."""

from typing import NamedTuple

from fairlead.fairness.dominant_share import Rank
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.fair_search import FairSearch
from fairlead.policy.kueue.holder import Claimant
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot import Snapshot


class FailedSearch(NamedTuple):
    """What must change, or else the same claim fails again.

    Ranks only fall while workloads are taken, so a side that stands below ``ranks`` was never asked
    and will not be. The search goes on until there is room: with as much more of it as ``lacking``
    says it would have succeeded.
    """

    ranks: tuple[Rank, ...]  # of the claimant's side, from its queue up to below the root
    lacking: tuple[tuple[int, int], ...]  # by axis, in the end
    took_any: bool
    is_owed: bool  # within its own quota: shares do not count


def failed_search(snapshot: Snapshot, claimant: Claimant, settings: KueueSettings) -> FailedSearch:
    """Return how the search for *claimant*, which finds nobody, ends. *snapshot* is left as it was.

    Cost: that of the search.
    """
    snapshot.standing.catch_up()
    snapshot.charge(claimant.queue, claimant.usage)
    search = FairSearch(snapshot, claimant, settings)
    has_room = search.run()
    assert not has_room, "it is asked only after a search in vain"
    tree, queue = snapshot.tree, claimant.queue
    sides: list[QueueName] = snapshot.path(queue)[:-1]
    found = FailedSearch(
        ranks=tuple([tree.rank(side) for side in sides]),
        lacking=tuple(
            [
                (axis, -tree.available_on(queue, axis))
                for axis, _ in claimant.usage
                if tree.available_on(queue, axis) < 0
            ]
        ),
        took_any=bool(search.choices),
        is_owed=search.is_owed,
    )
    search.put_back()
    snapshot.discharge(queue, claimant.usage)
    return found
