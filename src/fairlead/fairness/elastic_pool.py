"""ElasticQuota's sums: every namespace may use the others' unused guarantee, up to its ceiling.

All guarantees together form the pool. A namespace above its guarantee borrows from the pool;
one below it lends, as far as somebody borrows. Two rules admit a request: it must stay under
the ceiling of its own namespace, and the use of all namespaces must stay within the pool.

Which axes are looked at is a matter of policy: a resource that somebody overuses need not stop
those who do not ask for it.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fairlead.model.axes import Amounts, Limits


class NamespaceQuota(msgspec.Struct, frozen=True, kw_only=True):
    """The guarantee, the ceiling and the use of one namespace, an entry per axis."""

    namespace: str
    guaranteed: Amounts  # spec.min
    ceiling: Limits  # spec.max
    used: Amounts


class PoolSums(msgspec.Struct, frozen=True, kw_only=True):
    """All namespaces together, an entry per axis.

    ``lent`` is the unused guarantee that others use. It is the smaller of what is borrowed and
    what is unused; whose guarantee it was cannot be told, when several have some to spare.
    """

    guaranteed: Amounts  # the pool
    used: Amounts
    borrowed: Amounts
    lent: Amounts


class Excess(msgspec.Struct, frozen=True, kw_only=True):
    """An axis on which used + nominated + request is more than the bound."""

    axis: int
    used: int
    nominated: int  # asked by others who already wait for a node
    request: int
    bound: int


def borrowed(quota: NamespaceQuota) -> Amounts:
    """What the namespace uses above its guarantee."""
    pairs = zip(quota.used, quota.guaranteed, strict=True)
    return tuple(max(0, used - guaranteed) for used, guaranteed in pairs)


def pool_sums(quotas: Sequence[NamespaceQuota], axes: int) -> PoolSums:
    """The sums over all namespaces, on that many axes. Cost: O(namespaces x axes)."""
    guaranteed = _sums([quota.guaranteed for quota in quotas], axes)
    used = _sums([quota.used for quota in quotas], axes)
    above = _sums([borrowed(quota) for quota in quotas], axes)
    # Unused = guaranteed - (used - borrowed): what is not borrowed is used from one's own.
    unused = (g - u + b for g, u, b in zip(guaranteed, used, above, strict=True))
    lent = tuple(map(min, above, unused))
    return PoolSums(guaranteed=guaranteed, used=used, borrowed=above, lent=lent)


def over_min(quota: NamespaceQuota) -> tuple[int, ...]:
    """The axes on which the namespace uses more than its guarantee."""
    return tuple(axis for axis, amount in enumerate(borrowed(quota)) if amount > 0)


def first_excess(
    used: Sequence[int],
    nominated: Sequence[int],
    request: Sequence[int],
    bounds: Sequence[int | None],
    axes: Iterable[int],
) -> Excess | None:
    """Return where used + nominated + request is more than the bound first; None: nowhere.

    Both rules are this one: of a namespace, with its own pods that wait for a node as *nominated*
    and its ceiling (or its guarantee) as bounds; of the pool, with everybody's. Only *axes* are
    looked at.
    """
    return next(excesses(used, nominated, request, bounds, axes), None)


def excesses(
    used: Sequence[int],
    nominated: Sequence[int],
    request: Sequence[int],
    bounds: Sequence[int | None],
    axes: Iterable[int],
) -> Iterator[Excess]:
    """Yield every place where used + nominated + request is more than the bound."""
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
    """Return whether used + more is above a bound on one of *axes*: `first_excess` in short."""
    for axis in axes:
        bound = bounds[axis]
        if bound is not None and used[axis] + more[axis] > bound:
            return True
    return False


def _sums(rows: Sequence[Sequence[int]], axes: int) -> Amounts:
    return tuple(map(sum, zip(*rows, strict=True))) if rows else (0,) * axes
