"""Everything that one ElasticQuota plan works with, and the changes that it tries on the state.

Each change is made on the state and on the quota usage together, and can be rolled back.
"""

from collections.abc import Callable, Set
from functools import partial
from operator import add, sub
from typing import Final, NamedTuple

from fairlead.model.accounting.journal import Mark
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.events import Placement, WorkloadLeaving, WorkloadStarted
from fairlead.model.memory import ElasticMemory
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodId, PodKey, Workload
from fairlead.placement.scored_nodes import ScoredNodes
from fairlead.placement.waiting_pods import WaitingPods
from fairlead.policy.elastic_quota.nodes.node_fit import NodeFilters, NodeFit
from fairlead.policy.elastic_quota.nodes.running_pods import (
    DisruptionBudgets,
    RunningPod,
    RunningPods,
)
from fairlead.policy.elastic_quota.quota.admission import Admission
from fairlead.policy.elastic_quota.quota.nominations import Nominations
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod, pending_pod_of
from fairlead.policy.elastic_quota.quota.usage import Charges, QuotaUsage
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings


class ClusterIndexes:
    """Indexes that follow one state through its changes; a policy may keep them between plans."""

    def __init__(self, state: ClusterState, settings: ElasticQuotaSettings) -> None:
        """Index *state*. Cost: all pods with a node, at the first question."""
        quirks = settings.quirks
        self.queues: Final = frozenset(state.queues)
        self.charges: Final = Charges(state, as_plugin=quirks.own_charge)
        self.running: Final = RunningPods(state, self.charges, with_leaving=quirks.leaving_counts)
        self.node_filters: Final = NodeFilters(state)
        self.scored: Final = ScoredNodes(state, settings.scoring)
        self.waiting_pods: Final = WaitingPods(state, needs_more_quota)

    def serves(self, state: ClusterState) -> bool:
        """Return whether the indexes still hold: the queues with a quota must be the same."""
        return self.queues == state.queues.keys()


class StartedPods:
    """The pods with a quota that one plan has started so far, and their charges in each quota."""

    def __init__(self, size: int) -> None:
        """Start with none; *size* is the number of axes."""
        self.pods: Final[set[PodKey]] = set()
        self._zero: Final[Amounts] = (0,) * size
        self._charged: Final[dict[QueueName, Amounts]] = {}
        self.fingerprint = 0  # equal for equal sets of pods

    def charged(self, queue: QueueName) -> Amounts:
        """Return what the started pods of a quota are charged."""
        return self._charged.get(queue, self._zero)

    def add(self, queue: QueueName, pod: PodKey, charge: Amounts) -> None:
        """Note that a pod was started."""
        self.pods.add(pod)
        self._charged[queue] = tuple(map(add, self.charged(queue), charge))
        self.fingerprint += hash(pod)

    def remove(self, queue: QueueName, pod: PodKey, charge: Amounts) -> None:
        """Undo `add`."""
        self.pods.remove(pod)
        self._charged[queue] = tuple(map(sub, self.charged(queue), charge))
        self.fingerprint -= hash(pod)


