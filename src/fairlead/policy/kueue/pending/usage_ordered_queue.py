"""A line in which those of the LocalQueue that used least stand first, while a plan goes on.

An admission counts as use at once and so may put another LocalQueue first. Among those of one
LocalQueue nothing ever changes, so it has a line of its own, and only the first ones of these
lines are compared.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heapreplace
from typing import TypeAlias

from fairlead.model.axes import WorkloadName
from fairlead.model.queue import ClusterQueue
from fairlead.policy.kueue.flavors.assignment import Waiting
from fairlead.policy.kueue.pending.admission_uses import AdmissionUses
from fairlead.policy.kueue.pending.local_queue_use import UseRank
from fairlead.policy.kueue.pending.queue import PendingLine

_Place: TypeAlias = tuple[UseRank, int, int, WorkloadName]


class UseOrderedLine(PendingLine):
    """The line of a ClusterQueue with usage based admission; *uses* may grow, but not shrink."""

    def __init__(
        self,
        line: Sequence[Waiting],
        rules: ClusterQueue,
        preempting: WorkloadName | None,
        uses: AdmissionUses,
    ) -> None:
        """Start at the first of *line*, which stands in the order of the uses as they are."""
        super().__init__(line, rules, preempting)
        self._uses = uses
        last_first: dict[str, list[Waiting]] = {}
        for waiting in reversed(line):
            last_first.setdefault(uses.local_queue(waiting.name), []).append(waiting)
        # A place that is out of date is too far ahead, never too far behind.
        self._firsts = [(self._place(each[-1]), each) for each in last_first.values()]
        heapify(self._firsts)

    def _next(self) -> Waiting | None:
        """Return who is next where nobody preempts.

        Cost: O(log LocalQueues) for each that was passed since.
        """
        firsts = self._firsts
        while firsts:
            place, last_first = firsts[0]
            while last_first and last_first[-1].name in self._passed:
                last_first.pop()
            if not last_first:
                heappop(firsts)
                continue
            now = self._place(last_first[-1])
            if now == place:
                return last_first[-1]
            heapreplace(firsts, (now, last_first))
        return None

    def _rest(self) -> list[Waiting]:
        left = [each for each in self._line if each.name not in self._passed]
        return sorted(left, key=lambda each: (each.name != self.preempting, self._place(each)))

    def _place(self, waiting: Waiting) -> _Place:
        name = waiting.name
        return self._uses.rank(name), -waiting.priority, waiting.queued_ms, name
