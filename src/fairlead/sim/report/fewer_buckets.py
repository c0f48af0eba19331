"""Many buckets of a series as few: each is the sum of neighbours, so that nothing is lost."""

from collections.abc import Sequence


def fewer_buckets(column: Sequence[int], together: int) -> list[int]:
    """Make one bucket of each *together* neighbours; the last may have fewer.

    Law: the sum stays the same, exactly. Cost: linear.
    """
    assert together > 0
    if together == 1:
        return list(column)
    return [sum(column[at : at + together]) for at in range(0, len(column), together)]


def how_many_together(buckets: int, most: int) -> int:
    """How many neighbours must become one so that at most *most* buckets remain."""
    assert most > 0
    return max(1, -(-buckets // most))
