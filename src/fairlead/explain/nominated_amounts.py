"""What pods ask for that wait on a nominated node, and so come before others of their rank."""

from typing import NamedTuple

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.api import PlanningContext
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings


class NominatedAmounts(NamedTuple):
    """What they ask for in one namespace, and in all others within their mins."""

    here: Amounts
    elsewhere: Amounts


def nominated_amounts(
    state: ClusterState, settings: ElasticQuotaSettings, queue: QueueName
) -> NominatedAmounts:
    """Return what counts before a pod of *queue* that is less important than all nominated ones.

    Cost: the workloads that wait.
    """
    desk = PlanningContext(state, settings, now_ms=0)
    for waited_for in state.waited_for():
        for name in state.waiting(waited_for):
            desk.restore_nominations(state.workloads[name])
    others = [name for name in state.queues if name != queue]
    elsewhere = [desk.nominations.within_min(name, desk.quotas.now) for name in others]
    return NominatedAmounts(
        here=desk.nominations.nominated_in(queue),
        elsewhere=tuple(map(sum, zip(desk.state.axes.zero, *elsewhere, strict=True))),
    )
