"""ElasticQuotas as metrics. The capacity-scheduling plugin has none; Koordinator's names are kept.

Koordinator knows a quota by its name alone. Here a quota is that of its namespace, and several may
have the same name, so that the namespace is one more label. What Koordinator tells of trees of
quotas (``tree`` and ``parent``) is empty here, and an empty label is no label.
"""

from decimal import Decimal
from typing import Final

from fairlead.model.queue import ElasticQuota
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.api import ElasticShare, ElasticShares
from fairlead.store.metrics.family import Family, Sample, in_units

LABELS: Final = ("name", "namespace", "resource", "is_parent", "field")


def elastic_quota_families(state: ClusterState, shares: ElasticShares) -> list[Family]:
    """Min and max, use and requests of every namespace with a quota. Cost: O(quotas x axes)."""
    spec: list[Sample] = []
    status: list[Sample] = []
    for row in shares.rows():
        quota = shares.quotas[row.queue]
        spec += _samples(state, row, "min", quota.guaranteed)
        spec += _samples(state, row, "max", quota.ceiling)
        status += _samples(state, row, "used", row.used)
        status += _samples(state, row, "request", row.requested)
    return [
        Family(
            name="elastic_quota_spec",
            meaning="Min and max of the quota, cpu in millicores; without a max there is no limit",
            labels=LABELS,
            samples=tuple(spec),
        ),
        Family(
            name="elastic_quota_status",
            meaning="What pods of the quota hold, and that with what waits, cpu in millicores",
            labels=LABELS,
            samples=tuple(status),
        ),
    ]


def _samples(
    state: ClusterState, row: ElasticShare, field: str, amounts: tuple[int | None, ...]
) -> list[Sample]:
    own = state.queues[row.queue].extension
    name = own.object_name if isinstance(own, ElasticQuota) else ""
    return [
        ((name, row.queue, axis.resource, "false", field), _value(axis.resource, amount))
        for axis, amount in zip(state.axes.axes, amounts, strict=True)
        if amount is not None
    ]


def _value(resource: str, amount: int) -> Decimal:
    """Koordinator's unit: what Kubernetes counts in, but millicores."""
    return Decimal(amount) if resource == "cpu" else in_units(resource, amount)
