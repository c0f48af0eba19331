"""What use comes to, worked out the slow way, to compare the ledger with."""

from collections.abc import Sequence
from decimal import Decimal, localcontext

Changes = Sequence[tuple[int, int]]  # (at_ms, level), in the order of time


def level_at(changes: Changes, at_ms: int) -> int:
    """The last level that was set not after *at_ms*."""
    return next((level for changed_ms, level in reversed(changes) if changed_ms <= at_ms), 0)


def integral(changes: Changes, begin_ms: int, now_ms: int, half_life_ms: int | None) -> Decimal:
    """The integral of level times decay, stretch by stretch, to fifty digits."""
    with localcontext() as context:
        context.prec = 50
        total = Decimal(0)
        ends = [at_ms for at_ms, _ in changes[1:]] + [now_ms]
        for (at_ms, level), end_ms in zip(changes, ends, strict=True):
            first_ms, last_ms = max(at_ms, begin_ms), min(end_ms, now_ms)
            if first_ms < last_ms:
                total += level * _stretch(now_ms - first_ms, now_ms - last_ms, half_life_ms)
        return total


def _stretch(oldest_ms: int, youngest_ms: int, half_life_ms: int | None) -> Decimal:
    if half_life_ms is None:
        return Decimal(oldest_ms - youngest_ms)
    factor = half_life_ms / Decimal(2).ln()
    return factor * (_left(youngest_ms, half_life_ms) - _left(oldest_ms, half_life_ms))


def _left(age_ms: int, half_life_ms: int | None) -> Decimal:
    if half_life_ms is None:
        return Decimal(1)
    return Decimal(2) ** (-Decimal(age_ms) / half_life_ms)


def sampled(
    changes: Changes, begin_ms: int, now_ms: int, half_life_ms: int | None, resolution_ms: int
) -> Decimal:
    """Sample by sample after the beginning, up to and with now; each stands for a resolution."""
    with localcontext() as context:
        context.prec = 50
        first_ms = (begin_ms // resolution_ms + 1) * resolution_ms
        return sum(
            (
                level_at(changes, at_ms) * _left(now_ms - at_ms, half_life_ms) * resolution_ms
                for at_ms in range(first_ms, now_ms + 1, resolution_ms)
            ),
            Decimal(0),
        )
