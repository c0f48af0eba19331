"""ElasticQuota's sums and its two rules of admission."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.fairness.elastic_pool import (
    Excess,
    NamespaceQuota,
    PoolSums,
    borrowed,
    exceeds,
    first_excess,
    over_min,
    pool_sums,
)

NOTHING = (0, 0)


def quota(
    namespace: str,
    guaranteed: tuple[int, ...],
    ceiling: tuple[int | None, ...],
    used: tuple[int, ...],
) -> NamespaceQuota:
    return NamespaceQuota(namespace=namespace, guaranteed=guaranteed, ceiling=ceiling, used=used)


def over_max_with(
    of: NamespaceQuota, nominated: tuple[int, ...], request: tuple[int, ...]
) -> Excess | None:
    return first_excess(of.used, nominated, request, of.ceiling, asked_for(request))


def over_min_with(
    of: NamespaceQuota, nominated: tuple[int, ...], request: tuple[int, ...]
) -> Excess | None:
    return first_excess(of.used, nominated, request, of.guaranteed, asked_for(request))


def pool_exhausted_with(
    pool: PoolSums, nominated: tuple[int, ...], request: tuple[int, ...]
) -> Excess | None:
    return first_excess(pool.used, nominated, request, pool.guaranteed, asked_for(request))


def asked_for(request: tuple[int, ...]) -> list[int]:
    return [axis for axis, amount in enumerate(request) if amount]


# One axis; columns: guaranteed, used per namespace -> pool, used, borrowed, lent.
POOLS = {
    "nobody above the guarantee lends nothing": ("4/2 6/3", (10, 5, 0, 0)),
    "two borrowed out of three unused": ("4/6 6/3", (10, 9, 2, 2)),
    "several lenders are one pool": ("0/3 2/0 2/1", (4, 4, 3, 3)),
    # 5 + 4 used of 4: 1 + 4 above their guarantees, and none of the guarantees is unused.
    "more in use than guaranteed was not lent by anybody": ("4/5 0/4", (4, 9, 5, 0)),
    # 3 unused, 5 above: 3 are lent, 2 come from nowhere.
    "lending ends at what is unused": ("3/0 1/6", (4, 6, 5, 3)),
}


@pytest.mark.parametrize(("text", "expected"), POOLS.values(), ids=POOLS.keys())
def test_the_pool_is_summed(text: str, expected: tuple[int, ...]) -> None:
    pairs = [tuple(map(int, word.split("/"))) for word in text.split()]
    quotas = [quota(str(i), (g,), (None,), (u,)) for i, (g, u) in enumerate(pairs)]
    sums = pool_sums(quotas, 1)
    assert (*sums.guaranteed, *sums.used, *sums.borrowed, *sums.lent) == expected


def test_a_cluster_without_quotas_has_an_empty_pool() -> None:
    sums = pool_sums([], 2)
    assert (sums.guaranteed, sums.used, sums.borrowed, sums.lent) == (NOTHING,) * 4


def test_ten_gpus_shared_by_two_namespaces() -> None:
    """A may have 4 to 6 and uses 2, B 6 to 8 and uses 3; the second axis stays idle."""
    a = quota("a", (4, 0), (6, None), (2, 0))
    b = quota("b", (6, 0), (8, None), (3, 0))
    pool = pool_sums([a, b], 2)
    assert over_max_with(a, NOTHING, (4, 0)) is None  # 2 + 4 = 6
    assert over_max_with(a, NOTHING, (5, 0)) == Excess(
        axis=0, used=2, nominated=0, request=5, bound=6
    )
    assert over_max_with(a, (1, 0), (4, 0)) == Excess(  # 2 + 1 + 4 = 7
        axis=0, used=2, nominated=1, request=4, bound=6
    )
    assert pool_exhausted_with(pool, NOTHING, (5, 0)) is None  # 5 + 5 = 10
    assert pool_exhausted_with(pool, (2, 0), (4, 0)) == Excess(  # 5 + 2 + 4 = 11
        axis=0, used=5, nominated=2, request=4, bound=10
    )
    assert over_min_with(a, NOTHING, (2, 0)) is None  # 2 + 2 = 4
    assert over_min_with(a, (1, 0), (2, 0)) == Excess(
        axis=0, used=2, nominated=1, request=2, bound=4
    )


def test_a_resource_in_nobodys_guarantee_cannot_be_had_from_the_pool() -> None:
    pool = pool_sums([quota("a", (4, 0), (None, None), NOTHING)], 2)
    excess = pool_exhausted_with(pool, NOTHING, (1, 1))
    assert excess == Excess(axis=1, used=0, nominated=0, request=1, bound=0)


def test_an_overused_resource_stops_nobody_who_does_not_ask_for_it() -> None:
    over = quota("a", (4, 1), (4, 1), (0, 9))
    assert over_min(over) == (1,)
    assert over_max_with(over, NOTHING, (4, 0)) is None
    assert over_min_with(over, NOTHING, (4, 0)) is None
    assert pool_exhausted_with(pool_sums([over], 2), NOTHING, (4, 0)) is None


def test_the_first_of_several_offending_axes_is_named() -> None:
    tight = quota("a", (0, 0), (1, 1), (0, 0))
    excess = over_max_with(tight, NOTHING, (2, 2))
    assert excess is not None
    assert excess.axis == 0


def test_use_at_the_bound_is_not_over_it() -> None:
    exact = quota("a", (4, 2), (4, None), (4, 2))
    assert over_min(exact) == ()
    assert borrowed(exact) == NOTHING


small = st.integers(0, 9)
pairs = st.tuples(small, small)
quotas = st.builds(
    quota, st.just("q"), pairs, st.tuples(st.none() | small, st.none() | small), pairs
)


@given(many=st.lists(quotas))
def test_use_is_own_guarantee_plus_what_is_borrowed(many: list[NamespaceQuota]) -> None:
    sums = pool_sums(many, 2)
    for axis in range(2):
        own = sum(min(q.used[axis], q.guaranteed[axis]) for q in many)
        assert sums.used[axis] == own + sums.borrowed[axis]
        idle = sum(max(0, q.guaranteed[axis] - q.used[axis]) for q in many)
        assert sums.lent[axis] == min(idle, sums.borrowed[axis])
        # Borrowing is covered by lending exactly while the pool is not overdrawn.
        covered = sums.lent[axis] == sums.borrowed[axis]
        assert covered == (sums.used[axis] <= sums.guaranteed[axis])


@given(one=quotas, nominated=pairs, request=pairs)
def test_a_refusal_shows_numbers_that_break_the_bound(
    one: NamespaceQuota, nominated: tuple[int, int], request: tuple[int, int]
) -> None:
    excess = over_max_with(one, nominated, request)
    broken = [
        axis
        for axis, bound in enumerate(one.ceiling)
        if bound is not None
        and request[axis]
        and one.used[axis] + nominated[axis] + request[axis] > bound
    ]
    assert (excess.axis if excess else None) == (broken[0] if broken else None)
    if excess:
        assert excess.used + excess.nominated + excess.request > excess.bound


@given(quotas, pairs, pairs)
def test_the_short_check_agrees_with_the_one_that_says_where(
    of: NamespaceQuota, nominated: tuple[int, int], request: tuple[int, int]
) -> None:
    more = tuple(n + r for n, r in zip(nominated, request, strict=True))
    for bounds in (of.ceiling, of.guaranteed):
        for axes in ((), (0,), (1,), (0, 1)):
            found = first_excess(of.used, nominated, request, bounds, axes)
            assert exceeds(of.used, more, bounds, axes) == (found is not None)
