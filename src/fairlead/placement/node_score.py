"""How good a node is for a pod, in the points that users of Kubernetes' default scheduler expect.

Two scores are added, each from 0 to 100 and of equal weight: how full the node is with the pod on
it, the less the better or the more the better, and how evenly cpu and memory are used then. Which
pods count, and where there is room, is not decided here.

The peer cuts each score down to whole points and throws dice among nodes that are equal then. On a
large node a small pod is less than a point, so among equals we go on comparing in millionths of a
point. Whole points come first: the order is the peer's, only finer, and the best node is always
one of those among which the peer throws its dice. (Comparing nothing but millionths would not do:
50.9 + 50.9 is more than 51.0 + 50.0, and is less to the peer.) The peer works the balance out in
floats, which may miss a whole point by a rounding; ours is exact.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

Scoring: TypeAlias = Literal["LeastAllocated", "MostAllocated"]
"""Whether emptier nodes are better, or fuller ones."""

Fill: TypeAlias = tuple[int, int]
"""Of one resource of a node: what is used once the pod is there, and what there is."""

POINT: Final = 10**6  # in millionths
FULL: Final = 100 * POINT
WHOLE_POINT: Final = 10**9  # what a point is worth in a score: more than all millionths of it
ABOVE_ALL_SCORES: Final = 10**12


def node_score(fit: Sequence[Fill], balance: Sequence[Fill] | None, scoring: Scoring) -> int:
    """Return a number that is higher for a better node, from 0 to below `ABOVE_ALL_SCORES`.

    It is the sum of both scores in points, times `WHOLE_POINT`, plus their sum in millionths. Law:
    whoever has more points with the peer has more here. No *balance*: the pod asks for none of its
    resources, so it has no part in that. Cost: a few divisions for each resource.
    """
    points, millionths = fit_score(fit, scoring)
    if balance is not None:
        even = balance_score(balance)
        points += even // POINT
        millionths += even
    return points * WHOLE_POINT + millionths


def fit_score(fit: Sequence[Fill], scoring: Scoring) -> tuple[int, int]:
    """Return which part is free, or used, on average: in points, and in millionths of a point.

    Each resource is cut down to whole points (or millionths), then their mean is. A resource that
    the node has none of is left out. What is used beyond what there is, because pods that ask for
    nothing are taken to use something, is as good as full.
    """
    points = millionths = count = 0
    for used, size in fit:
        if size:
            used = min(used, size)
            part = FULL * (used if scoring == "MostAllocated" else size - used) // size
            points += part // POINT
            millionths += part
            count += 1
    return (points // count, millionths // count) if count else (0, 0)


def balance_score(balance: Sequence[Fill]) -> int:
    """Return 100 points less the standard deviation of the used parts, in millionths, cut down.

    For two resources the deviation is half of the difference; one or none cannot be uneven.
    """
    sized = [(min(used, size), size) for used, size in balance if size]
    assert len(sized) <= 2, "the balance is that of cpu and memory"
    if len(sized) < 2:
        return FULL
    (used, size), (other_used, other_size) = sized
    whole = 2 * size * other_size
    return FULL * (whole - abs(used * other_size - other_used * size)) // whole
