"""The status of ElasticQuotas: what their pods hold.

Two numbers are called usage. The documents of the plugin, and its controller, count pods that run;
its scheduler, and Fairlead, decide by pods that have a node. ``status.used`` keeps its published
meaning, so that Fairlead and the controller never write over each other, and whoever reads the
field reads what it always said. What decides is ``status.scheduled``, which our definition of the
kind has; where that of the plugin is installed, the API server leaves it out.
"""

from typing import Final

from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.cluster.kubernetes.reporting.reports import ObjectStatus
from fairlead.manifest.elastic_quota.objects import ElasticQuotaObject
from fairlead.model.axes import QueueName
from fairlead.model.quantity import format_amount
from fairlead.model.queue import ElasticQuota
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.api import ElasticShares, PublishedUsage
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings

_VERSION: Final = "v1alpha1"
_PLURAL: Final = "elasticquotas"


class Statuses:
    """The statuses of quotas, from one look to the next."""

    def __init__(self) -> None:
        """Begin with nothing looked at."""
        self._published: PublishedUsage | None = None

    def of(self, engine: Engine) -> list[ObjectStatus]:
        """Return the status of each quota that counts. Cost: the pods that changed; quotas."""
        state, settings = engine.state, engine.settings
        assert isinstance(settings, ElasticQuotaSettings), "the state is of these rules"
        running, shares = self._running(state), ElasticShares(state, settings)
        resources = [axis.resource for axis in state.axes.axes]
        rows = shares.rows()
        scheduled = {row.queue: dict(zip(resources, row.used, strict=True)) for row in rows}
        found = []
        for each in sorted(engine.translator.mirror.of(ElasticQuotaObject).values(), key=_name):
            queue = QueueName(each.namespace)
            if queue not in running or not _counts(engine, each):
                continue
            used, held = running[queue], scheduled[queue]
            held = {name: amount for name, amount in held.items() if amount or name in used}
            found.append(
                ObjectStatus(
                    resource=Resource(group=each.group, version=_VERSION, plural=_PLURAL),
                    namespace=each.namespace,
                    name=each.name,
                    status={"used": _quantities(used), "scheduled": _quantities(held)},
                )
            )
        return found

    def _running(self, state: ClusterState) -> dict[QueueName, dict[str, int]]:
        if self._published is None or self._published.state is not state:
            self._published = PublishedUsage(state)
        return self._published.used()


def _name(quota: ElasticQuotaObject) -> tuple[str, str]:
    return quota.namespace, quota.name


def _counts(engine: Engine, quota: ElasticQuotaObject) -> bool:
    """Return whether *quota* is the one of its namespace that the queue is made of."""
    own = engine.state.queues[QueueName(quota.namespace)].extension
    return isinstance(own, ElasticQuota) and own.object_name == quota.name


def _quantities(amounts: dict[str, int]) -> dict[str, str]:
    return {name: format_amount(name, amount) for name, amount in sorted(amounts.items())}
