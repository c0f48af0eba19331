"""Compares what queues get with what is due to them, from one change to the next.

Everything is judged by what is after all that happened at one time, so the order in which things of
the same millisecond are told changes nothing.
"""

from collections.abc import Collection

from fairlead.sim.measures.backlogged_time import BackloggedTime
from fairlead.sim.measures.level_table import LevelTable
from fairlead.sim.measures.queue_books import QueueBooks
from fairlead.sim.measures.time_to_fairness import TimeToFairness


class ContendedTime:
    """One resource of the cluster: when all together asked for more of it than there is."""

    def __init__(self) -> None:
        """There is enough for all at first."""
        self.span_ms = 0
        self.contentions = 0
        self.to_fairness = TimeToFairness()
        self.since_ms: int | None = None  # None: there is enough now
        self._judged: list[BackloggedTime] = []  # whoever was backlogged since then

    def begin(self, at_ms: int) -> None:
        """From now on there is not enough: nobody has been wronged yet."""
        self.contentions += 1
        self.since_ms = at_ms

    def judge(self, at_ms: int, backlog: BackloggedTime) -> None:
        """Watch whether a queue is treated fairly, which is backlogged from now on."""
        assert self.since_ms is not None
        if not backlog.is_judged:
            backlog.begin_contention(at_ms, self.since_ms)
            self._judged.append(backlog)

    def end(self, at_ms: int) -> None:
        """From now on there is enough. All together were treated fairly when all leaves were."""
        assert self.since_ms is not None
        self.span_ms += at_ms - self.since_ms
        self.since_ms = None
        took_ms: int | None = 0
        for backlog in self._judged:
            own_ms = backlog.end_contention(at_ms)
            if backlog.is_leaf and took_ms is not None:
                took_ms = None if own_ms is None else max(took_ms, own_ms)
        self.to_fairness.note(took_ms)
        self._judged.clear()


class FairnessWatch:
    """Is told whenever something changed, and writes into the books of the queues."""

    def __init__(self, books: QueueBooks, capacity: LevelTable) -> None:
        """Watch *books*, which others keep up to date, as they do *capacity*."""
        self._books = books
        self._capacity = capacity
        self.contended = [ContendedTime() for _ in capacity.levels]
        self._open: list[dict[int, BackloggedTime]] = [{} for _ in capacity.levels]  # by queue
        self._capacity_then = [0] * len(self.contended)

    def look(self, at_ms: int, queues: Collection[int]) -> None:
        """Judge the time until now, and go on from what the books say of *queues*.

        Of all others they say the same as before. Cost: *queues* x resources; where contention
        begins or ends, or capacity changes, also all that are backlogged.
        """
        for resource, contended in enumerate(self.contended):
            changed = self._changed(resource, queues)
            for backlog in changed.values():
                backlog.pass_until(at_ms)
            is_contended = self._is_contended(resource)
            if contended.since_ms is not None and not is_contended:
                contended.end(at_ms)
            for index, backlog in changed.items():
                self._go_on(at_ms, resource, index, backlog)
            judged = changed
            if contended.since_ms is None and is_contended:
                contended.begin(at_ms)
                judged = self._open[resource]
            if is_contended:
                for backlog in judged.values():
                    if backlog.is_open:
                        contended.judge(at_ms, backlog)

    def end(self, at_ms: int) -> None:
        """Judge the time until now, which is the end of everything."""
        for contended, backlogs in zip(self.contended, self._open, strict=True):
            for backlog in backlogs.values():
                backlog.pass_until(at_ms)
            if contended.since_ms is not None:
                contended.end(at_ms)

    def _changed(self, resource: int, queues: Collection[int]) -> dict[int, BackloggedTime]:
        """Return whoever is in another way than before, by its place."""
        capacity = self._capacity.levels[resource][0]
        books = self._books
        changed: dict[int, BackloggedTime] = {}
        if capacity != self._capacity_then[resource]:
            self._capacity_then[resource] = capacity
            changed.update(self._open[resource])
        held, due, wanted = (
            table.levels[resource]
            for table in (books.held, books.entitled.table, books.demand.table)
        )
        for index in queues:
            backlog = books.all[index].backlogs[resource]
            is_open = wanted[index] > held[index]
            if backlog.differs(held[index], due[index], is_open=is_open):
                changed[index] = backlog
        return changed

    def _go_on(self, at_ms: int, resource: int, index: int, backlog: BackloggedTime) -> None:
        """Let a queue be backlogged or not, as its book says."""
        books = self._books
        held = books.held.levels[resource][index]
        if books.demand.table.levels[resource][index] > held:
            due = books.entitled.table.levels[resource][index]
            backlog.open(at_ms, held, due, self._capacity_then[resource])
            self._open[resource][index] = backlog
        else:
            backlog.is_open = False
            self._open[resource].pop(index, None)

    def _is_contended(self, resource: int) -> bool:
        demand = self._books.demand.table.levels[resource]
        wanted = sum([demand[top.index] for top in self._books.tops])
        return wanted > self._capacity_then[resource]
