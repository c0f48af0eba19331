"""Everything that one plan under ElasticQuotas works with, and the changes it tries on the state.

Each change is made on the state and in the books together, and can be taken back.
"""

from typing import Final

from fairlead.model.events import Placement, WorkloadLeaving, WorkloadStarted
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodId, Workload
from fairlead.placement.scored_nodes import ScoredNodes
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
    ) -> None:
        """Open the books of *state* at *now_ms*. Cost: the quotas, and what waits."""
        known = knowledge or NodeKnowledge(state, settings)
        self.state: Final = state
        self.settings: Final = settings
        self.now_ms: Final = now_ms
        self.looks_later: Final = not settings.quirks.leaving_counts
        self.charges: Final = known.charges
        self.holders: Final = known.holders
        self.surroundings: Final = known.surroundings
        self.books: Final = QuotaBooks(state, known.charges, settings.quirks)
        self.budgets: Final = Budgets(state)
        self.nominations: Final = Nominations(state.nodes.keys(), len(state.axes))
        self.admission: Final = Admission(state, self.books, self.nominations, settings.quirks)
        self.places: Final = Places(state, self.nominations, known.surroundings, known.scored)
        self.changes = 0  # how often anything was started, evicted or nominated so far

    def asker(self, workload: Workload, pod: PodId) -> Asker:
        """Return a pod that wants a place."""
        return asker_of(self.state, self.charges, workload, pod)

    def nominate_all(self, workload: Workload) -> None:
        """Take in to which nodes pods of *workload* are nominated, as it says."""
        own = workload.extension
        if isinstance(own, ElasticPods):
            for pod, node in own.nominated.items():
                self.nominations.put(self.asker(workload, pod), node)

    def is_hopeless(self, asker: Asker, name: str) -> bool:
        """Return whether *asker* could not be on a node even if that were empty."""
        node = self.state.nodes[name]
        return (
            not self.places.could_ever_hold(asker, node)
            or self.surroundings.node_defect(asker, node) is not None
        )

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
        self.nominations.drop(asker.key)
        self.changes += 1

    def evict(self, holder: Holder) -> None:
        """Tell a pod to leave."""
        name, pod = holder.key
        self.state.apply(WorkloadLeaving(workload=name, pods=(pod,)))
        self.books.leave(holder.queue, holder.charge)
        self.changes += 1

    def nominate(self, asker: Asker, node: str) -> list[Asker]:
        """Let a pod wait on *node*; returns those less important who may wait there no more."""
        displaced = self.nominations.behind(asker, node)
        for other in displaced:
            self.nominations.drop(other.key)
        self.nominations.put(asker, node)
        self.changes += 1
        return displaced
