"""The judge finds every violation that is put into a history, and nothing in an honest one."""

from collections import Counter

import pytest

from tests.live.faults.amounts import thousandths
from tests.live.faults.history import Picture
from tests.live.faults.judge import outcome, violations
from tests.live.faults.recorded import Recorded


@pytest.fixture
def recorded() -> Recorded:
    """Gives a history with a node for 2 CPUs, and a quota of 1 that uses nothing."""
    begun = Recorded()
    begun.node("n1", cpu="2")
    begun.quota("a", least="1", used="0")
    return begun


def test_an_honest_history_has_no_violations(recorded: Recorded) -> None:
    recorded.pod("a/1", change="added")
    recorded.pod("a/1", "n1")
    recorded.quota("a", least="1", used="1")
    assert violations(recorded.history) == []


def test_a_pod_that_changes_its_node_was_bound_twice(recorded: Recorded) -> None:
    recorded.node("n2")
    recorded.pod("b/1", "n1")
    recorded.pod("b/1", "n2")
    assert violations(recorded.history) == ["b/1 was on n1, then on n2"]


def test_a_pod_that_loses_its_node_was_bound_twice(recorded: Recorded) -> None:
    recorded.pod("b/1", "n1")
    recorded.pod("b/1", "")
    assert violations(recorded.history) == ["b/1 was on n1, then on none"]


def test_facts_are_judged_in_the_order_in_which_they_happened(recorded: Recorded) -> None:
    recorded.pod("b/1", "")
    recorded.pod("b/1", "n1")
    recorded.history.facts.reverse()  # as two watches may deliver them
    assert violations(recorded.history) == []


def test_a_node_may_be_filled_to_the_brim_and_no_further(recorded: Recorded) -> None:
    recorded.pod("b/1", "n1", cpu="1500m")
    recorded.pod("b/2", "n1", cpu="500m")
    assert violations(recorded.history) == []
    recorded.pod("b/3", "n1", cpu="1m")  # 1500 + 500 + 1 > 2000
    assert violations(recorded.history) == ["n1 is overcommitted at 104: {'cpu': (2001, 2000)}"]


def test_an_overcommitment_counts_that_ended_later(recorded: Recorded) -> None:
    recorded.pod("b/1", "n1", cpu="2")
    recorded.pod("b/2", "n1", cpu="1")
    recorded.pod("b/2", "n1", cpu="1", phase="Failed")  # as a kubelet makes it
    assert violations(recorded.history) == ["n1 is overcommitted at 103: {'cpu': (3000, 2000)}"]


def test_a_pod_that_is_over_leaves_its_room_and_one_that_terminates_does_not(
    recorded: Recorded,
) -> None:
    recorded.pod("b/1", "n1", cpu="1", phase="Succeeded")
    recorded.pod("b/2", "n1", cpu="2")
    assert violations(recorded.history) == []
    recorded.pod("b/2", "n1", cpu="2", is_leaving=True)
    recorded.pod("b/3", "n1", cpu="1")
    assert violations(recorded.history) == ["n1 is overcommitted at 105: {'cpu': (3000, 2000)}"]


def test_a_node_holds_no_more_pods_than_it_allows() -> None:
    recorded = Recorded()
    recorded.node("n1", pods="1")
    recorded.pod("b/1", "n1", cpu="0")
    recorded.pod("b/2", "n1", cpu="0")
    assert violations(recorded.history) == ["n1 is overcommitted at 102: {'pods': (2000, 1000)}"]


def test_a_node_that_does_not_exist_holds_no_pod(recorded: Recorded) -> None:
    recorded.pod("b/1", "n9")
    assert violations(recorded.history) == ["b/1 is on n9, which does not exist"]


def test_a_namespace_over_its_guarantee_may_lose_a_pod(recorded: Recorded) -> None:
    recorded.pod("a/1", "n1")
    recorded.pod("a/2", "n1")
    recorded.pod("a/2", "n1", is_leaving=True)  # 2 > 1
    recorded.pod("a/2", "n1", is_leaving=True, change="deleted")
    recorded.quota("a", least="1", used="1")
    assert violations(recorded.history) == []


def test_a_namespace_within_its_guarantee_loses_no_pod(recorded: Recorded) -> None:
    recorded.pod("a/1", "n1")
    recorded.pod("a/1", "n1", change="deleted")  # 1 <= 1
    assert violations(recorded.history) == ["a/1 was evicted, although a was within its guarantee"]


