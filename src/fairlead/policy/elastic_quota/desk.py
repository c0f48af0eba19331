"""Everything that one plan under ElasticQuotas works with, and the changes it tries on the state.

Each change is made on the state and in the books together, and can be taken back.
"""

from collections.abc import Callable, Set
from functools import partial
from typing import Final, NamedTuple

from fairlead.model.accounting.journal import Mark
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Placement, WorkloadLeaving, WorkloadStarted
from fairlead.model.memory import ElasticMemory
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodId, Workload
from fairlead.placement.scored_nodes import ScoredNodes
from fairlead.placement.waiting_pods import WaitingPods
from fairlead.policy.elastic_quota.admission import Admission
from fairlead.policy.elastic_quota.asker import Asker, asker_of
from fairlead.policy.elastic_quota.budgets import Budgets
from fairlead.policy.elastic_quota.charges import Charges
from fairlead.policy.elastic_quota.holders import Holder, HolderIndex
from fairlead.policy.elastic_quota.nominations import Nominations
from fairlead.policy.elastic_quota.places import Places
from fairlead.policy.elastic_quota.quota_books import QuotaBooks
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.elastic_quota.surroundings import Surroundings


class NodeKnowledge:
    """What is kept from plan to plan: indexes that follow one state through its changes."""

    def __init__(self, state: ClusterState, settings: ElasticQuotaSettings) -> None:
        """Index *state*. Cost: each pod with a node, at the first question."""
        quirks = settings.quirks
        self.queues: Final = frozenset(state.queues)
        self.charges: Final = Charges(state, as_plugin=quirks.own_charge)
        self.holders: Final = HolderIndex(state, self.charges, with_leaving=quirks.leaving_counts)
        self.surroundings: Final = Surroundings(state)
        self.scored: Final = ScoredNodes(state, settings.scoring)
        self.waiting_pods: Final = WaitingPods(state, needs_more_quota)

    def serves(self, state: ClusterState) -> bool:
        """Return whether it is still good: who has a quota at all is part of what is indexed."""
        return self.queues == state.queues.keys()


