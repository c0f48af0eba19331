"""A head that is nominated quickly needs what one needs that is nominated in full."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.policy.kueue.flavors.demands import DemandReader
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.incremental.nomination import IncrementalNominator
from fairlead.policy.kueue.pending.queue import scheduling_hash
from fairlead.policy.kueue.snapshot.build import snapshots
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from tests.policy.kueue.incremental.test_state import STEPS, History
from tests.scale_examples import scale_examples


def told(nomination: Nomination) -> tuple[object, ...]:
    """Return all but the height from which it borrows."""
    assignment = nomination.assignment
    needed = assignment and (assignment.flavors, assignment.usage, assignment.need)
    return nomination.pending, nomination.counts, nomination.mode(), needed, nomination.targets


def compare(history: History) -> list[Nomination]:
    """Nominate every pending workload both ways."""
    state, chosen = history.state, history.settings
    demands, found = DemandReader(state, chosen), []
    for snapshot in snapshots(state, chosen, history.now_ms, ()):
        plain = Nominator(snapshot, state.axes, chosen)
        quick = IncrementalNominator(snapshot, state.axes, chosen)
        for queue, rules in snapshot.rules.items():
            for name in state.waiting(queue):
                pending = demands.pending(state.workloads[name], rules)
                tried = quick.nominate(pending, scheduling_hash(pending, rules.preemption))
                expected = plain.nominate(pending)
                assert told(tried.nomination) == told(expected)
                is_in_vain = expected.assignment is not None and not expected.can_proceed()
                assert (tried.failed is not None) == (is_in_vain and not pending.may_shrink())
                found.append(tried.nomination)
        compare_again(snapshot, history, found)
    return found


def compare_again(snapshot: Snapshot, history: History, found: list[Nomination]) -> None:
    """Nominate those both ways who preempt, as if the first of their victims had left."""
    axes, chosen = history.state.axes, history.settings
    for nomination in found:
        if nomination.targets and nomination.pending.queue in snapshot.rules:
            assert nomination.assignment is not None
            later = snapshot.copy()
            later.remove(nomination.targets[0].workload)
            again = IncrementalNominator(snapshot, axes, chosen).renominate(later, nomination)
            plain = Nominator(later, axes, chosen)
            expected = plain.nominate(nomination.pending, nomination.assignment.flavors)
            assert told(again) == told(expected)


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(10), deadline=None)
@given(st.integers(0, 2**40))
def test_a_quick_nomination_is_the_full_one_but_for_its_height(seed: int) -> None:
    history = History(seed, faithful=False)
    for _ in range(STEPS):
        history.step()
        history.plan()
        compare(history)


def test_the_histories_have_heads_of_every_sort() -> None:
    sorts = set()
    for seed in range(5):
        history = History(seed, faithful=False)
        for _ in range(STEPS):
            history.step()
            sorts |= {(each.mode(), bool(each.targets)) for each in compare(history)}
            history.plan()
    assert len(sorts) == 4  # no flavors, room, others give way, no workload does
