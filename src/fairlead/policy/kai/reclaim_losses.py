"""What queues lose when jobs give way, cut into the pieces that are judged one by one.

A job that has more pods than it needs gives them up singly; below its minimum it cannot run, so the
pods of its minimum go together. The order of the pieces matters: each is judged by what the ones
before it have left.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.model.axes import Amounts, QueueName


class Loss(NamedTuple):
    """What the queue of a victim loses at once, on the quota axes."""

    queue: QueueName
    amounts: Amounts


def losses_of(queue: QueueName, evicted: Sequence[Amounts], minimum: int) -> list[Loss]:
    """Return what *queue* loses by the eviction of pods of one job, in the order of judging.

    *evicted* has what each pod is charged, in the order in which they were evicted; a pod that has
    found another place is not among them. Those after the first *minimum* go one by one, then
    those go together. The losses sum to the charges.
    """
    losses = [Loss(queue, charge) for charge in evicted[minimum:]]
    together = evicted[:minimum]
    if together:
        losses.append(Loss(queue, tuple(map(sum, zip(*together, strict=True)))))
    return losses
