"""Which queue is served next, kept known while jobs start and queues fill up.

At every level the children of a queue meet in a knock-out, each with the job that it would run
next; for an inner queue that is the job of the child that wins below it. A change in one leaf
touches the brackets on its way to the top and no others.
"""

from collections.abc import Mapping

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.knock_out import KnockOut
from fairlead.policy.kai.pending_jobs import PendingJobs
from fairlead.policy.kai.queue_order import QueueNumbers, Standing, precedes, standing


class QueueRace:
    """The brackets of a tree of queues."""

    def __init__(
        self, state: ClusterState, numbers: Mapping[QueueName, QueueNumbers], jobs: PendingJobs
    ) -> None:
        """Let the queues in *numbers*, all that are in the tree, meet with their first jobs."""
        self._state = state
        self._numbers = numbers
        self._jobs = jobs
        self._brackets: dict[QueueName | None, KnockOut[Standing]] = {}
        self._names: dict[QueueName | None, list[QueueName]] = {}
        self._places: dict[QueueName, int] = {}
        self._requests: dict[QueueName, Amounts | None] = {}
        self._standings: dict[QueueName, Standing | None] = {}
        for name in (None, *numbers):
            self._prepare(name)
        for name in reversed(list(numbers)):  # children before parents
            self._enter(name)

    def standing(self, queue: QueueName) -> Standing | None:
        """Return what *queue* enters the race with; None if no job is left in it."""
        return self._standings[queue]

    def leader(self) -> QueueName | None:
        """Return the leaf whose first job is next of all; None if no job is left."""
        at: QueueName | None = None
        while at in self._brackets:
            place = self._brackets[at].winner()
            if place is None:
                return None
            at = self._names[at][place]
        return at

    def renew(self, leaf: QueueName) -> None:
        """Take notice that *leaf* got another first job, or more of the cluster."""
        for name in self._state.path(leaf):
            self._enter(name)

    def _prepare(self, parent: QueueName | None) -> None:
        children = [name for name in self._state.children(parent) if name in self._numbers]
        if not children:
            return
        children.sort(key=lambda name: (self._numbers[name].created_ms, name))
        self._names[parent] = children
        self._brackets[parent] = KnockOut(len(children), precedes)
        self._places |= {name: place for place, name in enumerate(children)}

    def _enter(self, name: QueueName) -> None:
        request = self._next_request(name)
        self._requests[name] = request
        entrant = None if request is None else standing(self._numbers[name], request)
        self._standings[name] = entrant
        parent = self._state.queues[name].parent
        self._brackets[parent].enter(self._places[name], entrant)

    def _next_request(self, name: QueueName) -> Amounts | None:
        bracket = self._brackets.get(name)
        if bracket is None:
            job = self._jobs.first(name)
            return None if job is None else self._jobs.request(job)
        winner = bracket.winner()
        return None if winner is None else self._requests[self._names[name][winner]]
