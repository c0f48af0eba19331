"""Whether a queue may ever hold what a gang asks for, whatever nodes there are and who else runs.

Limits of the queue and of those above it decide, and under Kueue all quota that it could borrow.
Under KAI, who is not preemptible gets no more than is guaranteed.
"""

from collections.abc import Iterator

from fairlead.manifest.text.path import quote
from fairlead.model.axes import QueueName
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.policy.contract import PolicyName
from fairlead.policy.kueue.api import KueueShares
from fairlead.sim.scenario.gang import Gang, amounts_text


class QueueRoom:
    """All queues under one rule set."""

    def __init__(self, state: ClusterState, policy: PolicyName) -> None:
        """Take the queues of *state*. Cost: linear in them."""
        self._state = state
        self._keeps_jobs = policy == "kai"
        self._tree = KueueShares(state).tree if policy == "kueue" else None
        self._named: dict[str, QueueName] = {name: name for name in state.queues}
        for door in state.catalogue.local_queues.values():
            self._named[f"{door.namespace}/{door.name}"] = door.cluster_queue
        self._most: dict[tuple[str, str, bool], int | None] = {}

    def lack(self, queue: str, gang: Gang) -> str | None:
        """Return why *queue* never holds *gang*, in words that follow "found"; None if it may.

        Cost: the levels above the queue, once for each of its resources.
        """
        is_kept = self._keeps_jobs and not gang.preemptible
        asked, most = {}, {}
        for resource, amount in gang.together().items():
            bound = self._most_of(queue, resource, is_kept)
            if bound is not None and amount > bound:
                asked[resource], most[resource] = amount, bound
        if not asked:
            return None
        told = f"{gang} {'of' if gang.pods == 1 else 'with'} {amounts_text(asked)}"
        together = "" if gang.pods == 1 else " together"
        bounded = f"queue {quote(queue)} may hold no more than {amounts_text(most)}"
        kept = " in jobs that are not preemptible" if is_kept else ""
        return f"{told}{together}, where {bounded}{kept}"

    def _most_of(self, queue: str, resource: str, is_kept: bool) -> int | None:
        key = queue, resource, is_kept
        if key not in self._most:
            name = self._named[queue]
            if self._tree is None:
                self._most[key] = min(self._limits(name, resource, is_kept), default=None)
            else:
                self._most[key] = max(self._reaches(name, resource), default=None)
        return self._most[key]

    def _limits(self, queue: QueueName, resource: str, is_kept: bool) -> Iterator[int]:
        axis = self._state.axes.index(resource)
        if axis is None:
            return
        for name in self._state.path(queue):
            above = self._state.queues[name]
            bounds = (above.ceiling[axis], above.guaranteed[axis] if is_kept else None)
            yield from (bound for bound in bounds if bound is not None)

    def _reaches(self, queue: QueueName, resource: str) -> Iterator[int]:
        """Yield what the queue could hold of each flavor: all pods of a gang have the same."""
        rules = self._state.queues[queue].extension
        assert isinstance(rules, ClusterQueue)
        assert self._tree is not None
        for group in rules.resource_groups:
            for flavor in group.flavors if resource in group.resources else ():
                axis = self._state.axes.index(resource, flavor)
                if axis is not None:
                    yield self._tree.potential_on(queue, axis)
