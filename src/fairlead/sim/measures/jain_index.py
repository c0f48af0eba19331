"""One number for how evenly something is spread: Jain's index, with weights."""

from collections.abc import Sequence
from math import fsum


def jain_index(received: Sequence[int], due: Sequence[int]) -> float | None:
    """How even *received* / *due* is: 1 is even, and p is all for one that was due a part p of all.

    Everybody counts by what was due to it: ``(sum w x)^2 / (sum w * sum w x^2)`` with x = received
    / due and w = due. Where the same is due to all n, that is Jain's index, and 1/n is all for one.
    So who was due next to nothing changes next to nothing, whatever it received.

    What is due is above 0. None for fewer than two, which cannot be uneven, and where nobody
    received anything. The order does not matter, down to the last bit.
    """
    squares = fsum(each * each / own for each, own in zip(received, due, strict=True))
    if len(received) < 2 or squares == 0:
        return None
    whole = sum(received)
    return whole * whole / sum(due) / squares
