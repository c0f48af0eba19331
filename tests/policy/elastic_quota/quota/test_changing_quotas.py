"""Quotas that change while they are in use, that come late or go, and that promise too much.

A change of a quota moves nobody. What is used stays used; whoever asks next meets the new bounds.
"""

import io

import pytest

from fairlead.manifest.load import load
from fairlead.model.axes import QueueName
from fairlead.model.events import QueueChanged, QueueRemoved
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.model.invariants import check_invariants
from tests.policy.elastic_quota.plan_world import (
    NOW_MS,
    OURS,
    add,
    cluster,
    plan,
    reasons,
    told,
    used,
    with_quota,
)
from tests.text_table import rows

QUOTAS = """
    of min max
    a  4   6
    b  6   8
"""
NODES = """
    name has
    n1   10
"""
RUNNING = """
    name of asks on since
    a-1  a  2    n1 1
    a-2  a  2    n1 2
    a-3  a  2    n1 3
    b-1  b  3    n1 4
"""


def in_use() -> ClusterState:
    """A uses 6 of its min of 4, b uses 3 of 6: 9 of the pool of 10."""
    return cluster(QUOTAS, NODES, RUNNING)


def ask(state: ClusterState, row: str) -> None:
    add(state, rows(f"name of asks priority\n{row}")[0])


CHANGES = """
    of min max
    a  0   6
    a  0   0
    a  4   4
    b  0   8
    b  0   0
    b  9   -
"""


@pytest.mark.parametrize("row", rows(CHANGES), ids=lambda row: " ".join(row.values()))
@pytest.mark.parametrize("settings", [OURS, FAITHFUL], ids=["ours", "plugin"])
def test_a_change_alone_moves_nobody(row: dict[str, str], settings: ElasticQuotaSettings) -> None:
    state = in_use()
    ceiling = None if row["max"] == "-" else int(row["max"])
    with_quota(state, row["of"], guaranteed=(int(row["min"]),), ceiling=(ceiling,))
    check_invariants(state)
    assert used(state) == {"a": 6, "b": 3}
    assert plan(state, settings).decisions == ()


def test_who_is_over_a_lowered_max_starts_nothing_more() -> None:
    state = in_use()
    with_quota(state, "a", ceiling=(5,))
    ask(state, "a-4 a 1 0")
    assert reasons(plan(state), "a-4")[:2] == ["OverMax", "used 6 + request 1 > max 5"]


def test_a_raised_max_lets_in_who_waits() -> None:
    state = in_use()
    ask(state, "a-4 a 1 0")
    assert told(plan(state)) == ["wait a-4: OverMax"]  # 6 + 1 > 6
    with_quota(state, "a", ceiling=(7,))
    assert told(plan(state)) == ["start a-4 on n1: Borrows"]  # 9 + 1 <= 10


def test_a_lowered_min_is_taken_from_by_the_next_who_is_within_its_own() -> None:
    """B within its min: 3 + 2 <= 6. With a at min 6 it is not over: 6 <= 6; at min 4 it is."""
    state = in_use()
    with_quota(state, "a", guaranteed=(6,))
    ask(state, "b-2 b 2 0")
    assert told(plan(state)) == ["wait b-2: NoNodeFits"]  # 9 + 2 <= 12, and 1 GPU is free
    with_quota(state, "a", guaranteed=(4,))
    assert told(plan(state)) == [
        "evict a-3 0 for b-2: MinTakenBack",
        "reserve n1 for b-2 until a-3 left",
    ]


def test_a_lowered_min_leaves_less_to_borrow_for_all() -> None:
    """The pool is 4 + 6 = 10, then 4 + 5 = 9."""
    state = in_use()
    with_quota(state, "a", ceiling=(None,))
    ask(state, "a-4 a 1 0")
    assert told(plan(state)) == ["start a-4 on n1: Borrows"]  # 9 + 1 <= 10
    with_quota(state, "b", guaranteed=(5,))
    assert reasons(plan(state), "a-4")[:2] == [
        "PoolExhausted",
        "used by all 9 + request 1 > all mins 9",
    ]


