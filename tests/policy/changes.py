"""What a plan changes: its decisions without the waits, asked for without reasons."""

from typing import Any

from fairlead.model.plan import Decision
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Policy


def changes_of(policy: Policy, state: ClusterState, now_ms: int, **options: Any) -> list[Decision]:
    """Return the decisions of a plan that is made without reasons for those that wait."""
    return list(policy.plan(state, now_ms, explain=False, **options).decisions)
