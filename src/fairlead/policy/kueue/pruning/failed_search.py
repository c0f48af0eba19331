"""How a fair search ends that finds too few who give way, also where it need not be made."""

import msgspec

from fairlead.fairness.dominant_share import Rank
from fairlead.policy.kueue.preemption.candidates import asked_within, asking_by_shares
from fairlead.policy.kueue.pruning.most_freed import most_freed
from fairlead.policy.kueue.pruning.side_gifts import SideGifts
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Claimant


class FailedSearch(msgspec.Struct, frozen=True, gc=False):
    """What must change, or else the same claim fails again.

    Ranks only fall while workloads are taken, so a side that stands below ``ranks`` was never asked
    and will not be. The search goes on until there is room: with as much more of it as ``lacking``
    says it would have succeeded, or might have.
    """

    ranks: tuple[Rank, ...]  # of the claimant's side, from its queue up to below the root
    lacking: tuple[tuple[int, int], ...]  # by axis, in the end
    took_any: bool  # or might have
    is_owed: bool  # within its own quota: shares do not count
    is_counted: bool = False  # not searched: in whichever order others are asked, it fails


def failure_in_sight(
    snapshot: Snapshot, claimant: Claimant, settings: KueueSettings, *, is_likely: bool = False
) -> FailedSearch | None:
    """Return how a search ends for which all who may be asked are too few, whoever gives way.

    None: it may succeed, or importance counts, be it of its own quota, in its own queue, or by the
    option. *snapshot* is at rest, and its standing order knows it. If failure *is_likely*, it is
    worth to search cohorts for what they give. Cost: see `most_freed`.
    """
    tree, queue = snapshot.tree, claimant.queue
    if settings.options.priority_override or snapshot.covers(queue, claimant.usage, claimant.need):
        return None
    if asked_within(snapshot, claimant):
        return None
    asking = asking_by_shares(snapshot, claimant, settings.options)
    first = settings.strategies[0]
    for axis, amount in claimant.usage:
        lacking = amount - tree.available_on(queue, axis)
        if lacking <= 0:
            continue
        gifts = SideGifts(snapshot, asking, axis, first, searches=False)
        bound = most_freed(claimant, gifts, lacking)
        if bound is None and is_likely and not gifts.has_searched_all:
            gifts = SideGifts(snapshot, asking, axis, first, searches=True)
            bound = most_freed(claimant, gifts, lacking)
        if bound is not None:
            left = ((axis, lacking - bound.amount),)
            return FailedSearch(
                ranks=bound.ranks,
                lacking=left,
                took_any=bound.may_take,
                is_owed=False,
                is_counted=not bound.is_by_line,
            )
    return None