def test_what_is_leaving_does_not_count_for_the_next_eviction(recorded: Recorded) -> None:
    recorded.pod("a/1", "n1")
    recorded.pod("a/2", "n1")
    recorded.pod("a/2", "n1", is_leaving=True)  # 2 > 1
    recorded.pod("a/1", "n1", is_leaving=True)  # 1 <= 1
    recorded.quota("a", least="1", used="2")
    assert violations(recorded.history) == ["a/1 was evicted, although a was within its guarantee"]


@pytest.mark.parametrize(("priority", "is_right"), [(1, True), (0, False)])
def test_within_its_guarantee_a_namespace_loses_pods_to_its_own_more_important_ones(
    recorded: Recorded, priority: int, is_right: bool
) -> None:
    recorded.pod("a/1", "n1")
    recorded.pod("a/2", "", priority=priority)
    recorded.pod("a/1", "n1", change="deleted")
    assert (violations(recorded.history) == []) is is_right


def test_a_pod_that_ends_by_itself_was_not_evicted(recorded: Recorded) -> None:
    recorded.pod("a/1", "n1")
    recorded.pod("a/1", "n1", phase="Succeeded")
    recorded.pod("a/1", "n1", phase="Succeeded", change="deleted")
    assert violations(recorded.history) == []


def test_a_pod_without_a_node_is_not_evicted(recorded: Recorded) -> None:
    recorded.pod("a/1", "")
    recorded.pod("a/1", "", change="deleted")
    assert violations(recorded.history) == ["a/1 was deleted, although it had no node"]


def test_pods_of_another_scheduler_stay_as_they_are(recorded: Recorded) -> None:
    recorded.pod("a/1", scheduler="other")
    recorded.pod("a/1", "n1", scheduler="other")
    assert "a/1 is not the scheduler's, and its spec was changed" in violations(recorded.history)


def test_no_field_of_what_belongs_to_others_has_a_strange_manager(recorded: Recorded) -> None:
    recorded.pod("b/1", "n1", scheduler="other")
    recorded.pod("b/1", "n1", scheduler="other", manager="kwok")
    assert violations(recorded.history) == []
    recorded.pod("b/1", "n1", scheduler="other", manager="Python")
    recorded.quota("a", least="1", used="0", manager="Python")
    assert violations(recorded.history) == [
        "b/1 was changed by ['Python']",
        "a/quota was changed by ['Python']",
    ]


def test_pods_of_another_scheduler_are_not_deleted(recorded: Recorded) -> None:
    recorded.pod("b/1", "n1", scheduler="other")
    recorded.pod("b/1", "n1", scheduler="other", change="deleted")
    assert violations(recorded.history) == ["b/1 is not the scheduler's, and was deleted"]


@pytest.mark.parametrize(("running", "is_right"), [(0, True), (1, False), (2, True), (3, True)])
def test_of_a_gang_the_least_number_runs_in_the_end_or_none(
    recorded: Recorded, running: int, is_right: bool
) -> None:
    recorded.node("n2", cpu="4")
    recorded.gang("b", "g", least=2)
    for number in range(3):
        recorded.pod(f"b/{number}", "n2" if number < running else "", gang="g")
    assert (violations(recorded.history) == []) is is_right


def test_each_quota_says_in_the_end_what_its_pods_use(recorded: Recorded) -> None:
    recorded.pod("a/1", "n1")
    assert violations(recorded.history) == [
        "a/quota has a wrong status, used: {'cpu': (0, 1000)}",
        "a/quota has a wrong status, scheduled: {'cpu': (0, 1000)}",
    ]


def test_what_has_a_node_and_does_not_run_yet_is_scheduled_and_not_used(
    recorded: Recorded,
) -> None:
    recorded.pod("a/1", "n1", phase="Pending")
    recorded.quota("a", least="1", used="1")
    assert violations(recorded.history) == ["a/quota has a wrong status, used: {'cpu': (1000, 0)}"]


def test_the_outcome_counts_like_pods_whatever_their_names_and_nodes(recorded: Recorded) -> None:
    recorded.pod("a-run3/1", "n1")
    recorded.pod("a-run3/2", "n1")
    recorded.pod("a-run3/3", "")
    recorded.pod("a-run3/4", "n1", is_leaving=True)
    recorded.pod("a-run3/5", "n1", scheduler="other")
    assert outcome(Picture(recorded.history.facts)) == Counter(
        {("a", "g", "running"): 2, ("a", "g", "waiting"): 1, ("a", "g", "leaving"): 1}
    )


@pytest.mark.parametrize(
    ("quantity", "expected"), [("2", 2000), (3, 3000), ("500m", 500), ("1Gi", 1000 * 2**30)]
)
def test_quantities_are_read(quantity: str | int, expected: int) -> None:
    assert thousandths(quantity) == expected
