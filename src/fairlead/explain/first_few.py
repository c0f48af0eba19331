"""Names in a sentence or a row: the first few, and how many more there are."""

from collections.abc import Sequence

MOST_NAMES = 3


def first_few(names: Sequence[str]) -> str:
    """Return at most `MOST_NAMES` of *names*, then ``and 5 more``."""
    left_out = len(names) - MOST_NAMES
    return ", ".join([*names[:MOST_NAMES], *([f"and {left_out} more"] if left_out > 0 else ())])