class PlanningContext:
    """The state, its quotas and its nominations during one plan."""

    def __init__(
        self,
        state: ClusterState,
        settings: ElasticQuotaSettings,
        now_ms: int,
        indexes: ClusterIndexes | None = None,
        exempt: Set[WorkloadName] = frozenset(),
        quotas: QuotaUsage | None = None,
    ) -> None:
        """Start a plan for *state* at *now_ms*. Cost: the quotas, unless their usage is given.

        Workloads in *exempt* are no candidates for preemption.
        """
        known = indexes or ClusterIndexes(state, settings)
        self.state: Final = state
        self.settings: Final = settings
        self.quirks: Final = settings.quirks
        self.now_ms: Final = now_ms
        self.exempt: Final = exempt
        self.expects_termination: Final = not settings.quirks.leaving_counts
        self.charges: Final = known.charges
        self.running: Final = known.running
        self.node_filters: Final = known.node_filters
        self.waiting_pods: Final = known.waiting_pods
        self.quotas: Final = quotas or QuotaUsage(state, known.charges, settings.quirks)
        self.budgets: Final = DisruptionBudgets(state)
        self.nominations: Final = Nominations(
            state.nodes.keys(),
            len(state.axes),
            honors_nominations=not settings.quirks.promise_taken,
        )
        self.admission: Final = Admission(state, self.quotas, self.nominations, settings.quirks)
        self.fit: Final = NodeFit(state, self.nominations, known.node_filters, known.scored)
        self.time_dependent = False  # whether the plan could differ at another time
        if self.expects_termination and not self.budgets.is_empty():
            for name in state.nodes:
                for running_pod in self.running.terminating(name):
                    self.budgets.count_disruption(running_pod)  # evicted by an earlier plan
        self.started: Final = StartedPods(len(state.axes))
        self._undo: list[Callable[[], None]] = []
        self.changes = 0  # how many times a pod was started, evicted or nominated

    def pending_pod(self, workload: Workload, pod: PodId) -> PendingPod:
        """Return a pending pod of *workload* with its requests and charge."""
        return pending_pod_of(self.state, self.charges, workload, pod)

    def restore_nominations(self, workload: Workload) -> None:
        """Restore the nominations of *workload* from earlier plans, but not to held nodes."""
        memory = self.state.memories.get(workload.name)
        if isinstance(memory, ElasticMemory):
            for pod, node in memory.nominated.items():
                if node not in workload.pod_sets.of(pod).constraints.held_nodes:
                    self.nominations.restore(self.pending_pod(workload, pod), node)

    def can_never_fit(self, pending: PendingPod, name: str) -> bool:
        """Return whether *pending* could not run on a node even if the node were empty."""
        node = self.state.nodes[name]
        return (
            not self.fit.fits_empty_node(pending, node)
            or self.node_filters.node_defect(pending, node) is not None
        )

    def mark(self) -> "ContextMark":
        """Remember this moment, to roll back to it."""
        return ContextMark(self.state.mark(), len(self._undo))

    def roll_back(self, mark: "ContextMark") -> None:
        """Undo everything since *mark*."""
        while len(self._undo) > mark.done:
            self._undo.pop()()
        self.state.roll_back(mark.state)
        self.changes += 1

    def keep(self, mark: "ContextMark") -> None:
        """Keep everything since *mark*."""
        self.state.keep(mark.state)

    def start(self, pending: PendingPod, node: str) -> None:
        """Start a pod on *node*."""
        self.state.apply(
            WorkloadStarted(
                workload=pending.workload.name,
                placements=(Placement(pending.pod, node),),
                at_ms=self.now_ms,
            )
        )
        self.quotas.start(pending.queue, pending.charge)
        self._undo.append(partial(self.quotas.undo_start, pending.queue, pending.charge))
        if pending.queue is not None and not self.quirks.start_in_vain:
            self.started.add(pending.queue, pending.key, pending.charge)
            undo = partial(self.started.remove, pending.queue, pending.key, pending.charge)
            self._undo.append(undo)
        self.withdraw(pending)

    def evict(self, running_pod: RunningPod) -> None:
        """Evict a running pod."""
        name, pod = running_pod.key
        self.state.apply(WorkloadLeaving(workload=name, pods=(pod,)))
        self.quotas.evict(running_pod.queue, running_pod.charge)
        self.budgets.count_disruption(running_pod)
        self._undo.append(partial(self.budgets.count_disruption, running_pod, -1))
        self._undo.append(partial(self.quotas.undo_evict, running_pod.queue, running_pod.charge))
        self.changes += 1

    def nominate(self, pending: PendingPod, node: str) -> list[PendingPod]:
        """Nominate a pod to *node*; returns the pods that lose their nomination to it."""
        displaced = self.nominations.displaced_by(pending, node)
        for other in (*displaced, pending):
            self.withdraw(other)
        self.nominations.nominate(pending, node)
        self._undo.append(partial(self.nominations.clear, pending.key))
        self.changes += 1
        return displaced

    def withdraw(self, pending: PendingPod) -> None:
        """Remove the nomination of a pod."""
        before = self.nominations.node_of(pending.key)
        if before is not None:
            self.nominations.clear(pending.key)
            self._undo.append(partial(self.nominations.nominate, pending, before))
        self.changes += 1


class ContextMark(NamedTuple):
    """A moment of a planning context, to roll back to."""

    state: Mark
    done: int


def needs_more_quota(workload: Workload) -> bool:
    """Return whether a workload may need more quota than its pods request."""
    own = workload.extension
    return isinstance(own, ElasticPods) and own.min_resources is not None
