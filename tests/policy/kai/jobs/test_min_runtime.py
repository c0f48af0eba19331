"""Which queue promises a minimum runtime, and what the promise is worth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.jobs.min_runtime import (
    GroupPods,
    eviction_stands,
    is_elastic,
    is_protected,
    may_be_victim,
    preempt_min_runtime_ms,
    reclaim_min_runtime_ms,
)
from fairlead.policy.kai.settings import KaiSettings
from tests.model.worlds import queue, state_with
from tests.text_table import number, rows

# What each queue promises, in milliseconds; - is nothing.
TREE = """
    queue     parent    promise
    company   -         70
    research  company   -
    nlp       research  30
    vision    research  -
    sales     company   0
    other     -         -
    lab       other     -
"""


def tree() -> ClusterState:
    """The same promise for both, so that only the walk makes a difference."""
    return state_with(
        *(
            replace(
                queue(row["queue"], None if row["parent"] == "-" else row["parent"]),
                preempt_min_runtime_ms=number(row["promise"]),
                reclaim_min_runtime_ms=number(row["promise"]),
            )
            for row in rows(TREE)
        )
    )


DEFAULTS = KaiSettings(preempt_min_runtime_ms=5, reclaim_min_runtime_ms=6)

PREEMPT = """
    victim   promised  because
    nlp      30        its_own
    vision   70        nothing_said_up_to_the_company
    sales    0         zero_is_a_promise
    lab      5         nobody_says_anything
"""


@pytest.mark.parametrize("row", rows(PREEMPT), ids=lambda row: row["because"])
def test_within_a_queue_the_nearest_promise_counts(row: dict[str, str]) -> None:
    state = tree()
    path = state.path(QueueName(row["victim"]))
    assert preempt_min_runtime_ms(state.queues, path, DEFAULTS) == int(row["promised"])


RECLAIM = """
    method  victim  reclaimer  promised  because
    lca     nlp     vision     30        they_meet_in_research_below_which_nlp_has_promised
    lca     nlp     sales      70        they_meet_in_company_below_which_research_is_silent
    lca     nlp     lab        70        strangers_so_the_top_of_the_victim_is_asked
    lca     lab     nlp        6         strangers_and_the_top_of_the_victim_is_silent
    lca     sales   nlp        0         they_meet_in_company_below_which_sales_promised_nothing
    lca     vision  nlp        70        vision_and_research_are_silent
    lca     nlp     nlp        30        the_same_queue_asks_itself
    queue   nlp     vision     30        the_walk_begins_at_the_victim
    queue   nlp     sales      30        the_walk_begins_at_the_victim
    queue   nlp     lab        30        the_walk_begins_at_the_victim
    queue   vision  lab        70        the_walk_goes_up_to_the_company
    queue   lab     nlp        6         nobody_says_anything
"""


@pytest.mark.parametrize("row", rows(RECLAIM), ids=lambda row: " ".join(row.values()))
def test_between_queues_the_method_says_where_the_walk_begins(row: dict[str, str]) -> None:
    state = tree()
    settings = replace(DEFAULTS, reclaim_resolve_method=row["method"])
    victim, reclaimer = (state.path(QueueName(row[side])) for side in ("victim", "reclaimer"))
    promised = reclaim_min_runtime_ms(state.queues, victim, reclaimer, settings)
    assert promised == int(row["promised"])


def test_a_negative_default_is_none_at_all() -> None:
    state = tree()
    path = state.path(QueueName("lab"))
    settings = KaiSettings(preempt_min_runtime_ms=-5, reclaim_min_runtime_ms=-5)
    assert preempt_min_runtime_ms(state.queues, path, settings) == 0
    assert reclaim_min_runtime_ms(state.queues, path, path, settings) == 0


PROTECTED = """
    started  length  now  protected
    100      50      149  yes
    100      50      150  no
    100      0       100  no
    none     50      100  no
"""


@pytest.mark.parametrize("row", rows(PROTECTED), ids=lambda row: " ".join(row.values()))
def test_a_job_is_protected_until_its_time_is_over(row: dict[str, str]) -> None:
    started_ms = None if row["started"] == "none" else int(row["started"])
    protected = is_protected(started_ms, int(row["length"]), int(row["now"]))
    assert protected == (row["protected"] == "yes")


# Of a protected job: pods running+waiting, its minimum, how many would be evicted.
EVICTIONS = """
    running  waiting  minimum  evicted  candidate  stands  because
    3        0        2        1        yes        yes     3-1_is_the_minimum
    3        0        2        2        yes        no      3-2_is_below_the_minimum
    2        1        2        1        yes        no      elastic_by_pods_that_do_not_run
    1        2        2        0        yes        yes     below_its_minimum_and_loses_nothing
    2        0        2        2        no         yes     not_elastic_so_it_is_no_candidate_at_all
"""


@pytest.mark.parametrize("row", rows(EVICTIONS), ids=lambda row: row["because"])
def test_a_protected_job_keeps_its_minimum(row: dict[str, str]) -> None:
    running, evicted = int(row["running"]), int(row["evicted"])
    groups = [GroupPods(running + int(row["waiting"]), running, int(row["minimum"]))]
    assert may_be_victim(groups, protected=True) == (row["candidate"] == "yes")
    assert eviction_stands(groups, [evicted], protected=True) == (row["stands"] == "yes")


def test_every_group_that_loses_a_pod_keeps_its_own_minimum() -> None:
    workers, leader = GroupPods(4, 4, 2), GroupPods(1, 1, 1)
    assert is_elastic([workers, leader])
    assert eviction_stands([workers, leader], [2, 0], protected=True)
    assert not eviction_stands([workers, leader], [1, 1], protected=True)


group = st.builds(GroupPods, st.integers(0, 6), st.integers(0, 4), st.integers(0, 4))


@given(st.lists(st.tuples(group, st.integers(0, 4)), min_size=1, max_size=3))
def test_without_protection_everything_stands_and_with_it_less_may_be_taken(
    losses: list[tuple[GroupPods, int]],
) -> None:
    groups, evicted = [each for each, _ in losses], [lost for _, lost in losses]
    assert may_be_victim(groups, protected=False)
    assert eviction_stands(groups, evicted, protected=False)
    fewer = [max(0, lost - 1) for lost in evicted]
    if eviction_stands(groups, evicted, protected=True):
        assert eviction_stands(groups, fewer, protected=True)
