"""The namespaces and the pool of all mins, and what one namespace may still take."""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.explain.queues.report import AxisLine, Column, QueueEntry, ShareReport, queue_document
from fairlead.explain.text.amounts import amount_text, by_interest
from fairlead.explain.text.explanation import Explanation, Section
from fairlead.fairness.elastic_pool import NamespaceQuota, PoolSums, over_min
from fairlead.model.axes import Amounts, Axis, QueueName
from fairlead.model.quantity import format_amount
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.api import (
    ElasticShare,
    ElasticShares,
    PlanningContext,
    published_used,
)
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
    context = PlanningContext(state, settings, now_ms=0)
    for waited_for in state.waited_for():
        for name in state.waiting(waited_for):
            context.restore_nominations(state.workloads[name])
    others = [name for name in state.queues if name != queue]
    elsewhere = [context.nominations.within_min(name, context.quotas.now) for name in others]
    return NominatedAmounts(
        here=context.nominations.nominated_in(queue),
        elsewhere=tuple(map(sum, zip(context.state.axes.zero, *elsewhere, strict=True))),
    )


AXIS_COLUMNS = (
    Column(key="guaranteed", title="GUARANTEED", form="amount"),
    Column(key="limit", title="LIMIT", form="amount"),
    Column(key="used", same_as="allocated", title="USED", form="amount"),
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
            _pool_entry(state, shares),
            *(
                _entry(state, row, shares.quotas[row.queue], published[row.queue])
                for row in shares.rows()
            ),
        ),
    )


def _pool_entry(state: ClusterState, shares: ElasticShares) -> QueueEntry:
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


HEAD = ("RESOURCE", "MIN", "USED", "MAX", "TO MAX", "POOL", "USED BY ALL", "LEFT", "MAY TAKE")


def explain_elastic_quota(
    state: ClusterState, settings: ElasticQuotaSettings, queue: QueueName
) -> Explanation:
    """Return how much *queue* may still take of each resource, and which rule bounds it."""
    shares = ElasticShares(state, settings)
    quota = shares.quotas[queue]
    promised = nominated_amounts(state, settings, queue)
    axes = state.axes.axes
    rows = [_row(axis, axes.index(axis), quota, shares.pool) for axis in by_interest(axes)]
    section = Section(
        title="What it may still take",
        table=(HEAD, *rows),
        remarks=(
            "To max: max less used. Left: the pool of all mins less what all namespaces use.",
            _checked(settings),
            *_promised_texts(axes, promised),
            *_owed(state, shares, quota),
        ),
    )
    return Explanation(
        answer=f"{queue} {_standing(axes, quota)}.",
        sections=(section,),
        data={**_document(state, shares, queue), "nominated": _promised_document(axes, promised)},
    )


def _standing(axes: Sequence[Axis], quota: NamespaceQuota) -> str:
    over_max = [
        str(axis)
        for axis, used, ceiling in zip(axes, quota.used, quota.ceiling, strict=True)
        if ceiling is not None and used > ceiling
    ]
    borrows = ", ".join(str(axes[at]) for at in over_min(quota))
    standing = f"borrows {borrows}" if borrows else "is within its min"
    return standing + (f", and is above its max in {', '.join(over_max)}" if over_max else "")


def _checked(settings: ElasticQuotaSettings) -> str:
    """Say on which resources a pod is held against both bounds."""
    quirks = settings.quirks
    own = "that it asks for"
    if quirks.scalar_if_asked:
        own = "that it asks for and in cpu, memory and ephemeral-storage"
    if not quirks.pool_all:
        return f"A pod is admitted only within both, in every resource {own}."
    return (
        f"A pod is admitted only within its max in every resource {own}, and within the pool in "
        "every resource at all."
    )


def _promised_texts(axes: Sequence[Axis], promised: NominatedAmounts) -> list[str]:
    """Say what pods ask for that wait on a nominated node; they count before others like them."""
    texts = []
    for where, amounts in (("here", promised.here), ("elsewhere", promised.elsewhere)):
        told = [
            f"{amount_text(axis, amounts[axes.index(axis)])} of {axis}"
            for axis in by_interest(axes)
            if amounts[axes.index(axis)]
        ]
        if told:
            texts.append(f"Nominated pods {where} come first, and request {', '.join(told)}.")
    return texts


def _promised_document(axes: Sequence[Axis], promised: NominatedAmounts) -> dict[str, object]:
    return {
        where: {
            str(axis): format_amount(axis.resource, amount)
            for axis, amount in zip(axes, amounts, strict=True)
            if amount
        }
        for where, amounts in (("here", promised.here), ("elsewhere", promised.elsewhere))
    }


def _document(state: ClusterState, shares: ElasticShares, queue: QueueName) -> dict[str, object]:
    report = elastic_quota_report(state, shares, state.total())
    entries = {entry.name: entry for entry in report.queues}
    return {
        "queue": queue,
        "numbers": queue_document(report, entries[queue]),
        "pool": queue_document(report, entries[POOL]),
    }


def _row(axis: Axis, at: int, quota: NamespaceQuota, pool: PoolSums) -> tuple[str, ...]:
    ceiling, used = quota.ceiling[at], quota.used[at]
    to_max = None if ceiling is None else ceiling - used
    left = pool.guaranteed[at] - pool.used[at]
    may_take = max(0, left) if to_max is None else max(0, min(to_max, left))
    in_pool = (pool.guaranteed[at], pool.used[at], left, may_take)
    numbers = (quota.guaranteed[at], used, ceiling, to_max, *in_pool)
    return (str(axis), *(amount_text(axis, number) for number in numbers))


def _owed(state: ClusterState, shares: ElasticShares, quota: NamespaceQuota) -> list[str]:
    """Say who holds what this namespace is guaranteed and cannot take without preemption.

    A namespace that is above its min in any resource may not take back in another.
    """
    remarks: list[str] = []
    if over_min(quota):
        return remarks
    for at, axis in enumerate(state.axes.axes):
        below = quota.guaranteed[at] - quota.used[at]
        left = max(0, shares.pool.guaranteed[at] - shares.pool.used[at])
        holders = [name for name, other in shares.quotas.items() if at in over_min(other)]
        if below > left and holders:
            owed = amount_text(axis, below - left)
            remarks.append(
                f"{owed} of {axis} within its min is lent to {', '.join(holders)}; "
                "a pod within the min takes it back by preemption."
            )
    return remarks
