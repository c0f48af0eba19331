"""Who of those who wait may have a turn of which something comes, as the desk stands.

Most who wait are over their min, and nobody in their namespace is less important: they can take
from nobody. Whoever of them finds the pool exhausted, its max reached or too little room even once
all have left who are leaving, goes on waiting, and need not be asked. Pool and room are the same
for all who want the same, so they are looked at once for all of these.

Of those who may take from others, it is looked at whether these have enough at all: less important
pods of the same namespace, and for who is within its min the pods of all who borrow.

Who is nominated counts for nothing here. That can only make less room, so nobody is passed over of
whose turn something would come.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fairlead.model.axes import Limits, QueueName
from fairlead.policy.elastic_quota.incremental.relief import Reliefs
from fairlead.policy.elastic_quota.incremental.room_count import RoomCount
from fairlead.policy.elastic_quota.incremental.waiting_line import (
    Hope,
    Kind,
    KindLine,
    SameWants,
    WaitingLine,
)
from fairlead.policy.elastic_quota.incremental.wants import Want
from fairlead.policy.elastic_quota.nodes.holders import HolderIndex
from fairlead.policy.elastic_quota.quota.quota_books import QuotaBooks


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
        self._reliefs: Final = Reliefs(books, holders)
        self._nodes_at = -1

    def catch_up(self) -> None:
        """Judge the kinds that are new, and anew those of quotas whose use changed."""
        line, stirred = self._line, self._books.later.stirred
        queues: list[QueueName | None] = [*stirred, None]
        stirred.clear()
        if self._nodes_at != self._holders.nodes_moment():
            self._nodes_at = self._holders.nodes_moment()
            queues = [*self._books.guaranteed, None]  # pods may be on nodes that came
        for queue in queues:
            self._reliefs.forget(queue)
            for each in line.of_queue.get(queue, {}).values():
                self._judge(each)
        for each in line.unjudged:
            self._judge(each)
        line.unjudged.clear()

    def open_lines(self, group: SameWants) -> Iterable[KindLine]:
        """Return the lines of which somebody may have a turn that is not in vain."""
        if any(map(self._may_fit, group.wants)):
            return [each for each in group.lines.values() if each.hope != "over max"]
        return [each for each in group.claiming if self._may_gain(each.kind)]

    def _may_fit(self, want: Want) -> bool:
        """Return whether the pool and the nodes may have room for all that is wanted together."""
        return self._is_in_pool(want) and self._has_room(want)

    def _may_gain(self, kind: Kind) -> bool:
        """Return whether others may have enough that could be taken from them.

        Who must be near others is not judged: it may have a place only if not all of them leave.
        """
        return kind.needs_others or any(self._may_be_given(kind, want) for want in kind.wants)

    def _may_be_given(self, kind: Kind, want: Want) -> bool:
        queue = kind.queue
        own = self._reliefs.less_important(queue, kind.priority)
        if queue is None:
            return self._has_room(want, own.on_node)
        if not self._is_over(queue, want, self._books.guaranteed[queue]):
            return self._has_room(want, own.on_node, self._reliefs.of_borrowers().on_node)
        return (
            self._is_in_pool(want, own.charge)
            and not self._is_over(queue, want, self._books.ceiling[queue], own.charge)
            and self._has_room(want, own.on_node)
        )

    def _is_in_pool(self, want: Want, given: Sequence[int] | None = None) -> bool:
        used, bounds = self._books.later.pool, self._books.pool
        return not _exceeds(used, want, bounds, given)

    def _has_room(self, want: Want, *reliefs: Mapping[str, Sequence[int]]) -> bool:
        return all(self._room.is_enough(asked, pods, *reliefs) for asked, pods in want.pods)

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

    def _is_over(
        self, queue: QueueName, want: Want, bounds: Limits, given: Sequence[int] | None = None
    ) -> bool:
        return _exceeds(self._books.later.used[queue], want, bounds, given)


def _exceeds(used: Sequence[int], want: Want, bounds: Limits, given: Sequence[int] | None) -> bool:
    """Return whether what is used and wanted is above a bound, even if so much is *given* back."""
    for axis, amount in want.charge:
        bound = bounds[axis]
        back = 0 if given is None else given[axis]
        if bound is not None and used[axis] + amount - back > bound:
            return True
    return False
