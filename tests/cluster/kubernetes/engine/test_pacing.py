"""When a plan is due, as tables: times in ms, moments of the state, and what the last plan said."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from fairlead.cluster.kubernetes.engine.pacing import Due, Pacing
from fairlead.model.plan import Plan

PLAIN, EXPLAINED = Due(explain=False), Due(explain=True)


def plan(taken_ms: int, *, until_ms: int | None = None, by_time: bool = False) -> Plan:
    return Plan(taken_ms=taken_ms, decisions=(), time_dependent=by_time, valid_until_ms=until_ms)


def planned(
    at_ms: int,
    due: Due,
    *,
    moment: int = 1,
    release_ms: int | None = None,
    may_differ: bool = False,
    until_ms: int | None = None,
    by_time: bool = False,
) -> Pacing:
    """Return a pacing after a first plan, and one that is described."""
    pacing = Pacing()
    pacing.planned(plan(0), PLAIN, moment, None, may_differ=False)
    made = plan(at_ms, until_ms=until_ms, by_time=by_time)
    pacing.planned(made, due, moment, release_ms, may_differ=may_differ)
    return pacing


def test_the_first_plan_is_due_at_once_and_without_reasons() -> None:
    assert Pacing().due(1, 0, is_waiting=True) == PLAIN


@pytest.mark.parametrize(
    ("moment", "now_ms", "is_waiting", "due"),
    [
        (1, 5_000, False, None),
        (1, 5_000, True, None),
        (2, 5_000, False, PLAIN),
        (2, 5_999, True, PLAIN),  # reasons were worked out less than a second ago
        (2, 6_000, True, EXPLAINED),
    ],
)
def test_a_change_makes_a_plan_due(
    moment: int, now_ms: int, is_waiting: bool, due: Due | None
) -> None:
    assert planned(5_000, EXPLAINED).due(moment, now_ms, is_waiting=is_waiting) == due


def test_reasons_that_are_not_of_now_are_worked_out_when_a_second_is_over() -> None:
    pacing = planned(5_000, EXPLAINED)
    pacing.planned(plan(5_300), PLAIN, 2, None, may_differ=False)
    assert pacing.due(2, 5_999, is_waiting=True) is None
    assert pacing.next_ms(2, is_waiting=True) == 6_000
    assert pacing.due(2, 6_000, is_waiting=True) == EXPLAINED
    assert pacing.next_ms(2, is_waiting=False) is None


def test_a_plan_that_may_differ_is_made_again_at_once_and_is_not_the_one_with_reasons() -> None:
    pacing = planned(5_000, PLAIN, may_differ=True)
    assert pacing.due(1, 5_000, is_waiting=True) == PLAIN


@pytest.mark.parametrize(
    ("by_time", "until_ms", "release_ms", "again_ms"),
    [
        (False, None, None, None),
        (True, None, None, 6_000),  # it does not say until when it holds
        (True, 5_250, None, 5_250),
        (True, 9_000, 5_500, 5_500),
        (False, None, 5_500, 5_500),
        (True, 4_000, None, 5_001),  # never at once: time must go on
    ],
)
def test_time_alone_makes_a_plan_due(
    by_time: bool, until_ms: int | None, release_ms: int | None, again_ms: int | None
) -> None:
    pacing = planned(5_000, EXPLAINED, by_time=by_time, until_ms=until_ms, release_ms=release_ms)
    assert pacing.next_ms(1, is_waiting=False) == again_ms
    if again_ms is not None:
        assert pacing.due(1, again_ms - 1, is_waiting=False) is None
        assert pacing.due(1, again_ms, is_waiting=False) == PLAIN


@pytest.mark.parametrize("changes_ms", [range(0, 10_000, 10), range(0, 10_000, 999)])
def test_reasons_are_worked_out_once_a_second_at_most_and_within_two(
    changes_ms: Sequence[int],
) -> None:
    """The state changes all the time, and something waits."""
    pacing, explained_ms = Pacing(), []
    for moment, now_ms in enumerate(changes_ms):
        for _ in range(3):
            due = pacing.due(moment, now_ms, is_waiting=True)
            if due is not None:
                pacing.planned(plan(now_ms), due, moment, None, may_differ=False)
                explained_ms += [now_ms] * due.explain
    gaps = [later - earlier for earlier, later in pairwise(explained_ms)]
    assert min(gaps) >= 1000
    assert max(gaps) < 2000
