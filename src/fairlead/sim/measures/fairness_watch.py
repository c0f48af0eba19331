"""Compares what queues get with what is due to them, from one change to the next.

Everything is judged by what is after all that happened at one time, so the order in which things of
the same millisecond come changes nothing.
"""

from collections.abc import Collection

from fairlead.sim.measures.backlogged_time import BackloggedTime, TimeToFairness
from fairlead.sim.measures.queue_books import LevelTable, QueueBooks


class ContendedTime:
    """One resource of the cluster: when all together asked for more of it than there is."""

    def __init__(self) -> None:
        """There is enough for all at first."""
        self.span_ms = 0
        self.contentions = 0
        self.to_fairness = TimeToFairness()
        self.since_ms: int | None = None  # None: there is enough now
        self._judged: list[BackloggedTime] = []  # queues that were backlogged since then

    def begin(self, at_ms: int) -> None:
        """From now on there is contention: no queue is behind its entitlement yet."""
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
    """Is called whenever something changed, and writes into the books of the queues."""

    def __init__(self, books: QueueBooks, capacity: LevelTable, period_ms: int) -> None:
        """Watch *books*, which others keep up to date, as they do *capacity*.

        Without contention a queue may wait for *period_ms* before it counts as backlogged.
        """
        self._period_ms = period_ms
        self._books = books
        self._capacity = capacity
        self.contended = [ContendedTime() for _ in capacity.levels]
        self._backlogs = [
            [book.backlogs[resource] for book in books.all]
            for resource in range(len(self.contended))
        ]
        self._open: list[dict[int, BackloggedTime]] = [{} for _ in capacity.levels]  # by queue
        self._capacity_then = [0] * len(self.contended)
        self._wanted_then = [0] * len(self.contended)  # by all together
        self._wanted_by: list[dict[int, int]] = [  # of it by each queue at the top
            {top.index: 0 for top in books.tops} for _ in capacity.levels
        ]

    def look(self, at_ms: int, queues: Collection[int]) -> None:
        """Judge the time until now, and go on from what the books say of *queues*.

        Of all others they say the same as before. Cost: *queues* x resources; where contention
        begins or ends, or capacity changes, also all that are backlogged.
        """
        for resource, contended in enumerate(self.contended):
            capacity, changed = self._capacity.levels[resource][0], queues
            if capacity != self._capacity_then[resource]:
                self._capacity_then[resource] = capacity
                changed = {*queues, *self._open[resource]}
            if not self._books.demand.table.is_had[resource]:
                continue  # no queue ever requested any of it
            is_contended = self._is_contended(resource, queues)
            if contended.since_ms is not None and not is_contended:
                contended.end(at_ms)
                for backlog in self._open[resource].values():
                    backlog.count_from(at_ms, at_ms + self._period_ms)
            counts_from_ms = at_ms if is_contended else at_ms + self._period_ms
            judged = self._go_on(at_ms, resource, changed, counts_from_ms)
            if is_contended:
                if contended.since_ms is None:
                    contended.begin(at_ms)
                    judged = self._open[resource].values()
                for backlog in judged:
                    contended.judge(at_ms, backlog)

    def end(self, at_ms: int) -> None:
        """Judge the time until now, which is the end of everything."""
        for contended, backlogs in zip(self.contended, self._open, strict=True):
            for backlog in backlogs.values():
                backlog.pass_until(at_ms)
            if contended.since_ms is not None:
                contended.end(at_ms)

    def _go_on(
        self, at_ms: int, resource: int, queues: Collection[int], counts_from_ms: int
    ) -> Collection[BackloggedTime]:
        """Let *queues* be backlogged or not, as their books say; return the changed backlogs.

        The time of new ones counts from *counts_from_ms* on.
        """
        books, backlogs, opened = self._books, self._backlogs[resource], self._open[resource]
        held, demanded = books.held.levels[resource], books.demand.table.levels[resource]
        due, capacity = books.entitled.table.levels[resource], self._capacity_then[resource]
        changed = []
        for index in queues:
            if demanded[index] > held[index]:
                backlog = backlogs[index]
                if index not in opened:
                    opened[index] = backlog
                    backlog.count_from(at_ms, counts_from_ms)
                if backlog.open(at_ms, held[index], due[index], capacity):
                    changed.append(backlog)
            elif index in opened:
                opened.pop(index).close(at_ms)
        return changed

    def _is_contended(self, resource: int, queues: Collection[int]) -> bool:
        """Return whether all together request more than there is, now that *queues* changed."""
        demand, wanted_by = self._books.demand.table.levels[resource], self._wanted_by[resource]
        for index in queues:
            if index in wanted_by:
                self._wanted_then[resource] += demand[index] - wanted_by[index]
                wanted_by[index] = demand[index]
        return self._wanted_then[resource] > self._capacity_then[resource]
