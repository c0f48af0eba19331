"""Clusters in which the past use of LocalQueues counts, read from text tables.

Unless said otherwise ClusterQueue ``q`` has one flavor of ``gpu``, half-life and time between
samples are 10 s, so that an admission counts for half of what it asks for at once, and plans are
made at 10 s. All amounts in tables are thousandths of a device, used ones too.
"""

from decimal import Decimal

from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.catalogue import LocalQueue
from fairlead.model.plan import Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload
from fairlead.policy.kueue.pending.local_queue_usage import LocalQueueUsage, local_queue_usage
from fairlead.policy.kueue.pending.queue import pending_order
from fairlead.policy.kueue.settings import AdmissionFairSharing, KueueSettings
from tests.policy.kueue.plan_world import (
    NAMESPACE,
    NOW_MS,
    build,
    plan,
    with_catalogue,
    with_rules,
    with_workload,
)
from tests.text_table import rows

RULES = AdmissionFairSharing(half_life_ms=10_000, sampling_interval_ms=10_000)
BY_USE = KueueSettings(admission_fair_sharing=RULES)
OFF = KueueSettings()
QUEUE = QueueName("q")
ONE_QUEUE = "name parent quota within\nq - {} {}"
BILLION = 10**9


def world(
    doors: str, workloads: str, quota: int = 0, within: str = "-", queues: str = ""
) -> ClusterState:
    """Return a cluster whose workloads come through ``doors``: ``name used at weight``.

    ``used`` is what the status says was used, ``at`` when it said so.
    """
    listed = rows(workloads)
    state = build(rows(queues or ONE_QUEUE.format(quota, within)), listed)
    with_doors(state, doors)
    with_rules(state, "q", usage_based_admission=True)
    for row in listed:
        extension = state.workloads[WorkloadName(row["name"])].extension
        assert isinstance(extension, KueueWorkload)
        with_workload(state, row["name"], extension=replace(extension, local_queue=row["door"]))
    return state


def with_doors(state: ClusterState, doors: str) -> None:
    """Add LocalQueues of ``q``."""
    added = {f"{NAMESPACE}/{row['name']}": _door(row) for row in rows(doors)}
    with_catalogue(state, local_queues={**state.catalogue.local_queues, **added})


def _door(row: dict[str, str]) -> LocalQueue:
    return LocalQueue(
        namespace=NAMESPACE,
        name=row["name"],
        cluster_queue=QUEUE,
        weight=Decimal(row["weight"]),
        consumed_billionths=(("gpu", int(row["used"]) * BILLION // 1000),),
        consumed_at_ms=None if row["at"] == "-" else int(row["at"]),
    )


def uses_of(state: ClusterState, now_ms: int = NOW_MS) -> LocalQueueUsage:
    local_usage = local_queue_usage(state, BY_USE, now_ms)
    assert local_usage is not None
    return local_usage


def order(state: ClusterState, now_ms: int = NOW_MS) -> list[str]:
    """Return the pending workloads of ``q`` in its order, before the plan."""
    return list(pending_order(state, QUEUE, BY_USE, uses_of(state, now_ms)))


def started(state: ClusterState, settings: KueueSettings = BY_USE) -> list[str]:
    decisions = plan(state, settings).decisions
    return [str(each.workload) for each in decisions if isinstance(each, Start)]
