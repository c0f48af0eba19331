"""A plan made in slices: each carried out, then the state planned again at the same time."""

from collections.abc import Iterator

from fairlead.model.execution.executor import apply
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.plan import Decision, LeftPending, Plan, Start
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Settings, make_policy
from tests.model.invariants import check_invariants

MOST_SLICES = 100


def slices(
    state: ClusterState, settings: Settings, now_ms: int, most: int, held: Holds = NOTHING_HELD
) -> Iterator[Plan]:
    """Yield plans of *most* starts until one is not cut; on a trial, so that *state* stays.

    Each must be what a policy says that sees the state for the first time, with and without waits.
    """
    followed = make_policy(settings)
    with state.trial():
        for _ in range(MOST_SLICES):
            plan = make_policy(settings).plan(state, now_ms, held=held, at_most_starts=most)
            changes = followed.plan(state, now_ms, held=held, at_most_starts=most, explain=False)
            assert [*changes.decisions] == without_waits(plan.decisions)
            assert changes.is_cut == plan.is_cut
            assert followed.plan(state, now_ms, held=held, at_most_starts=most) == plan
            check_cut(plan, most)
            yield plan
            if not plan.is_cut:
                return
            apply(state, plan)
            check_invariants(state)
    raise AssertionError("it comes to no end")


def check_cut(plan: Plan, most: int) -> None:
    """One that is cut has nothing but starts; without the last of them they are fewer than most."""
    if plan.is_cut:
        starts = [each for each in plan.decisions if isinstance(each, Start)]
        assert len(starts) == len(plan.decisions)
        assert sum(len(each.placements) for each in starts) >= most


def check_slices(
    state: ClusterState, settings: Settings, now_ms: int, most: int, held: Holds = NOTHING_HELD
) -> int:
    """See that slices in a row decide what one plan does, in its order; return how many there are.

    The last slice tells all who wait by the whole plan, and maybe of a job of which earlier slices
    started some pods that others of it have a scheduling gate.
    """
    whole = make_policy(settings).plan(state, now_ms, held=held)
    made = list(slices(state, settings, now_ms, most, held))
    decided = [each for plan in made for each in without_waits(plan.decisions)]
    assert decided == without_waits(whole.decisions)
    waiting = {each.workload for each in whole.decisions if isinstance(each, LeftPending)}
    assert waiting <= {
        each.workload for each in made[-1].decisions if isinstance(each, LeftPending)
    }
    return len(made)


def without_waits(decisions: tuple[Decision, ...]) -> list[Decision]:
    return [each for each in decisions if not isinstance(each, LeftPending)]
