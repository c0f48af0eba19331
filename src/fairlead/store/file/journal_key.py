"""The one number by which the journal is sorted: the time, and a counter within a millisecond.

SQLite writes small numbers in few bytes. Counted from 2026, keys take seven bytes until 2030 and
eight for long after; older moments are negative and take nine.
"""

from typing import Final

EPOCH_MS: Final = 1_767_225_600_000  # the beginning of 2026
COUNTER_BITS: Final = 12


def first_key(at_ms: int) -> int:
    """The smallest key of a moment; all keys of earlier moments are smaller."""
    return (at_ms - EPOCH_MS) << COUNTER_BITS


def moment_of(key: int) -> int:
    """The moment of a key, in milliseconds."""
    return (key >> COUNTER_BITS) + EPOCH_MS
