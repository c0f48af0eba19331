"""What queues lose when jobs give way, cut into the pieces that are judged one by one.

A job that has more pods than it needs gives them up singly; below its minimum it cannot run, so the
pods of its minimum go together. The order of the pieces matters: each is judged by what the ones
before it have left.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from fairlead.model.axes import Amounts, QueueName

T = TypeVar("T")


class Loss(NamedTuple):
    """What the queue of a victim loses at once, on the quota axes."""

    queue: QueueName
    amounts: Amounts


def losses_of(queue: QueueName, evicted: Sequence[Amounts], minimum: int) -> list[Loss]:
    """Return what *queue* loses by the eviction of pods of one job, in the order of judging.

    *evicted* has what each pod is charged, in the order in which they were evicted; a pod that has
    found another place is not among them. The losses sum to the charges.
    """
    return [
        Loss(queue, tuple(map(sum, zip(*piece, strict=True))))
        for piece in in_pieces(evicted, minimum)
    ]


def in_pieces(evicted: Sequence[T], minimum: int) -> list[Sequence[T]]:
    """Return what goes at once: those after the first *minimum* one by one, then those together."""
    singly = [[each] for each in evicted[minimum:]]
    together = evicted[:minimum]
    return [*singly, together] if together else [*singly]
