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

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add
from typing import Final, NamedTuple

from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.incremental.pending_groups import (
    Hope,
    Kind,
    KindLine,
    SameWants,
    WaitingLine,
    Want,
)
from fairlead.policy.elastic_quota.nodes.running_pods import Holder, HolderIndex
from fairlead.policy.elastic_quota.quota.usage import QuotaBooks


class Relief(NamedTuple):
    """What holders have, those that may be asked all together."""

    charge: list[int]  # to their quotas
    on_node: dict[str, list[int]]


class Reliefs:
    """Follows the books and the holders of one state; what was asked for is kept."""

    def __init__(self, books: QuotaBooks, holders: HolderIndex) -> None:
        """Begin with nothing known."""
        self._books: Final = books
        self._holders: Final = holders
        self._in_queue: dict[QueueName | None, dict[int, Relief]] = {}
        self._of_borrowers: Relief | None = None

    def forget(self, queue: QueueName | None) -> None:
        """Look again at *queue*, because pods of it came or went; None: at those without quota."""
        self._in_queue.pop(queue, None)
        if queue is not None:
            self._of_borrowers = None

    def less_important(self, queue: QueueName | None, priority: int) -> Relief:
        """Return what pods of *queue* have that are less important than *priority*.

        Cost: the nodes where it has pods, once until it is to be forgotten.
        """
        known = self._in_queue.setdefault(queue, {})
        found = known.get(priority)
        if found is None:
            found = known[priority] = self._sum(
                self._holders.nodes_of(queue),
                lambda each: each.queue == queue and each.priority < priority,
            )
        return found

    def of_borrowers(self) -> Relief:
        """Return what pods of all quotas have that are over their min in anything.

        Cost: every holder, once until pods came or went.
        """
        if self._of_borrowers is None:
            is_over = self._books.later.is_over_min
            nodes = [node for _, _, node in self._holders.cheapest_first()]
            self._of_borrowers = self._sum(
                nodes, lambda each: each.queue is not None and is_over[each.queue]
            )
        return self._of_borrowers

    def _sum(self, nodes: Sequence[str], may_give: Callable[[Holder], bool]) -> Relief:
        charge = [0] * len(self._books.pool)
        on_node: dict[str, list[int]] = {}
        for node in nodes:
            for holder in self._holders.on(node):
                if may_give(holder):
                    charge = list(map(add, charge, holder.charge))
                    before = on_node.get(node)
                    on_node[node] = (
                        list(holder.requests)
                        if before is None
                        else list(map(add, before, holder.requests))
                    )
        return Relief(charge, on_node)


SIZES_REMEMBERED: Final = 256


class _Count:
    """The pods of one size that nodes have room for, as of one moment of the change log."""

    def __init__(self, requests: Amounts) -> None:
        self.needed = [(at, need) for at, need in enumerate(requests) if need > 0]
        self.on_node: dict[str, int] = {}
        self.total = 0
        self.read_at = 0


class RoomCount:
    """Counts on the nodes of one state, through all its changes."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state*."""
        self._state = state
        self._counts: dict[Amounts, _Count] = {}

    def is_enough(
        self, requests: Amounts, pods: int, *reliefs: Mapping[str, Sequence[int]]
    ) -> bool:
        """Return whether there may be room for so many pods that ask for *requests* each.

        That is with what *reliefs* have, by node, left to them too; what is in two, counts twice.

        Law: False means that there is none, whoever has been nominated and whatever they demand of
        nodes. Cost: the nodes that changed since the last such question, and those in *reliefs*.
        """
        count = self._counts.get(requests)
        if count is None:
            if len(self._counts) >= SIZES_REMEMBERED:
                self._counts.clear()
            count = self._counts[requests] = _Count(requests)
        changes = self._state.books.changes
        if count.read_at != changes.moment:
            for name in changes.since(count.read_at):
                self._read(count, name)
            count.read_at = changes.moment
        if not count.needed or count.total >= pods:
            return True
        return bool(reliefs) and count.total + self._more(count, reliefs) >= pods

    def _more(self, count: _Count, reliefs: Sequence[Mapping[str, Sequence[int]]]) -> int:
        more = 0
        for name in {name for each in reliefs for name in each}:
            given = [each[name] for each in reliefs if name in each]
            more += self._pods_on(count, name, given) - count.on_node.get(name, 0)
        return more

    def _read(self, count: _Count, name: str) -> None:
        before = count.on_node.pop(name, 0)
        now = self._pods_on(count, name)
        if now:
            count.on_node[name] = now
        count.total += now - before

    def _pods_on(self, count: _Count, name: str, given: Sequence[Sequence[int]] = ()) -> int:
        node = self._state.nodes.get(name)
        if node is None or not count.needed:
            return 0
        use, occupied = self._state.books.use(name), self._state.books.occupied(name)
        sizes, held, leaving = node.allocatable, use.held, use.leaving
        taken, released = occupied.held, occupied.leaving
        found = None
        for at, need in count.needed:
            free = sizes[at] - taken[at] - held[at] + leaving[at] + released[at]
            for each in given:
                free += each[at]
            fitting = free // need
            if found is None or fitting < found:
                found = fitting
        return found if found is not None and found > 0 else 0


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
