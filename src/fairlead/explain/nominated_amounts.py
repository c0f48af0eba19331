"""What pods ask for that wait on a nominated node, and so come before others of their rank."""

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.node_books import PodKey
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.desk import Desk
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings


class NominatedAmounts(NamedTuple):
    """What they ask for in one namespace, and in all others that are within their min."""

    here: Amounts
    elsewhere: Amounts


def nominated_amounts(
    state: ClusterState, settings: ElasticQuotaSettings, queue: QueueName
) -> NominatedAmounts:
    """Return what counts before a pod of *queue* that is less important than all nominated ones.

    Cost: the workloads that wait.
    """
    desk = Desk(state, settings, now_ms=0)
    for waited_for in state.waited_for():
        for name in state.waiting(waited_for):
            desk.nominate_all(state.workloads[name])
    over = desk.books.now.is_over_min
    others = [name for name in state.queues if name != queue and not over[name]]
    return NominatedAmounts(
        here=_sum(desk, desk.nominations.of_queue(queue)),
        elsewhere=_sum(desk, (key for name in others for key in desk.nominations.of_queue(name))),
    )


def _sum(desk: Desk, pods: Iterable[PodKey]) -> Amounts:
    total = [0] * len(desk.state.axes)
    for name, pod in pods:
        charge = desk.charges.of(desk.state.workloads[name], pod.pod_set).amounts
        total = [a + b for a, b in zip(total, charge, strict=True)]
    return tuple(total)