class Desk:
    """The state, its quotas and what is nominated, through one plan."""

    def __init__(
        self,
        state: ClusterState,
        settings: ElasticQuotaSettings,
        now_ms: int,
        knowledge: NodeKnowledge | None = None,
        spared: Set[WorkloadName] = frozenset(),
        books: QuotaBooks | None = None,
    ) -> None:
        """Open the books of *state* at *now_ms*. Cost: the quotas, unless there are *books*.

        Workloads in *spared* give way to nobody.
        """
        known = knowledge or NodeKnowledge(state, settings)
        self.state: Final = state
        self.settings: Final = settings
        self.now_ms: Final = now_ms
        self.spared: Final = spared
        self.looks_later: Final = not settings.quirks.leaving_counts
        self.charges: Final = known.charges
        self.holders: Final = known.holders
        self.surroundings: Final = known.surroundings
        self.waiting_pods: Final = known.waiting_pods
        self.books: Final = books or QuotaBooks(state, known.charges, settings.quirks)
        self.budgets: Final = Budgets(state)
        self.nominations: Final = Nominations(
            state.nodes.keys(), len(state.axes), keeps_promises=not settings.quirks.promise_taken
        )
        self.admission: Final = Admission(state, self.books, self.nominations, settings.quirks)
        self.places: Final = Places(state, self.nominations, known.surroundings, known.scored)
        self.looked_at_the_clock = False  # whether another moment might give another plan
        if self.looks_later and not self.budgets.are_none():
            for name in state.nodes:
                for holder in self.holders.leaving(name):
                    self.budgets.disturb(holder)  # told to leave before, and not gone yet
        self._undo: list[Callable[[], None]] = []
        self._quota_facts: tuple[int, object] | None = None
        self.changes = 0  # how often anything was started, evicted or nominated so far

    def asker(self, workload: Workload, pod: PodId) -> Asker:
        """Return a pod that wants a place."""
        return asker_of(self.state, self.charges, workload, pod)

    def nominate_all(self, workload: Workload) -> None:
        """Take in to which nodes earlier plans nominated pods of *workload*, but for held nodes."""
        memory = self.state.memories.get(workload.name)
        if isinstance(memory, ElasticMemory):
            for pod, node in memory.nominated.items():
                if node not in workload.pod_sets.of(pod).constraints.held_nodes:
                    self.nominations.begin(self.asker(workload, pod), node)

    def is_hopeless(self, asker: Asker, name: str) -> bool:
        """Return whether *asker* could not be on a node even if that were empty."""
        node = self.state.nodes[name]
        return (
            not self.places.could_ever_hold(asker, node)
            or self.surroundings.node_defect(asker, node) is not None
        )

    def quota_facts(self, queue: QueueName) -> object:
        """Return all that is known of one quota, and who waits for it."""
        books = self.books
        used = (tuple(books.now.used[queue]), tuple(books.later.used[queue]))
        return (self.state.queues[queue], used, self.nominations.of_queue(queue))

    def all_quota_facts(self) -> object:
        """Return all that is known of the quotas, and who waits; worked out once a change."""
        if self._quota_facts is None or self._quota_facts[0] != self.changes:
            books = self.books
            facts = (
                tuple(self.state.queues.values()),
                *[tuple(map(tuple, use.used.values())) for use in (books.now, books.later)],
                self.nominations.who_waits_where(),
            )
            self._quota_facts = (self.changes, facts)
        return self._quota_facts[1]

    def node_facts(self) -> object:
        """Return what tells whether anything happened on a node, or to what protects pods."""
        protected = (self.state.catalogue, self.budgets.used_up(), frozenset(self.spared))
        return (self.holders.fingerprint(), protected, self.state.holds.victims)

    def mark(self) -> "DeskMark":
        """Remember this moment, to roll back to."""
        return DeskMark(self.state.mark(), len(self._undo))

    def roll_back(self, mark: "DeskMark") -> None:
        """Undo everything since *mark*."""
        while len(self._undo) > mark.done:
            self._undo.pop()()
        self.state.roll_back(mark.state)
        self.changes += 1

    def keep(self, mark: "DeskMark") -> None:
        """Let everything since *mark* stand."""
        self.state.keep(mark.state)

    def start(self, asker: Asker, node: str) -> None:
        """Let a pod start."""
        self.state.apply(
            WorkloadStarted(
                workload=asker.workload.name,
                placements=(Placement(asker.pod, node),),
                at_ms=self.now_ms,
            )
        )
        self.books.start(asker.queue, asker.charge)
        self._undo.append(partial(self.books.undo_start, asker.queue, asker.charge))
        self.withdraw(asker)

    def evict(self, holder: Holder) -> None:
        """Tell a pod to leave."""
        name, pod = holder.key
        self.state.apply(WorkloadLeaving(workload=name, pods=(pod,)))
        self.books.leave(holder.queue, holder.charge)
        self.budgets.disturb(holder)
        self._undo.append(partial(self.budgets.disturb, holder, -1))
        self._undo.append(partial(self.books.undo_leave, holder.queue, holder.charge))
        self.changes += 1

    def nominate(self, asker: Asker, node: str) -> list[Asker]:
        """Let a pod wait on *node*; returns those less important who may wait there no more."""
        displaced = self.nominations.behind(asker, node)
        for other in (*displaced, asker):
            self.withdraw(other)
        self.nominations.put(asker, node)
        self._undo.append(partial(self.nominations.drop, asker.key))
        self.changes += 1
        return displaced

    def withdraw(self, asker: Asker) -> None:
        """Let a pod wait on no node any more."""
        before = self.nominations.node_of(asker.key)
        if before is not None:
            self.nominations.drop(asker.key)
            self._undo.append(partial(self.nominations.put, asker, before))
        self.changes += 1


class DeskMark(NamedTuple):
    """A moment of a desk."""

    state: Mark
    done: int


def needs_more_quota(workload: Workload) -> bool:
    """Return whether a workload may need more of its quota than its pods ask for."""
    own = workload.extension
    return isinstance(own, ElasticPods) and own.min_resources is not None
