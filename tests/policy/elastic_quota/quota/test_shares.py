"""Whose unused guarantee others use: books that always balance."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.fairness.elastic_pool import borrowed, pool_sums
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.events import (
    Placement,
    QueueChanged,
    WorkloadAdded,
    WorkloadLeaving,
    WorkloadStarted,
)
from fairlead.model.queue import ElasticQuota
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.elastic_quota.quota.shares import ElasticShares, lent_by_each
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.model.worlds import queue

OURS = ElasticQuotaSettings()

# lent and what each leaves unused -> what each lends
LENT = {
    "nobody borrows": (0, [3, 1], [0, 0]),
    "a single lender": (2, [0, 3], [0, 2]),
    "all that is unused": (4, [3, 0, 1], [3, 0, 1]),
    "in proportion": (2, [3, 1], [1, 1]),  # 1.5 and 0.5: 2 * 3 // 4 = 1, then 2 - 1
    "twice as much of twice as much": (30, [40, 20], [20, 10]),
    "rounded where it adds up": (2, [1, 1, 1], [0, 1, 1]),  # 2/3 each: 0, 1, 2 in total
    "nobody is there": (0, [], []),
}


@pytest.mark.parametrize(("lent", "unused", "expected"), LENT.values(), ids=LENT.keys())
def test_who_lends(lent: int, unused: list[int], expected: list[int]) -> None:
    assert lent_by_each(lent, unused) == expected


amounts = st.integers(0, 30)
namespaces = st.lists(st.tuples(amounts, amounts, amounts, amounts), max_size=6)


def state_of(many: list[tuple[int, int, int, int]]) -> ClusterState:
    """Namespaces with min and use of two resources each: (min, min, used, used)."""
    state = ClusterState(("cpu", "gpu"), QuotaAxes([Axis("cpu"), Axis("gpu")]))
    for number, (*least, cpu, gpu) in enumerate(many):
        own = msgspec.structs.replace(queue(f"q{number}"), guaranteed=tuple(least))
        state.apply(QueueChanged(own))
        job = Workload(
            name=WorkloadName(f"job{number}"),
            queue=own.name,
            pod_sets=PodSets((PodSet(name="main", count=1, min_count=1, requests=(cpu, gpu)),)),
            min_count=1,
        )
        state.apply(WorkloadAdded(job))
        placed = (Placement(numbered_pod("main", 0), None),)
        state.apply(WorkloadStarted(workload=job.name, placements=placed, at_ms=0))
    return state


@given(many=namespaces)
def test_what_namespaces_lend_is_what_the_pool_lends(many: list[tuple[int, int, int, int]]) -> None:
    shares = ElasticShares(state_of(many), OURS)
    rows = shares.rows()
    assert [row.queue for row in rows] == [f"q{number}" for number in range(len(many))]
    for axis in range(2):
        lent = [row.lent[axis] for row in rows]
        unused = [row.unused[axis] for row in rows]
        assert sum(lent) == shares.pool.lent[axis]
        for row in rows:
            assert 0 <= row.lent[axis] <= row.unused[axis]
            assert not (row.lent[axis] and row.borrowed[axis])  # nobody does both
            exact = shares.pool.lent[axis] * row.unused[axis] / max(1, sum(unused))
            assert abs(row.lent[axis] - exact) < 1


@given(many=namespaces)
def test_the_pool_lends_what_is_borrowed_while_it_is_not_overdrawn(
    many: list[tuple[int, int, int, int]],
) -> None:
    shares = ElasticShares(state_of(many), OURS)
    assert shares.pool == pool_sums(list(shares.quotas.values()), 2)
    for axis in range(2):
        if sum(used[2 + axis] for used in many) <= sum(least[axis] for least in many):
            taken = sum(borrowed(quota)[axis] for quota in shares.quotas.values())
            assert sum(row.lent[axis] for row in shares.rows()) == taken


def test_a_namespace_that_uses_nothing_lends_what_another_one_has() -> None:
    # a: min 4, uses 6; b: min 6, uses 1, so 5 are unused, of which 2 are lent
    (a, b) = ElasticShares(state_of([(4, 0, 6, 0), (6, 0, 1, 0)]), OURS).rows()
    assert (a.queue, a.borrowed, a.lent) == (QueueName("q0"), (2, 0), (0, 0))
    assert (b.queue, b.borrowed, b.lent) == (QueueName("q1"), (0, 0), (2, 0))


# Two pods run and one waits, each of 1 core beside a sidecar of 3, so that a node is charged 4. The
# plugin takes a sidecar for an init container and charges the larger of the two.
MODES = {
    "what the node is charged": (OURS, 8_000, 12_000),
    "as the plugin charges": (FAITHFUL, 6_000, 9_000),
}


def with_sidecars(*, gated: bool = False, active: bool = True) -> ClusterState:
    state = state_of([(10_000, 0, 0, 0)])
    pods = PodSet(name="main", count=2, min_count=2, requests=(4_000, 0))
    other = PodSet(name="other", count=1, min_count=1, requests=(4_000, 0), gated=gated)
    gang = Workload(
        name=WorkloadName("gang"),
        queue=QueueName("q0"),
        pod_sets=PodSets((pods, other)),
        min_count=3,
        active=active,
        extension=ElasticPods(plugin_requests=({"cpu": 3_000}, {"cpu": 3_000})),
    )
    state.apply(WorkloadAdded(gang))
    placed = tuple(Placement(numbered_pod("main", at), None) for at in range(2))
    state.apply(WorkloadStarted(workload=gang.name, placements=placed, at_ms=0))
    return state


@pytest.mark.parametrize(("settings", "used", "requested"), MODES.values(), ids=MODES.keys())
def test_use_is_what_decisions_rest_on(
    settings: ElasticQuotaSettings, used: int, requested: int
) -> None:
    (row,) = ElasticShares(with_sidecars(), settings).rows()
    assert (row.used[0], row.requested[0]) == (used, requested)
    assert row.unused[0] == 10_000 - used
    for held_back in (with_sidecars(gated=True), with_sidecars(active=False)):
        (row,) = ElasticShares(held_back, settings).rows()
        assert (row.used[0], row.requested[0]) == (used, used)


def test_pods_that_leave_count_until_they_have_left() -> None:
    state = with_sidecars()
    state.apply(WorkloadLeaving(workload=WorkloadName("gang"), pods=(numbered_pod("main", 0),)))
    for settings, used, requested in MODES.values():
        (row,) = ElasticShares(state, settings).rows()
        assert (row.used[0], row.requested[0]) == (used, requested)


def test_a_max_that_leaves_cpu_out_forbids_it_where_the_plugin_is_followed() -> None:
    state = state_of([(10_000, 0, 0, 0)])
    own = msgspec.structs.replace(
        state.queues[QueueName("q0")],
        ceiling=(None, 8),
        extension=ElasticQuota(max_listed=frozenset({"gpu"})),
    )
    state.apply(QueueChanged(own))
    ceilings = [ElasticShares(state, each).quotas[own.name].ceiling for each in (OURS, FAITHFUL)]
    assert ceilings == [(None, 8), (0, 8)]
