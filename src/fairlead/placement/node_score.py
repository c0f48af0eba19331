"""How good a node is for a pod, in the points of Kubernetes' default scheduler.

Two scores are added, each from 0 to 100 and of equal weight: how full the node is with the pod on
it, where either less or more is better, and how evenly cpu and memory are used then. Which pods
count, and where there is room, is not decided here.

The peer rounds each score down to whole points and chooses at random among equal nodes. On a large
node a small pod is less than a point, so among equals we compare millionths of a point. Whole
points come first: the order is the peer's, only finer, and the best node is always one among which
the peer chooses. (Millionths alone would not do: 50.9 + 50.9 is more than 51.0 + 50.0, but less for
the peer.) The peer computes the balance in floats, which may miss a whole point by rounding; ours
is exact.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

Scoring: TypeAlias = Literal["LeastAllocated", "MostAllocated"]
"""Whether emptier nodes are better, or fuller ones."""

Fill: TypeAlias = tuple[int, int]
"""Of one resource of a node: what is used once the pod is there, and the capacity."""

POINT: Final = 10**6  # in millionths
FULL: Final = 100 * POINT
WHOLE_POINT: Final = 10**9  # a point in a score: more than all millionths of it
ABOVE_ALL_SCORES: Final = 10**12


def node_score(fit: Sequence[Fill], balance: Sequence[Fill] | None, scoring: Scoring) -> int:
    """Return a number that is higher for a better node, from 0 to below `ABOVE_ALL_SCORES`.

    It is the sum of both scores in points, times `WHOLE_POINT`, plus their sum in millionths. Law:
    a node with more points for the peer has a higher number. Without *balance* the pod requests
    neither of its resources, and that score is left out. Cost: a few divisions for each resource.
    """
    points, millionths = fit_score(fit, scoring)
    if balance is not None:
        even = balance_score(balance)
        points += even // POINT
        millionths += even
    return points * WHOLE_POINT + millionths


def fit_score(fit: Sequence[Fill], scoring: Scoring) -> tuple[int, int]:
    """Return the mean part that is free, or used, in points and in millionths of a point.

    Each resource is rounded down to whole points (or millionths), then their mean is. A resource
    that the node does not have is left out. Usage beyond the capacity, which assumed requests can
    cause, counts as full.
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
    """Return 100 points less the standard deviation of the used parts, in millionths, rounded down.

    For two resources the deviation is half of the difference; one or none cannot be uneven.
    """
    sized = [(min(used, size), size) for used, size in balance if size]
    assert len(sized) <= 2, "the balance is that of cpu and memory"
    if len(sized) < 2:
        return FULL
    (used, size), (other_used, other_size) = sized
    whole = 2 * size * other_size
    return FULL * (whole - abs(used * other_size - other_used * size)) // whole
