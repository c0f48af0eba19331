"""A line of victims that ends after so many jobs.

Consolidation disturbs jobs for the sake of order alone, so an administrator may bound how many.
"""

from collections.abc import Iterable

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.victims.candidates import Candidate
from fairlead.policy.kai.victims.eligible import AskablePool
from fairlead.policy.kai.victims.eviction_order import Allows, HoldRace, VictimLine


class CappedLine(VictimLine):
    """The first so many jobs of a line; their pods may be asked for one after the other."""

    def __init__(
        self,
        state: ClusterState,
        pool: AskablePool,
        allowed: Iterable[tuple[QueueName, Allows]],
        hold_race: HoldRace,
        most: int,
    ) -> None:
        """Line up as `VictimLine` does, and let *most* jobs out of it."""
        super().__init__(state, pool, allowed, hold_race)
        self._most = most
        self._jobs: set[WorkloadName] = set()
        self._returned: set[WorkloadName] = set()  # who stands in line again

    def pop(self) -> Candidate | None:
        """Take out who is next to give way; None if nobody is left, or enough were asked."""
        while self._returned or len(self._jobs) < self._most:
            candidate = super().pop()
            if candidate is None:
                return None
            if candidate.job in self._jobs or len(self._jobs) < self._most:
                self._jobs.add(candidate.job)
                self._returned.discard(candidate.job)
                return candidate
        return None

    def put_back(self, candidate: Candidate) -> None:
        """Let a job with the rest of its pods stand in line again."""
        super().put_back(candidate)
        self._returned.add(candidate.job)
