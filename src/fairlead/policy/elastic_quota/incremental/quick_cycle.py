"""One plan without its waits: only those have their turn of which something may come.

Whoever is passed over would wait, and its turn would change nothing for those who come after. That
is so too for those who are like one that was refused, until something happens.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Final

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Wait
from fairlead.model.workload import Workload
from fairlead.policy.elastic_quota.incremental.outlook import Outlook
from fairlead.policy.elastic_quota.incremental.waiting_line import KindLine, Turn, WaitingLine
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.scheduling.cycle import Cycle


class QuickCycle:
    """Decides about those who wait in one state."""

    def __init__(
        self,
        desk: Desk,
        cycle: Cycle,
        line: WaitingLine,
        outlook: Outlook,
        held_back: Mapping[WorkloadName, WorkloadName],
    ) -> None:
        """Let *cycle* decide on *desk* about who is in *line*; who is *held_back* waits."""
        self._desk: Final = desk
        self._cycle: Final = cycle
        self._line: Final = line
        self._outlook: Final = outlook
        self._held_back: Final = held_back
        self._open: list[KindLine] = []
        self._left: dict[KindLine, KindLine] = {}  # lines without those who are held back

    def decisions(self) -> Iterator[Decision]:
        """Yield what a `Cycle` would but its waits, in the same order.

        Cost: each kind of wants, and a turn for each who may get something.
        """
        for turn in self._line.promised:
            self._cycle.take_in(self._workload(turn))
        self._look_around()
        last: Turn | None = None
        while (found := self._next(last)) is not None:
            last, line = found
            workload = self._workload(last)
            if workload.name in self._held_back:
                continue
            has_changed = False
            for each in self._cycle.turn(workload):
                if not isinstance(each, Wait):
                    has_changed = True
                    yield each
            if has_changed or line is None:
                self._look_around()
            elif self._is_like_its_kind(workload):
                self._open.remove(line)

    def _workload(self, turn: Turn) -> Workload:
        return self._desk.state.workloads[WorkloadName(turn[-1])]

    def _look_around(self) -> None:
        """Find out who may get something, after something happened."""
        self._outlook.catch_up()
        groups = self._line.groups.values()
        self._open = [line for group in groups for line in self._outlook.open_lines(group)]

    def _next(self, last: Turn | None) -> tuple[Turn, KindLine | None] | None:
        """Return who has its turn after *last*, and its line; None: nobody has."""
        promised = self._line.promised
        at = 0 if last is None else bisect_right(promised, last)
        best: tuple[Turn, KindLine | None] | None = None
        if at < len(promised):
            best = (promised[at], None)
        for line in self._open:
            turn = self._without_held_back(line).after(last)
            if turn is not None and (best is None or turn < best[0]):
                best = (turn, line)
        return best

    def _without_held_back(self, line: KindLine) -> KindLine:
        """Return a line in which nobody is held back: of thousands who are alike, many may be."""
        if not self._held_back:
            return line
        left = self._left.get(line)
        if left is None:
            left = self._left[line] = KindLine(line.kind)
            left.turns.extend([turn for turn in line.turns if turn[-1] not in self._held_back])
        return left

    def _is_like_its_kind(self, workload: Workload) -> bool:
        """Return whether nobody looks at more of its pods than their kind tells."""
        desk = self._desk
        firsts = [pods[0] for pods in workload.pod_sets.ids_by_set if pods]
        askers = [desk.asker(workload, pod) for pod in firsts]
        return not any(map(desk.places.neighbours_matter, askers))
