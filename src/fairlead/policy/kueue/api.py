"""What other packages may use of Kueue's rules, besides the settings."""

from fairlead.policy.kueue.cycle.rounds import TreeOutcome
from fairlead.policy.kueue.flavors.assignment import AssignmentMode, FlavorTrial, demand_by_group
from fairlead.policy.kueue.flavors.demands import DemandReader
from fairlead.policy.kueue.flavors.eligibility import flavor_mismatch_text
from fairlead.policy.kueue.flavors.nomination import Nominator
from fairlead.policy.kueue.pending.admissibility import Admissibility, unsupported_topology
from fairlead.policy.kueue.pending.local_queue_usage import LocalQueueUsage, local_queue_usage
from fairlead.policy.kueue.pending.queue import is_queued, pending_order, queued_ms
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.reasons.wait import EXCEEDS_MAX_QUOTA, QUOTA_IS_KEPT
from fairlead.policy.kueue.snapshot.shares import KueueShare, KueueShares
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import (
    PendingWorkload,
    awaits_checks,
    is_preempting,
    local_queue_name,
    run_usage,
)

__all__ = [
    "EXCEEDS_MAX_QUOTA",
    "QUOTA_IS_KEPT",
    "Admissibility",
    "AssignmentMode",
    "DemandReader",
    "FlavorTrial",
    "KueuePolicy",
    "KueueShare",
    "KueueShares",
    "LocalQueueUsage",
    "Nominator",
    "PendingWorkload",
    "Snapshot",
    "TreeOutcome",
    "awaits_checks",
    "demand_by_group",
    "flavor_mismatch_text",
    "is_preempting",
    "is_queued",
    "local_queue_name",
    "local_queue_usage",
    "pending_order",
    "queued_ms",
    "run_usage",
    "unsupported_topology",
]
