"""What a workload that waits must find at once, before anything can come of its turn."""

from collections import Counter
from typing import NamedTuple, TypeAlias

from fairlead.model.axes import Amounts
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.elastic_quota.quota.asker import Asker, asker_of
from fairlead.policy.elastic_quota.quota.charges import Charges
from fairlead.policy.elastic_quota.quota.gang_asker import as_one
from fairlead.policy.elastic_quota.quota.readiness import Readiness


class Want(NamedTuple):
    """What some pods of a workload ask for together."""

    charge: tuple[tuple[int, int], ...]  # to their quota, by axis: what is asked for at all
    pods: tuple[tuple[Amounts, int], ...]  # what a pod asks of its node, and how many such


Wants: TypeAlias = tuple[Want, ...]
"""Of whoever gets none of these its turn changes nothing."""


def wants_of(state: ClusterState, charges: Charges, workload: Workload, ready: Readiness) -> Wants:
    """Return what *workload* wants: all that it needs together, or any of its pods alone.

    A gang that does not get what it needs gets nothing beyond that either.
    """
    askers = [asker_of(state, charges, workload, pod) for pod in ready.pods]
    if ready.needed > 0:
        needed = askers[: ready.needed]
        return (_want(needed, as_one(state, charges, needed)),)
    alone = {each.set_index: each for each in askers}
    return tuple([_want([each], each) for each in alone.values()])


def _want(askers: list[Asker], whole: Asker) -> Want:
    charge = () if whole.queue is None else whole.charge
    sizes = [each.requests for each in askers]
    return Want(
        charge=tuple([(axis, amount) for axis, amount in enumerate(charge) if amount > 0]),
        pods=((sizes[0], 1),) if len(sizes) == 1 else tuple(Counter(sizes).items()),
    )
