"""What queues used so far in a simulation, published to its state from time to time.

The ledger is that of a real cluster: it takes an entry for each change and is asked at the interval
at which a scheduler would fetch its numbers.
"""

from typing import NamedTuple

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.events import UsageChanged
from fairlead.model.state import ClusterState
from fairlead.store.feed.usage_vector import counted_tree, usage_on_axes
from fairlead.usage.entries import Capacity, Entry, Guarantee, Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import MINUTE_MS, UsageRules


class UsageInterest(NamedTuple):
    """Which past use counts, and how often a scheduler asks for it."""

    rules: UsageRules
    every_ms: int = MINUTE_MS


class PastUse:
    """The ledger of one simulation."""

    def __init__(
        self, state: ClusterState, interest: UsageInterest, history: tuple[Entry, ...] = ()
    ) -> None:
        """Begin with *history*, all of it before the simulation."""
        self.every_ms = interest.every_ms
        self._state = state
        self._charge = interest.rules.charge
        self._axes = [axis.resource for axis in state.axes.axes]
        self._ledger = Ledger.by(tuple(self._axes), interest.rules)
        self._capacity: Amounts | None = None
        self._held: dict[QueueName, Amounts] = {}
        for entry in history:
            self._ledger.take(entry)

    def begin(self, now_ms: int) -> None:
        """Record the capacity, and what each queue is guaranteed and holds."""
        for name, queue in sorted(self._state.queues.items()):
            if not self._state.children(name):
                guaranteed = Guarantee(at_ms=now_ms, queue=name, amounts=queue.guaranteed)
                self._ledger.take(guaranteed)
            self.write(now_ms, name)
        self.write_capacity(now_ms)

    def write(self, now_ms: int, queue: QueueName) -> None:
        """Write down what *queue* holds from now on. Cost: the queues just below it."""
        if queue not in self._state.sums:
            return
        held = self._whole(queue)
        for below in self._state.children(queue):
            held = tuple(map(int.__sub__, held, self._whole(below)))
        if held != self._held.get(queue):
            self._held[queue] = held
            self._ledger.take(Held(at_ms=now_ms, queue=queue, amounts=held))

    def write_capacity(self, now_ms: int) -> None:
        """Write down how large the cluster is from now on."""
        total = self._state.total()
        if total != self._capacity:
            self._capacity = total
            self._ledger.take(Capacity(at_ms=now_ms, amounts=total))

    def publish(self, now_ms: int) -> None:
        """Let the state know what counts now. Cost: O(queues times depth)."""
        parents = {name: queue.parent for name, queue in self._state.queues.items()}
        tree = counted_tree(parents, frozenset(), self._charge)
        usage = usage_on_axes(self._ledger, now_ms, self._axes, tree)
        if usage != self._state.usage:
            self._state.apply(UsageChanged(usage))

    def _whole(self, queue: QueueName) -> Amounts:
        sums = self._state.sums[queue]
        return tuple(map(int.__add__, sums.allocated, sums.leaving))
