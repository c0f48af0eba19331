"""Where a pod may start now, and what speaks against each node where it may not."""

from collections.abc import Iterable, Sequence
from typing import Final

from fairlead.model.axes import Amounts
from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.placement.room_defect import POD_SLOTS, lack_text
from fairlead.placement.scored_nodes import ScoredNodes
from fairlead.policy.elastic_quota.nodes.surroundings import Surroundings
from fairlead.policy.elastic_quota.nodes.waiting_neighbours import WaitingNeighbours
from fairlead.policy.elastic_quota.quota.asker import Asker
from fairlead.policy.elastic_quota.quota.nominations import Nominations


class Places:
    """Finds nodes in one state, through all its changes."""

    def __init__(
        self,
        state: ClusterState,
        nominations: Nominations,
        surroundings: Surroundings,
        scored: ScoredNodes,
    ) -> None:
        """Leave to nominated pods that go first what they wait for."""
        self._state = state
        self._waiting = WaitingNeighbours(state, nominations)
        self._nominations = nominations
        self._surroundings = surroundings
        self._scored: Final = scored

    def find(self, asker: Asker) -> str | None:
        """Return the node where *asker* starts: its nominated one if it can, else the best."""
        own = self._nominations.node_of(asker.key)
        if own is not None and self.defect(asker, own) is None:
            return own
        for name in self._scored.best_first(asker.pod_set):
            if self.defect(asker, name) is None:
                return name
        return None

    def defect(self, asker: Asker, name: str) -> str | None:
        """Return what keeps *asker* from starting on a node; the text goes on after "3 nodes"."""
        node = self._state.nodes[name]
        defect = self._surroundings.node_defect(asker, node)
        if defect is not None:
            return defect
        return (
            self.room_defect(asker, name)
            or self.promised_defect(asker, name)
            or self._surroundings.defect(asker, node)
        )

    def neighbours_matter(self, asker: Asker) -> bool:
        """Return whether more than room and the node itself can speak against a node."""
        return self._surroundings.matter(asker) or self._waiting.matter(asker)

    def promised_defect(self, asker: Asker, name: str) -> str | None:
        """Return what pods that wait have against *asker* on a node, besides its room."""
        return self._waiting.defect(asker, name)

    def room_defect(self, asker: Asker, name: str) -> str | None:
        """Return what a node has too little of, with the nominated pods that come before."""
        free = self.free(asker, name)
        lacking = [
            "room for another pod" if resource == POD_SLOTS else resource
            for resource, need, there in zip(
                self._state.resources, asker.requests, free, strict=True
            )
            if need > 0 and need > there
        ]
        return lack_text(lacking) if lacking else None

    def free(self, asker: Asker, name: str, *, later: bool = False) -> Amounts:
        """Return what is free on a node for *asker*, now or once those have left who are leaving.

        It may be less than nothing, where a node lost something.
        """
        return self._free_beside(self._nominations.before(asker, name), name, later=later)

    def free_together(self, askers: Sequence[Asker], name: str, *, later: bool) -> Amounts:
        """Return the same for all of *askers*, which are to be on a node together."""
        return self._free_beside(self._nominations.before_any(askers, name), name, later=later)

    def _free_beside(self, promised: Iterable[Asker], name: str, *, later: bool) -> Amounts:
        books = self._state.books
        use, occupied = books.use(name), books.occupied(name)
        sizes = self._state.nodes[name].allocatable
        free = [a - o - h for a, o, h in zip(sizes, occupied.held, use.held, strict=True)]
        if later:
            released = zip(free, use.leaving, occupied.leaving, strict=True)
            free = [f + own + foreign for f, own, foreign in released]
        for other in promised:
            free = [f - need for f, need in zip(free, other.requests, strict=True)]
        return tuple(free)

    def could_ever_hold(self, asker: Asker, node: Node) -> bool:
        """Return whether the empty node would be enough."""
        pairs = zip(asker.requests, node.allocatable, strict=True)
        return all(need <= there for need, there in pairs if need > 0)
