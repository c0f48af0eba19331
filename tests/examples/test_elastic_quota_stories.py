"""The stories of the page on sharing under ElasticQuotas, moment by moment."""

from itertools import pairwise

import pytest

from fairlead.manifest.assembled import Assembled
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.examples.elastic_quota_world import decisions, follow, read, running, used
from tests.text_table import rows

STORIES = "elastic-quota-stories"
LEND_AND_RETURN = f"{STORIES}/lend-and-return"
WHOSE_POD = f"{STORIES}/whose-pod"
NOTHING_OF_ITS_OWN = f"{STORIES}/nothing-of-its-own"
TWO_NODES = f"{STORIES}/two-nodes"
GPU = "nvidia.com/gpu"
OURS = ElasticQuotaSettings()

both_ways = pytest.mark.parametrize("settings", [OURS, FAITHFUL], ids=["ours", "plugin"])


def moment(folder: str, name: str) -> Assembled:
    return read(f"{folder}/quotas.yaml", f"{folder}/{name}.yaml")


MOMENTS = """
    moment    a b a-then b-then
    1-grow    2 3 4      3
    2-borrow  4 3 6      3
    3-return  6 3 4      6
    4-enough  4 6 4      6
"""


@both_ways
@pytest.mark.parametrize("row", rows(MOMENTS), ids=lambda row: row["moment"])
def test_what_is_lent_comes_back(row: dict[str, str], settings: ElasticQuotaSettings) -> None:
    assembled = moment(LEND_AND_RETURN, row["moment"])
    assert used(assembled.state, GPU) == {"a": row["a"], "b": row["b"]}
    follow(assembled, settings)
    assert used(assembled.state, GPU) == {"a": row["a-then"], "b": row["b-then"]}


@pytest.mark.parametrize("names", list(pairwise([row["moment"] for row in rows(MOMENTS)])))
def test_each_moment_begins_where_the_one_before_ended(names: tuple[str, str]) -> None:
    before, after = [moment(LEND_AND_RETURN, name) for name in names]
    assert set(before.state.workloads) <= set(after.state.workloads)
    follow(before)
    assert running(before.state) == running(after.state)


DECISIONS = {
    "1-grow": ["start a/a3: WithinMin"],  # 2 + 2 <= 4
    "2-borrow": [
        "start a/a4: Borrows",  # 4 + 2 > 4, and 7 + 2 <= 10
        "wait a/a5: OverMax BeyondMin",  # 6 + 1 > 6
    ],
    "3-return": [
        "wait a/a5: OverMax BeyondMin",
        "evict a/a4 for b/b4: MinTakenBack",  # 6 > 4
        "reserve b/b4 on gpu-1 until a/a4 left: TakesBack",  # 3 + 3 <= 6
    ],
    "4-enough": [
        "wait a/a4: PoolExhausted BeyondMin",  # 10 + 2 > 10, and 4 + 2 > 4
        "wait a/a5: PoolExhausted BeyondMin",
        "wait b/b5: PoolExhausted BeyondMin",  # 10 + 1 > 10, and 6 + 1 > 6
    ],
}


@both_ways
@pytest.mark.parametrize("name", DECISIONS)
def test_every_moment_says_why(name: str, settings: ElasticQuotaSettings) -> None:
    assert decisions(moment(LEND_AND_RETURN, name), settings) == DECISIONS[name]


@both_ways
def test_within_its_min_a_namespace_takes_from_who_is_over(settings: ElasticQuotaSettings) -> None:
    """3 + 1 <= 4 for b; 4 > 3 for a, and c is not over 3."""
    assembled = moment(WHOSE_POD, "within-min")
    assert used(assembled.state, GPU) == {"a": "4", "b": "3", "c": "3"}
    assert decisions(assembled, settings) == [
        "evict a/a4 for b/b4: MinTakenBack",
        "reserve b/b4 on gpu-1 until a/a4 left: TakesBack",
    ]
    follow(assembled, settings)
    assert used(assembled.state, GPU) == {"a": "3", "b": "4", "c": "3"}


@both_ways
def test_beyond_its_min_it_takes_from_its_own_less_important(
    settings: ElasticQuotaSettings,
) -> None:
    """5 + 1 > 4 for b, and sweep is less important than urgent: 5 - 3 + 1 = 3."""
    assembled = moment(WHOSE_POD, "beyond-min")
    assert used(assembled.state, GPU) == {"a": "2", "b": "5", "c": "3"}
    assert decisions(assembled, settings) == [
        "evict b/sweep for b/urgent: PreemptedByPriority",
        "reserve b/urgent on gpu-1 until b/sweep left: Preempts",
    ]
    follow(assembled, settings)
    assert used(assembled.state, GPU) == {"a": "2", "b": "3", "c": "3"}


@both_ways
def test_importance_does_not_help_who_has_no_min(settings: ElasticQuotaSettings) -> None:
    """1 + 1 > 1 of the pool; 0 + 1 > 0 of its min."""
    assembled = read(f"{NOTHING_OF_ITS_OWN}/world.yaml")
    assert used(assembled.state, "cpu") == {"quota1": "1", "quota2": "0", "quota3": "0"}
    assert decisions(assembled, settings) == ["wait quota2/important: PoolExhausted BeyondMin"]


@both_ways
def test_the_owner_of_the_min_takes_it_back_however_unimportant(
    settings: ElasticQuotaSettings,
) -> None:
    assembled = read(NOTHING_OF_ITS_OWN)
    follow(assembled, settings)
    assert running(assembled.state) == {"quota3/owner": "cpu-1"}


def test_a_guarantee_borrowed_on_two_nodes_comes_back() -> None:
    """2 + 2 - 1 > 2 if one leaves, 2 + 2 - 2 <= 2 if both do."""
    assembled = read(TWO_NODES)
    assert decisions(assembled) == [
        "evict quota1/left for quota2/whole: MinTakenBack",
        "evict quota1/right for quota2/whole: MinTakenBack",
        "reserve quota2/whole on cpu-1 until quota1/left quota1/right left: TakesBack",
    ]
    follow(assembled)
    assert running(assembled.state) == {"quota2/whole": "cpu-1"}


def test_the_plugin_finds_no_node_that_alone_gives_enough_back() -> None:
    one_node = ElasticQuotaSettings(cross_node_preemption=False)
    for settings in (FAITHFUL, one_node):
        assembled = read(TWO_NODES)
        assert decisions(assembled, settings) == [
            "wait quota2/whole: PoolExhausted NoRoomWithVictims"
        ]
