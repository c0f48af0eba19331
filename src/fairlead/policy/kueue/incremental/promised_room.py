"""What is promised in one tree, counted as used before those have left who make room for it."""

from fairlead.model.axes import QueueName
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.cycle.promises import promised_holder
from fairlead.policy.kueue.snapshot.snapshot import Snapshot


class PromisedRoom:
    """The turns of those who wait for others to leave, at most one for each ClusterQueue."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Promise nothing yet; *snapshot* counts what is promised later."""
        self.turns: dict[QueueName, Turn] = {}
        self._snapshot = snapshot
        self._places = {name: at for at, name in enumerate(snapshot.rules)}

    def keep(self, turn: Turn) -> None:
        """Promise what *turn* keeps."""
        queue = turn.nomination.waiting.queue
        assert queue not in self.turns, f"{queue} has promised something already"
        self.turns[queue] = turn
        self._snapshot.admit(promised_holder(turn))

    def drop(self, queue: QueueName) -> Turn:
        """Promise nothing in *queue* any more; return what was."""
        turn = self.turns.pop(queue)
        self._snapshot.let_leave(promised_holder(turn))
        return turn

    def in_order(self) -> list[Turn]:
        """Return what is promised, in the order of the queues."""
        return [self.turns[queue] for queue in sorted(self.turns, key=self._places.__getitem__)]

    def too_much(self) -> list[Turn]:
        """Give up what cannot be kept, and return it; who comes first keeps what it can.

        If nobody lacks anything with all of them, each had room when its turn came. Cost: the
        depth for each that is promised.
        """
        tree = self._snapshot.tree
        if not self.turns or all(
            tree.available_on(queue, axis) >= 0
            for queue, turn in self.turns.items()
            for axis, _ in turn.kept
        ):
            return []
        promised = self.in_order()
        for turn in promised:
            self.drop(turn.nomination.waiting.queue)
        lost = []
        for turn in promised:
            if self._snapshot.fits(turn.nomination.waiting.queue, turn.kept):
                self.keep(turn)
            else:
                lost.append(turn)
        return lost
