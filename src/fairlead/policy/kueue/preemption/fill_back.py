"""Lets those stay who need not go after all.

A search stops at the first moment at which the claimant fits. By then some of those taken earlier
may be needless, because later ones gave more.
"""

from collections.abc import Callable, Sequence

from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import Holder


def fill_back(snapshot: Snapshot, taken: Sequence[Holder], fits: Callable[[], bool]) -> list[bool]:
    """Put back, latest first, whoever leaves room enough; tell for each whether it must go.

    The last one is not tried: before it went, the claimant did not fit. In *snapshot* those who
    must go are away and the others are back. Cost: one test of the fit for each.
    """
    must_go = [True] * len(taken)
    for position in range(len(taken) - 2, -1, -1):
        holder = taken[position]
        snapshot.charge(holder.queue, holder.usage)
        if fits():
            must_go[position] = False
        else:
            snapshot.discharge(holder.queue, holder.usage)
    return must_go
