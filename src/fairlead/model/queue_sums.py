"""What a queue and everything below it holds and wants, added up."""

from operator import neg

import msgspec


class QueueSums(msgspec.Struct):
    """Sums over a queue and everything below it.

    ``allocated``, ``non_preemptible`` and ``leaving`` are on the quota axes; ``pending`` is on the
    resources, because what waits has no flavor yet. Pods that are leaving are in ``leaving`` only.
    """

    allocated: list[int]
    non_preemptible: list[int]
    leaving: list[int]
    pending: list[int]

    @classmethod
    def zero(cls, axes: int, resources: int) -> "QueueSums":
        """Return the sums of a queue with nothing in it."""
        return cls([0] * axes, [0] * axes, [0] * axes, [0] * resources)

    def vectors(self) -> tuple[list[int], ...]:
        """Return the four vectors, always in this order."""
        return (self.allocated, self.non_preemptible, self.leaving, self.pending)

    def include(self, more: "QueueSums") -> None:
        """Add *more*, in place."""
        for vector, amounts in zip(self.vectors(), more.vectors(), strict=True):
            vector[:] = map(sum, zip(vector, amounts, strict=True))

    def negative(self) -> "QueueSums":
        """Return the sums that take these away."""
        return QueueSums(*(list(map(neg, vector)) for vector in self.vectors()))
