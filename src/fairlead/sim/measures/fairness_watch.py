"""Compares what queues get with what is due to them, from one sample to the next.

A sample holds from its time until the time of the next one. Who is backlogged is judged by what is
held after everything that happened at the sample's time, so the order in which things of the same
millisecond are told changes nothing.
"""

from collections.abc import Sequence

from fairlead.sim.measures.backlogged_time import BackloggedTime
from fairlead.sim.measures.entitlement_sample import EntitlementSample
from fairlead.sim.measures.level_table import LevelTable
from fairlead.sim.measures.queue_books import QueueBooks
from fairlead.sim.measures.time_to_fairness import TimeToFairness


class ContendedTime:
    """One resource of the cluster: when all together asked for more of it than there is."""

    def __init__(self) -> None:
        """There is enough for all at first."""
        self.span_ms = 0
        self.to_fairness = TimeToFairness()
        self.since_ms: int | None = None
        self.unfair_leaves = 0  # at the last look

    def look(self, at_ms: int, backlog: BackloggedTime, *, is_leaf: bool) -> None:
        """Note whether a queue is treated fairly now."""
        is_fair = backlog.is_fair()
        if is_leaf:
            self.unfair_leaves += backlog.to_fairness.is_fair - is_fair
        backlog.to_fairness.look(at_ms, is_fair=is_fair)


class FairnessWatch:
    """Takes samples in the order of time and writes into the books of the queues."""

    def __init__(self, books: QueueBooks, capacity: LevelTable) -> None:
        """Watch *books*, which others keep up to date, as they do *capacity*."""
        self._books = books
        self._capacity = capacity
        self.contended = [ContendedTime() for _ in capacity.levels]

    def take(self, sample: EntitlementSample) -> None:
        """Judge the time until now, and begin anew by *sample*.

        Everything that happened until the sample's time has been told, and nothing later. Cost:
        queues x resources.
        """
        at_ms = sample.at_ms
        books = self._books
        entitled, demand = books.rows(sample.entitled), books.rows(sample.demand)
        books.entitled.set_all(at_ms, entitled)
        books.fair_share.set_all(at_ms, books.rows(sample.fair_share))
        books.usage_e9.set_all(at_ms, books.rows(sample.usage_e9))
        for book in books.all:
            book.is_backlogged = False
        for resource in range(len(self.contended)):
            held = books.held.totals(at_ms, resource)
            self._judge(at_ms, resource, held)
            wanted = sum(demand[resource][top.index] for top in books.tops)
            self._contend(at_ms, resource, wanted)
            self._open(at_ms, resource, held, entitled[resource], demand[resource])

    def end(self, at_ms: int) -> None:
        """Judge the time until now, which is the end of everything."""
        for resource in range(len(self.contended)):
            self._judge(at_ms, resource, self._books.held.totals(at_ms, resource))
            self._contend(at_ms, resource, 0)

    def _open(
        self,
        at_ms: int,
        resource: int,
        held: Sequence[int],
        entitled: Sequence[int],
        demand: Sequence[int],
    ) -> None:
        """Let those be backlogged that ask for more than they hold; *held* is resource-time."""
        levels = self._books.held.levels[resource]
        capacity = self._capacity.total(at_ms, resource, 0)
        for book, wanted, level in zip(self._books.all, demand, levels, strict=True):
            if wanted > level:
                book.is_backlogged = True
                index = book.index
                book.backlogs[resource].open(at_ms, entitled[index], held[index], capacity)

    def _judge(self, at_ms: int, resource: int, held: Sequence[int]) -> None:
        """End the time of those that are backlogged, and look who is treated fairly.

        Whoever is not backlogged gets neither nearer to its share nor further from it, so what was
        found at the last look still holds.
        """
        contended = self.contended[resource]
        capacity = self._capacity.total(at_ms, resource, 0)
        for book in self._books.all:
            backlog = book.backlogs[resource]
            if backlog.is_open:
                backlog.close(at_ms, held[book.index], capacity)
                if contended.since_ms is not None:
                    contended.look(at_ms, backlog, is_leaf=not book.children)
        if contended.since_ms is not None:
            contended.to_fairness.look(at_ms, is_fair=contended.unfair_leaves == 0)

    def _contend(self, at_ms: int, resource: int, wanted: int) -> None:
        """Begin or end contention for a resource of which all together want so much."""
        contended = self.contended[resource]
        was_contended = contended.since_ms is not None
        if contended.since_ms is not None:
            contended.span_ms += at_ms - contended.since_ms
        is_contended = wanted > self._capacity.levels[resource][0]
        contended.since_ms = at_ms if is_contended else None
        if is_contended and not was_contended:
            contended.to_fairness.begin(at_ms)
            contended.unfair_leaves = 0
            for book in self._books.all:
                book.backlogs[resource].begin_contention(at_ms)
        if was_contended and not is_contended:
            contended.to_fairness.end()
            for book in self._books.all:
                book.backlogs[resource].to_fairness.end()
