"""A node of the sharing tree, in one form for all rule sets.

What the rule sets share has one name here (see docs/glossary.md): *guaranteed* is KAI's deserved
quota, Kueue's nominal quota and ElasticQuota's min; *ceiling* is KAI's limit and ElasticQuota's
max. What only one of them has lives in that rule set's extension, with its own type.
"""

from decimal import Decimal
from typing import Literal, TypeAlias

import msgspec

from fairlead.model.axes import Axis, Limits, QueueName
from fairlead.model.selector import LabelSelector

DEFAULT_PRIORITY = 100

WithinClusterQueue: TypeAlias = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]
ReclaimWithinCohort: TypeAlias = Literal["Never", "LowerPriority", "Any"]
BorrowPolicy: TypeAlias = Literal["Never", "LowerPriority"]
FlavorSearch: TypeAlias = Literal["MayStopSearch", "TryNextFlavor"]
Preference: TypeAlias = Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"]
QueueingStrategy: TypeAlias = Literal["BestEffortFIFO", "StrictFIFO"]
StopPolicy: TypeAlias = Literal["None", "Hold", "HoldAndDrain"]


class KaiQueue(msgspec.Struct, frozen=True, kw_only=True, tag="kai"):
    """What only a KAI queue has."""

    display_name: str = ""


class ResourceGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Resources that take one flavor together, and the flavors in the order of trying."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]

    def axes(self) -> tuple[Axis, ...]:
        """Return every flavor x resource of the group, flavors in the order of trying."""
        return tuple(Axis(name, flavor) for flavor in self.flavors for name in self.resources)


class Cohort(msgspec.Struct, frozen=True, kw_only=True, tag="cohort"):
    """What only a Kueue Cohort has; ``implicit`` if it exists by reference alone."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    implicit: bool = False


class BorrowWithinCohort(msgspec.Struct, frozen=True, kw_only=True):
    """When a workload that would borrow may preempt in the cohort."""

    policy: BorrowPolicy = "Never"
    max_priority_threshold: int | None = None


class QueuePreemption(msgspec.Struct, frozen=True, kw_only=True):
    """Which workloads those of a ClusterQueue may preempt."""

    within_cluster_queue: WithinClusterQueue = "Never"
    reclaim_within_cohort: ReclaimWithinCohort = "Never"
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()


class FlavorFungibility(msgspec.Struct, frozen=True, kw_only=True):
    """When the search for a flavor stops, and what it prefers."""

    when_can_borrow: FlavorSearch = "MayStopSearch"
    when_can_preempt: FlavorSearch = "TryNextFlavor"
    preference: Preference = "BorrowingOverPreemption"


class ClusterQueue(msgspec.Struct, frozen=True, kw_only=True, tag="cluster-queue"):
    """What only a Kueue ClusterQueue has."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    queueing_strategy: QueueingStrategy = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None  # None: admits from no namespace
    fungibility: FlavorFungibility = FlavorFungibility()
    preemption: QueuePreemption = QueuePreemption()
    stop_policy: StopPolicy = "None"
    usage_based_admission: bool = False
    admission_checks: tuple[str, ...] = ()


class ElasticQuota(msgspec.Struct, frozen=True, kw_only=True, tag="elastic-quota"):
    """What only an ElasticQuota has.

    ``max_listed`` is None when the object has no ``max`` at all. The capacity-scheduling plugin
    treats a core resource that a given max leaves out as 0; to follow it, what was written must
    be known apart from what it means.
    """

    object_name: str = ""
    max_listed: frozenset[str] | None = None


def cohort_queue(name: str) -> QueueName:
    """Return what the Cohort *name* is called in the tree: ``cohort/NAME``.

    Kueue lets a Cohort and a ClusterQueue share a name, and no name in Kubernetes has a slash.
    """
    return QueueName(f"cohort/{name}")


Extension: TypeAlias = KaiQueue | Cohort | ClusterQueue | ElasticQuota


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the sharing tree: inner queues divide, leaf queues hold workloads.

    The vectors have one entry per quota axis of the state that the queue belongs to.
    """

    name: QueueName
    parent: QueueName | None = None  # None: top level
    created_ms: int = 0
    priority: int = DEFAULT_PRIORITY
    weights: tuple[Decimal, ...]
    guaranteed: Limits  # None: everything there is
    ceiling: Limits  # None: bounded only by the parent
    borrow_limit: Limits
    lend_limit: Limits
    preempt_min_runtime_ms: int | None = None  # None: ask the parent
    reclaim_min_runtime_ms: int | None = None
    extension: Extension | None = None
