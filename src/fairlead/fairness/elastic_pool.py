"""ElasticQuota's sums: a namespace may use the unused guarantee of others, up to its ceiling.

All guarantees together form the pool. A namespace above its guarantee borrows from the pool; one
below it lends, as far as others borrow. Two rules admit a request: it must stay within the ceiling
of its own namespace, and the usage of all namespaces must stay within the pool.

Which axes are checked is up to the policy: a resource that one namespace overuses need not stop
pods that do not request it.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fairlead.model.axes import Amounts, Limits


class NamespaceQuota(msgspec.Struct, frozen=True, kw_only=True):
    """The guarantee, the ceiling and the usage of one namespace, one entry per axis."""

    namespace: str
    guaranteed: Amounts  # spec.min
    ceiling: Limits  # spec.max
    used: Amounts


class PoolSums(msgspec.Struct, frozen=True, kw_only=True):
    """All namespaces together, one entry per axis.

    ``lent`` is the unused guarantee that others use: the smaller of what is borrowed and what is
    unused. It belongs to no lender in particular if several have unused guarantee.
    """

    guaranteed: Amounts  # the pool
    used: Amounts
    borrowed: Amounts
    lent: Amounts


class Excess(msgspec.Struct, frozen=True, kw_only=True):
    """An axis on which used + nominated + request is more than the bound."""

    axis: int
    used: int
    nominated: int  # requested by pods that already wait for a node
    request: int
    bound: int


def borrowed(quota: NamespaceQuota) -> Amounts:
    """Return what the namespace uses above its guarantee."""
    pairs = zip(quota.used, quota.guaranteed, strict=True)
    return tuple(max(0, used - guaranteed) for used, guaranteed in pairs)


def pool_sums(quotas: Sequence[NamespaceQuota], axes: int) -> PoolSums:
    """Return the sums over all namespaces, on that many axes. Cost: O(namespaces x axes)."""
    guaranteed = _sums([quota.guaranteed for quota in quotas], axes)
    used = _sums([quota.used for quota in quotas], axes)
    above = _sums([borrowed(quota) for quota in quotas], axes)
    # Unused = guaranteed - (used - borrowed): what is not borrowed is from its own guarantee.
    unused = (g - u + b for g, u, b in zip(guaranteed, used, above, strict=True))
    lent = tuple(map(min, above, unused))
    return PoolSums(guaranteed=guaranteed, used=used, borrowed=above, lent=lent)


def over_min(quota: NamespaceQuota) -> tuple[int, ...]:
    """Return the axes on which the namespace uses more than its guarantee."""
    return tuple(axis for axis, amount in enumerate(borrowed(quota)) if amount > 0)


def first_excess(
    used: Sequence[int],
    nominated: Sequence[int],
    request: Sequence[int],
    bounds: Sequence[int | None],
    axes: Iterable[int],
) -> Excess | None:
    """Return the first axis where used + nominated + request exceeds the bound; None: none does.

    Both rules are this one: for a namespace, with its own nominated pods and its ceiling (or its
    guarantee) as bounds; for the pool, with those of all namespaces. Only *axes* are checked.
    """
    return next(excesses(used, nominated, request, bounds, axes), None)


def excesses(
    used: Sequence[int],
    nominated: Sequence[int],
    request: Sequence[int],
    bounds: Sequence[int | None],
    axes: Iterable[int],
) -> Iterator[Excess]:
    """Yield every axis where used + nominated + request exceeds the bound."""
    for axis in axes:
        bound = bounds[axis]
        if bound is not None and used[axis] + nominated[axis] + request[axis] > bound:
            yield Excess(
                axis=axis,
                used=used[axis],
                nominated=nominated[axis],
                request=request[axis],
                bound=bound,
            )


def exceeds(
    used: Sequence[int], more: Sequence[int], bounds: Sequence[int | None], axes: Iterable[int]
) -> bool:
    """Return whether used + more exceeds a bound on one of *axes*: `first_excess` in short."""
    for axis in axes:
        bound = bounds[axis]
        if bound is not None and used[axis] + more[axis] > bound:
            return True
    return False


def _sums(rows: Sequence[Sequence[int]], axes: int) -> Amounts:
    return tuple(map(sum, zip(*rows, strict=True))) if rows else (0,) * axes
