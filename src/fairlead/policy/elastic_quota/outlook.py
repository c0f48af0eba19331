"""Who of those who wait may have a turn of which something comes, as the desk stands.

Most who wait are over their min, and nobody in their namespace is less important: they can take
from nobody. Whoever of them finds the pool exhausted, its max reached or too little room even once
all have left who are leaving, goes on waiting, and need not be asked. Pool and room are the same
for all who want the same, so they are looked at once for all of these.

Who is nominated counts for nothing here. That can only make less room, so nobody is passed over of
whose turn something would come.
"""

from collections.abc import Iterable
from typing import Final

from fairlead.model.axes import Limits, QueueName
from fairlead.policy.elastic_quota.holders import HolderIndex
from fairlead.policy.elastic_quota.quota_books import QuotaBooks
from fairlead.policy.elastic_quota.room_count import RoomCount
from fairlead.policy.elastic_quota.waiting_line import Hope, Kind, KindLine, SameWants, WaitingLine
from fairlead.policy.elastic_quota.wants import Want


class Outlook:
    """Follows the books and the holders of one state, for all kinds that wait there."""

    def __init__(
        self, line: WaitingLine, books: QuotaBooks, holders: HolderIndex, room: RoomCount
    ) -> None:
        """Look at those in *line*."""
        self._line: Final = line
        self._books: Final = books
        self._holders: Final = holders
        self._room: Final = room

    def catch_up(self) -> None:
        """Judge the kinds that are new, and anew those of quotas whose use changed."""
        line, stirred = self._line, self._books.later.stirred
        for each in line.unjudged:
            self._judge(each)
        line.unjudged.clear()
        queues: list[QueueName | None] = [*stirred, None]
        stirred.clear()
        for queue in queues:
            for each in line.of_queue.get(queue, {}).values():
                self._judge(each)

    def open_lines(self, group: SameWants) -> Iterable[KindLine]:
        """Return the lines of which somebody may have a turn that is not in vain."""
        if any(map(self._may_fit, group.wants)):
            return [each for each in group.lines.values() if each.hope != "over max"]
        return group.claiming

    def _may_fit(self, want: Want) -> bool:
        """Return whether the pool and the nodes may have room for all that is wanted together."""
        used, bounds = self._books.later.pool, self._books.pool
        for axis, amount in want.charge:
            if used[axis] + amount > bounds[axis]:
                return False
        return all(self._room.is_enough(requests, pods) for requests, pods in want.pods)

    def _judge(self, line: KindLine) -> None:
        line.hope = self._hope(line.kind)
        claiming = self._line.groups[line.kind.wants].claiming
        if line.hope == "may claim":
            claiming[line] = None
        else:
            claiming.pop(line, None)

    def _hope(self, kind: Kind) -> Hope:
        if self._may_claim(kind):
            return "may claim"
        if kind.queue is None:
            return "may fit"
        ceiling = self._books.ceiling[kind.queue]
        is_over = [self._is_over(kind.queue, want, ceiling) for want in kind.wants]
        return "over max" if all(is_over) else "may fit"

    def _may_claim(self, kind: Kind) -> bool:
        """Return whether there may be somebody to take from: by importance, or back from others."""
        if kind.never_preempts:
            return False
        lowest = self._holders.lowest_priority(kind.queue)
        if lowest is not None and lowest < kind.priority:
            return True
        if kind.queue is None:
            return False
        least = self._books.guaranteed[kind.queue]
        return not all(self._is_over(kind.queue, want, least) for want in kind.wants)

    def _is_over(self, queue: QueueName, want: Want, bounds: Limits) -> bool:
        used = self._books.later.used[queue]
        for axis, amount in want.charge:
            bound = bounds[axis]
            if bound is not None and used[axis] + amount > bound:
                return True
        return False
