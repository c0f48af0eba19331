"""What kept trees must notice between two plans, one small cluster for each kind of change."""

from unittest import mock

import pytest

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import WorkloadRemoved
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.preemption.fair import FairSearch
from fairlead.policy.kueue.settings import AdmissionFairSharing, KueueOptions, KueueSettings
from tests.policy.kueue.plan_world import (
    NOW_MS,
    add,
    cluster,
    finish,
    told,
    with_extension,
    with_memory,
    with_rules,
    with_workload,
)

MODES = pytest.mark.parametrize("faithful", [False, True], ids=["own", "faithful"])


def plans_alike(policy: KueuePolicy, state: ClusterState) -> list[str]:
    """Plan with *policy* and with one that keeps nothing; both must decide and say the same."""
    plain = KueuePolicy(policy.settings, plain=True).plan(state, NOW_MS)
    kept = policy.plan(state, NOW_MS)
    assert kept.decisions == plain.decisions
    return told(kept)


@MODES
@pytest.mark.parametrize("fair", [False, True], ids=["classical", "fair"])
@pytest.mark.parametrize(("before", "after"), [(3, 7), (7, 3)])
def test_a_workload_of_the_same_name_may_be_older_or_newer(
    before: int, after: int, *, fair: bool, faithful: bool
) -> None:
    """The victim was queued at 5: only an older workload preempts it, and b keeps the class."""
    state = cluster(
        """
        name parent quota within
        q    -      1     LowerOrNewerEqualPriority
        """,
        f"""
        name queue asks running created
        r    q     1    6       5
        a    q     1    -       {before}
        b    q     1    -       8
        """,
    )
    policy = KueuePolicy(KueueSettings(fair_sharing=fair, faithful=faithful))
    first = plans_alike(policy, state)
    with_workload(state, "a", created_ms=after)
    assert plans_alike(policy, state) != first


@MODES
def test_a_workload_moves_to_another_tree_after_its_start_was_not_carried_out(
    *, faithful: bool
) -> None:
    state = cluster(
        """
        name parent quota
        p    -      1
        q    -      1
        """,
        """
        name queue asks created
        a    p     1    7
        b    q     5    8
        """,
    )
    policy = KueuePolicy(KueueSettings(faithful=faithful))
    plans_alike(policy, state)
    with_extension(state, "a", local_queue="q")
    with_workload(state, "a", queue=QueueName("q"))
    assert any(each.startswith("start a") for each in plans_alike(policy, state))


@pytest.mark.parametrize("strategy", ["StrictFIFO", "BestEffortFIFO"])
def test_a_queue_that_usage_orders_may_become_empty(strategy: str) -> None:
    state = cluster(
        f"""
        name parent quota strategy
        C    -      0     -
        q    C      1     {strategy}
        p    C      0     BestEffortFIFO
        """,
        """
        name queue asks running created
        r    q     1    6       5
        a    q     1    -       7
        b    p     1    -       8
        """,
    )
    with_rules(state, "q", usage_based_admission=True)
    rules = KueueSettings(admission_fair_sharing=AdmissionFairSharing(half_life_ms=1000))
    policy = KueuePolicy(rules)
    plans_alike(policy, state)
    finish(state, "a")
    plans_alike(policy, state)


def test_nothing_is_kept_of_a_plan_that_failed_while_changes_were_read() -> None:
    state = cluster(
        """
        name parent quota
        q    -      1
        """,
        """
        name queue asks running created
        r    q     1    1       0
        b    q     1    -       8
        """,
    )
    policy = KueuePolicy(KueueSettings())
    plans_alike(policy, state)
    finish(state, "r")
    add(state, {"name": "a", "queue": "q", "asks": "1", "created": "9"})
    with_workload(state, "a", extension=None)
    with pytest.raises(AssertionError):
        policy.plan(state, NOW_MS)
    state.apply(WorkloadRemoved(WorkloadName("a")))
    assert any(each.startswith("start b") for each in plans_alike(policy, state))


def test_nothing_is_kept_of_a_search_that_was_interrupted() -> None:
    state = cluster(
        """
        name parent quota reclaim
        C    -      1     -
        p    C      0     Any
        q    C      0     Any
        """,
        """
        name queue asks running created
        r    q     1    1       0
        b    p     1    -       8
        """,
    )
    rules = KueueSettings(fair_sharing=True, options=KueueOptions(preemption_cooldown_ms=0))
    policy = KueuePolicy(rules)
    interrupted = mock.patch.object(FairSearch, "run", side_effect=KeyboardInterrupt)
    with interrupted, pytest.raises(KeyboardInterrupt):
        policy.plan(state, NOW_MS)
    finish(state, "r")
    assert any(each.startswith("start b") for each in plans_alike(policy, state))


def test_parked_workloads_wait_in_the_order_of_those_that_are_left() -> None:
    """a1 is admitted by its promise, so b1 is the first of those left, not a2 of a1's class."""
    state = cluster(
        """
        name parent quota
        q    -      3
        """,
        """
        name queue asks running created
        r    q     1    1       0
        r2   q     2    1       0
        a1   q     1    -       1
        b1   q     2    -       2
        a2   q     1    -       3
        """,
    )
    policy = KueuePolicy(KueueSettings())
    plans_alike(policy, state)
    finish(state, "r")
    with_memory(state, "a1", preempting=True, promise=None)
    waits = [each for each in plans_alike(policy, state) if each.startswith("wait")]
    assert [each.split()[1] for each in waits] == ["b1:", "a2:"]
