"""How past usage fades: it loses half its weight with every half-life.

Besides weighted dominant shares, which are only compared, no amount meets a float elsewhere. The
power of two is rounded to a whole number of 2**-48 before it touches the amount, so that the last
bit of a platform's mathematics library cannot change what a replay decides.
"""

from math import exp2, ldexp

FRACTION_BITS = 48  # five bits short of a float's precision; relative error below 2**-48


def decay_factor(age_ms: int, half_life_ms: int | None) -> float:
    """The part of an amount that is left after *age_ms*; 1.0 without a half-life."""
    assert age_ms >= 0
    if half_life_ms is None:
        return 1.0
    assert half_life_ms > 0
    return exp2(-(age_ms / half_life_ms))


def decayed(amount: int, age_ms: int, half_life_ms: int | None) -> int:
    """What is left of *amount* after *age_ms*, to the nearest whole unit, halves up.

    Whole half-lives are exact. Older is never more, and decaying in two steps differs from
    decaying in one by at most two units and amount / 2**46.
    """
    assert amount >= 0
    assert age_ms >= 0
    if half_life_ms is None:
        return amount
    half_lives, rest_ms = divmod(age_ms, half_life_ms)
    if half_lives > amount.bit_length():
        return 0  # less than half a unit; and no shift by an astronomical age
    factor = round(ldexp(decay_factor(rest_ms, half_life_ms), FRACTION_BITS))
    shift = FRACTION_BITS + half_lives
    return (amount * factor + (1 << (shift - 1))) >> shift