def test_one_policy_sees_a_change_at_once() -> None:
    """What was refused is asked again: a refusal depends on the quota that refused."""
    state, policy = in_use(), ElasticQuotaPolicy(OURS)
    ask(state, "a-4 a 1 0")
    assert told(policy.plan(state, NOW_MS)) == ["wait a-4: OverMax"]
    with_quota(state, "a", ceiling=(7,))
    assert told(policy.plan(state, NOW_MS)) == ["start a-4 on n1: Borrows"]
    with_quota(state, "a", ceiling=(6,))
    assert told(policy.plan(state, NOW_MS)) == ["wait a-4: OverMax"]


def without_quota_of(name: str) -> ClusterState:
    state = in_use()
    state.apply(QueueRemoved(QueueName(name)))
    check_invariants(state)
    return state


def test_a_removed_quota_leaves_its_pods_outside_all_quotas() -> None:
    """The pool is that of b alone: 3 of 6. Nobody of a is a victim of b any more."""
    state = without_quota_of("a")
    assert plan(state).decisions == ()
    assert used(state) == {"b": 3}
    ask(state, "b-2 b 3 0")
    assert told(plan(state)) == ["wait b-2: NoNodeFits"]  # 3 + 3 <= 6; 1 is free
    assert reasons(plan(state), "b-2")[-1] == "NobodyBorrows"


def test_a_pod_outside_quotas_takes_from_less_important_ones_outside() -> None:
    state = without_quota_of("a")
    ask(state, "a-4 a 2 5")
    assert told(plan(state)) == [
        "evict a-3 0 for a-4: PreemptedByPriority",
        "reserve n1 for a-4 until a-3 left",
    ]


def test_a_quota_that_comes_late_counts_what_runs_already() -> None:
    """A has 6 of 4 at once, so b takes 2 back: 3 + 3 <= 6."""
    state = without_quota_of("a")
    policy = ElasticQuotaPolicy(OURS)
    ask(state, "b-2 b 3 0")
    assert told(policy.plan(state, NOW_MS)) == ["wait b-2: NoNodeFits"]
    state.apply(QueueChanged(in_use().queues[QueueName("a")]))
    check_invariants(state)
    assert used(state) == {"a": 6, "b": 3}
    assert told(policy.plan(state, NOW_MS)) == [
        "evict a-3 0 for b-2: MinTakenBack",
        "reserve n1 for b-2 until a-3 left",
    ]


def test_mins_beyond_what_there_is_are_kept_as_far_as_there_is_room() -> None:
    """Mins of 12 for 10. Within its min, but nobody is over: it waits for room."""
    state = cluster("of min\na 6\nb 6", NODES, "name of asks on\na-1 a 6 n1\nb-1 b 4 n1")
    ask(state, "b-2 b 2 100")
    assert told(plan(state)) == ["wait b-2: NoNodeFits"]  # 10 + 2 <= 12
    assert reasons(plan(state), "b-2")[-1] == "NobodyBorrows"


QUOTA = """---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {{namespace: a, name: {name}}}
spec: {{min: {{cpu: {least}}}, max: {{cpu: 8}}}}
"""
NODE = """---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 6}}
"""


def findings(text: str) -> list[str]:
    result = load(["-"], strict=True, stdin=io.BytesIO(text.encode()))
    return [f"{each.severity} {each.code} {each.path}" for each in result.findings]


def test_two_quotas_in_one_namespace_are_refused() -> None:
    text = NODE + QUOTA.format(name="one", least=4) + QUOTA.format(name="two", least=4)
    assert findings(text) == ["error duplicate-object $.metadata.namespace"]


def test_a_min_beyond_the_cluster_is_read_with_advice() -> None:
    text = NODE + QUOTA.format(name="one", least=7)
    assert findings(text) == ["advice overcommitted $.spec.min.cpu"]


def test_a_min_above_max_is_refused() -> None:
    text = NODE + QUOTA.format(name="one", least=9)
    assert [line.split()[0] for line in findings(text)] == ["error"]
