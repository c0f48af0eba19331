"""Who may be asked to give way in one action: not those whose place is new, nor who is held.

Whoever got its place in this cycle, or is spared in it, is not asked to leave it again. Nor is one
that the caller holds as a victim, because the cluster refused to let a pod of it leave.
"""

from collections.abc import Set

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.workload import PodKey
from fairlead.policy.kai.cycle_record import CycleRecord
from fairlead.policy.kai.victim_pool import Candidate, Entry, VictimPool


class AskablePool:
    """The jobs of a pool but for those with a pod that is settled."""

    def __init__(
        self,
        pool: VictimPool,
        record: CycleRecord,
        spared: Set[PodKey],
        held: Set[WorkloadName] = frozenset(),
        *,
        asks_all: bool,
    ) -> None:
        """Leave out who is *held*, has a pod that is *spared*, or got its place as *record* says.

        *asks_all*: but for those who are held nobody is left out, as in KAI.
        """
        self.settled: set[WorkloadName] = set()
        """Who was found to be left out because its place is new."""
        self.held: set[WorkloadName] = set()
        """Who was found to be left out because it is held."""
        self._pool = pool
        self._record = record
        self._spared = frozenset() if asks_all else spared
        self._held = held
        self._left_out = held | {name for name, _ in self._spared}  # whatever was done so far
        self._asks_all = asks_all
        self._lines: dict[QueueName, tuple[list[Entry], list[Entry]]] = {}  # of all, and of these

    def line(self, queue: QueueName) -> list[Entry]:
        """Return the line of a leaf as it is now, which nobody else may change.

        Whether a pod is settled changes only with its place. Cost: where anybody is spared or had
        a turn, a glance at each job of the leaf, until something changes in it.
        """
        line = self._pool.line(queue)
        if not self._left_out and (self._asks_all or not self._record.has_touched_any_of(queue)):
            return line
        known = self._lines.get(queue)
        if known is None or known[0] is not line:
            known = self._lines[queue] = line, self._without_settled(line)
        return known[1]

    def special(self) -> Set[QueueName]:
        """Return the leaves in which anybody may be left out, who may be asked at other times."""
        touched = frozenset[QueueName]() if self._asks_all else self._record.touched_queues()
        return touched | self._pool.queues_of(self._left_out) if self._left_out else touched

    def entry(self, candidate: Candidate) -> Entry:
        """Return a candidate with its place in the order of service, by the pods it still has."""
        return self._pool.entry(candidate)

    def _without_settled(self, line: list[Entry]) -> list[Entry]:
        held = {entry[1].job for entry in line if entry[1].job in self._held}
        may_be = [entry for entry in line if self._may_be_settled(entry[1].job)]
        settled = {entry[1].job for entry in may_be if self._is_settled(entry[1])}
        self.held |= held
        self.settled |= settled
        out = held | settled
        return [entry for entry in line if entry[1].job not in out] if out else line

    def _may_be_settled(self, job: WorkloadName) -> bool:
        if self._asks_all:
            return False
        return job in self._left_out or self._record.has_touched(job)

    def _is_settled(self, candidate: Candidate) -> bool:
        """Return whether some of a job is, for the sake of which all of it stays.

        If the others had to go, it would be left of a gang alone.
        """
        pods = [(candidate.job, pod) for pod in candidate.pods]
        return any(pod in self._spared or self._record.is_settled(pod) for pod in pods)
