"""Two to the power of a fraction, in whole numbers.

Decay over many events adds and subtracts numbers that are almost equal. A float would lose there
what it has, and its last bits depend on the machine; these seventy-two bits do not.
"""

POWER_BITS = 72
LN2 = 0xB17217F7D1CF79ABCA  # ln 2 as a whole number of 2**-72

_WORK_BITS = 112
_LN2_WORK = 0xB17217F7D1CF79ABC9E3B39803F2
_HALVINGS = 8  # the series converges fast near 0; squaring undoes each halving
_TERMS = 10


def power_of_two(part: int, whole: int) -> int:
    """2 ** (part / whole) for 0 <= part < whole, as a whole number of 2**-72, within one of them.

    Never less for a larger part. Cost: 18 multiplications of 112 bits.
    """
    assert 0 <= part < whole
    exponent = (part * _LN2_WORK // whole) >> _HALVINGS
    term = power = 1 << _WORK_BITS
    for place in range(1, _TERMS + 1):
        term = (term * exponent >> _WORK_BITS) // place
        power += term
    for _ in range(_HALVINGS):
        power = power * power >> _WORK_BITS
    return power >> (_WORK_BITS - POWER_BITS)
