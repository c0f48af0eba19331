"""What the rest of Fairlead uses of KAI's rules, besides `settings`."""

from fairlead.model.state import ClusterState
from fairlead.policy.kai.actions.cycle import NO_RESTRAINT, KaiCycle, Restraint
from fairlead.policy.kai.actions.look_ahead import look_ahead
from fairlead.policy.kai.fair_share.shares import KaiShare, KaiShares, saturation
from fairlead.policy.kai.incremental.shares import IncrementalShares
from fairlead.policy.kai.ordering.queue_order import Contender, Ratio, deciding_rule, precedes
from fairlead.policy.kai.policy import KaiPolicy, fast_backend
from fairlead.policy.kai.settings import KaiSettings

__all__ = [
    "Contender",
    "IncrementalShares",
    "KaiCycle",
    "KaiPolicy",
    "KaiShare",
    "KaiShares",
    "Ratio",
    "Restraint",
    "deciding_rule",
    "new_cycle",
    "planned_restraint",
    "precedes",
    "saturation",
]


def planned_restraint(state: ClusterState, settings: KaiSettings, now_ms: int) -> Restraint:
    """Return under which restraint the plan for *state* is made."""
    backend = fast_backend(state, settings)
    return look_ahead(state, settings, now_ms, backend, explain=False).restraint


def new_cycle(
    state: ClusterState, settings: KaiSettings, now_ms: int, restraint: Restraint = NO_RESTRAINT
) -> KaiCycle:
    """Return a cycle that explains its decisions. The caller has put *state* on trial."""
    return KaiCycle(state, settings, now_ms, fast_backend(state, settings), restraint)
