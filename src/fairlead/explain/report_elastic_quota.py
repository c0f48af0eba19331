"""The namespaces and the pool under ElasticQuota's rules."""

from fairlead.explain.share_report import AxisLine, Column, QueueEntry, ShareReport
from fairlead.fairness.elastic_pool import NamespaceQuota
from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.api import ElasticShare, ElasticShares, published_used

AXIS_COLUMNS = (
    Column(key="guaranteed", title="GUARANTEED", form="amount"),
    Column(key="limit", title="LIMIT", form="amount"),
    Column(key="used", title="USED", form="amount"),
    Column(key="requested", title="REQUESTED", form="amount"),
    Column(key="borrowed", title="BORROWED", form="amount"),
    Column(key="lent", title="LENT", form="amount"),
    Column(key="unused", title="UNUSED", form="amount"),
)
POOL = QueueName("(pool)")


def elastic_quota_report(
    state: ClusterState, shares: ElasticShares, capacity: Amounts
) -> ShareReport:
    """Return what every namespace has, uses, borrows and lends, after the pool of all mins."""
    published = published_used(state)
    return ShareReport(
        policy="elastic-quota",
        capacity=dict(zip(state.axes.axes, capacity, strict=True)),
        queue_columns=(),
        axis_columns=AXIS_COLUMNS,
        queues=(
            _pool(state, shares),
            *(
                _entry(state, row, shares.quotas[row.queue], published[row.queue])
                for row in shares.rows()
            ),
        ),
    )


def _pool(state: ClusterState, shares: ElasticShares) -> QueueEntry:
    pool = shares.pool
    rows = shares.rows()
    lines = [
        AxisLine(
            axis=axis,
            cells={
                "guaranteed": pool.guaranteed[at],
                "limit": None,
                "used": pool.used[at],
                "requested": sum(row.requested[at] for row in rows),
                "borrowed": pool.borrowed[at],
                "lent": pool.lent[at],
                "unused": max(0, pool.guaranteed[at] - pool.used[at]),
            },
        )
        for at, axis in enumerate(state.axes.axes)
    ]
    return QueueEntry(name=POOL, parent=None, depth=0, kind="Pool", cells={}, lines=tuple(lines))


def _entry(
    state: ClusterState, row: ElasticShare, quota: NamespaceQuota, published: dict[str, int]
) -> QueueEntry:
    lines = [
        AxisLine(
            axis=axis,
            cells={
                "guaranteed": quota.guaranteed[at],
                "limit": quota.ceiling[at],
                "used": row.used[at],
                "requested": row.requested[at],
                "borrowed": row.borrowed[at],
                "lent": row.lent[at],
                "unused": row.unused[at],
            },
        )
        for at, axis in enumerate(state.axes.axes)
    ]
    return QueueEntry(
        name=row.queue,
        parent=None,
        depth=0,
        kind="ElasticQuota",
        cells={},
        lines=tuple(lines),
        published=published,
    )
