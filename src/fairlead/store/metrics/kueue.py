"""Kueue's metrics: its names, labels and units, as far as a state knows the numbers.

A workload with quota reserves it until its admission checks are ready; then it is admitted.
"""

from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Final

import msgspec

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.queue import ClusterQueue, Cohort, Queue, cohort_queue
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.api import (
    KueueShare,
    KueueShares,
    awaits_checks,
    is_queued,
    run_usage,
)
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.store.metrics.family import UNLIMITED, Family, Sample, in_units

ROLE: Final = "standalone"  # there is no leader election
QUEUE: Final = ("cluster_queue", "replica_role")
SHARED: Final = ("cluster_queue", "cohort", "replica_role")
QUOTA: Final = ("cohort", "cluster_queue", "flavor", "resource", "replica_role")


class _Queue(msgspec.Struct, frozen=True, kw_only=True):
    """A ClusterQueue with its numbers."""

    queue: Queue
    rules: ClusterQueue
    row: KueueShare

    @property
    def cohort(self) -> str:
        return _cohort_name(self.queue.parent) if self.queue.parent is not None else ""


def families(
    state: ClusterState,
    settings: KueueSettings,
    capacity: Amounts | None,  # noqa: ARG001  quotas do not depend on nodes
    unknown: Collection[str],  # noqa: ARG001  Kueue's metrics have no past usage
) -> list[Family]:
    """Return quotas, reservations and pending workloads of every ClusterQueue.

    As in Kueue, weighted shares are reported only with fair sharing. Cost: O(queues x axes +
    workloads log workloads).
    """
    rows = KueueShares(state).rows()
    queues = [
        _Queue(queue=queue, rules=rules, row=row)
        for row in rows
        if isinstance(rules := (queue := state.queues[row.queue]).extension, ClusterQueue)
    ]
    found = [*_workloads(state, queues), *_quotas(state, queues), *_reserved(state, queues)]
    if settings.fair_sharing:
        found += _weighted_shares(state, rows, queues)
    return found


def _workloads(state: ClusterState, queues: list[_Queue]) -> list[Family]:
    with_quota = {
        each.row.queue: sum(name in state.runs for name in state.queued(each.row.queue))
        for each in queues
    }
    return [
        Family(
            name="kueue_pending_workloads",
            meaning="Workloads without quota; inadmissible: their ClusterQueue is stopped",
            labels=("cluster_queue", "status", "replica_role"),
            samples=tuple(sample for each in queues for sample in _pending(state, each)),
        ),
        Family(
            name="kueue_reserving_active_workloads",
            meaning="Workloads that have quota",
            labels=QUEUE,
            samples=tuple(
                ((each.row.queue, ROLE), Decimal(with_quota[each.row.queue])) for each in queues
            ),
        ),
        Family(
            name="kueue_admitted_active_workloads",
            meaning="Workloads that have quota, and wait for no admission check",
            labels=QUEUE,
            samples=tuple(
                (
                    (each.row.queue, ROLE),
                    Decimal(with_quota[each.row.queue] - len(_awaiting(state, each.row.queue))),
                )
                for each in queues
            ),
        ),
    ]


def _pending(state: ClusterState, each: _Queue) -> list[Sample]:
    """Which of those that wait were tried before, only a running Kueue remembers."""
    name = each.row.queue
    count = sum(
        one not in state.runs and is_queued(state, state.workloads[one])
        for one in state.waiting(name)
    )
    is_stopped = each.rules.stop_policy != "None"
    return [
        ((name, "active", ROLE), Decimal(0 if is_stopped else count)),
        ((name, "inadmissible", ROLE), Decimal(count if is_stopped else 0)),
    ]


def _quotas(state: ClusterState, queues: list[_Queue]) -> list[Family]:
    return [
        _by_quota(
            state,
            "kueue_cluster_queue_nominal_quota",
            "The ClusterQueue's own quota",
            ((each, each.queue.guaranteed) for each in queues),
        ),
        _by_quota(
            state,
            "kueue_cluster_queue_borrowing_limit",
            "The most that the ClusterQueue may borrow; +Inf is no limit",
            ((each, each.queue.borrow_limit) for each in queues),
        ),
        _by_quota(
            state,
            "kueue_cluster_queue_lending_limit",
            "The most that the ClusterQueue lends; +Inf is no limit",
            ((each, each.queue.lend_limit) for each in queues),
        ),
    ]


def _reserved(state: ClusterState, queues: list[_Queue]) -> list[Family]:
    return [
        _by_quota(
            state,
            "kueue_cluster_queue_resource_reservation",
            "What the workloads of the ClusterQueue have quota for",
            ((each, each.row.charged) for each in queues),
        ),
        _by_quota(
            state,
            "kueue_cluster_queue_resource_usage",
            "What admitted workloads hold",
            ((each, _admitted_use(state, each)) for each in queues),
        ),
    ]


def _awaiting(state: ClusterState, queue: QueueName) -> list[WorkloadName]:
    """Return the workloads that have quota and are not admitted."""
    return [name for name in state.queued(queue) if awaits_checks(state, name)]


def _admitted_use(state: ClusterState, each: _Queue) -> Amounts:
    """Return what is charged to a ClusterQueue, without what waits for admission checks."""
    used = list(each.row.charged)
    for name in _awaiting(state, each.row.queue):
        for axis, amount in run_usage(state.runs[name]):
            used[axis] -= amount
    return tuple(used)


def _by_quota(
    state: ClusterState,
    name: str,
    meaning: str,
    rows: Iterable[tuple[_Queue, tuple[int | None, ...]]],
) -> Family:
    """One sample for each flavor and resource of which a ClusterQueue has quota."""
    samples = []
    for each, amounts in rows:
        for at in sorted(each.row.listed):
            axis, amount = state.axes.axes[at], amounts[at]
            labels = (each.cohort, each.row.queue, axis.flavor or "", axis.resource, ROLE)
            value = UNLIMITED if amount is None else in_units(axis.resource, amount)
            samples.append((labels, value))
    return Family(name=name, meaning=meaning, labels=QUOTA, samples=tuple(samples))


def _weighted_shares(
    state: ClusterState, rows: list[KueueShare], queues: list[_Queue]
) -> list[Family]:
    cohorts = [row for row in rows if isinstance(state.queues[row.queue].extension, Cohort)]
    meaning = "Thousandths of what could be lent that are borrowed, by weight; +Inf at weight 0"
    return [
        Family(
            name="kueue_cluster_queue_weighted_share",
            meaning=meaning,
            labels=SHARED,
            samples=tuple(
                ((each.row.queue, each.cohort, ROLE), Decimal(each.row.share.share))
                for each in queues
            ),
        ),
        Family(
            name="kueue_cohort_weighted_share",
            meaning=meaning,
            labels=("cohort", "replica_role"),
            samples=tuple(
                ((_cohort_name(row.queue), ROLE), Decimal(row.share.share)) for row in cohorts
            ),
        ),
    ]


def _cohort_name(queue: QueueName) -> str:
    return queue.removeprefix(cohort_queue(""))
