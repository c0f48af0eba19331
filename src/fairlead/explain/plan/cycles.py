"""What happens when one plan after another is carried out and nothing else happens."""

from collections.abc import Iterator
from typing import Final

from fairlead.model.execution.after_plan import carry_out
from fairlead.model.plan import Decision, LeftPending, Plan
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Policy

CYCLE_MS: Final = 1_000


def plan_cycles(policy: Policy, state: ClusterState, now_ms: int, most: int) -> Iterator[Plan]:
    """Yield up to *most* plans, each for the state that the one before left behind.

    Between two cycles the evicted pods have left, their jobs wait again, and the started pods run.
    A job whose pods were all terminating before the first cycle was deleted by its owner and does
    not come back, unless the rules queue it again. Ends after the first plan that changes nothing,
    in a state in which no pod is terminating; where jobs take turns for ever, *most* ends it. The
    state is changed. A cycle takes a second.
    """
    before: tuple[Decision, ...] | None = None
    for number in range(most):
        plan = policy.plan(state, now_ms + number * CYCLE_MS)
        yield plan
        is_quiet = all(isinstance(decision, LeftPending) for decision in plan.decisions)
        is_quiet |= plan.decisions == before  # it promises what it never comes to
        before = plan.decisions
        moment = state.moment
        has_left = carry_out(state, plan.decisions, plan.taken_ms, keeps_reservations=False)
        is_quiet &= state.moment == moment  # pending ones may have lost their turn
        for memory in plan.memories:
            state.apply(memory)
        if not has_left and is_quiet:
            return
