"""What is kept of a state from cycle to cycle, and brought up to date where the state changed."""

from fairlead.model.axes import WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import NodeIndex
from fairlead.placement.shared_devices import DeviceRule
from fairlead.placement.waiting_pods import WaitingPods
from fairlead.policy.kai.incremental.pending_queues import IncrementalPendingQueues
from fairlead.policy.kai.incremental.pod_terms import PodAffinityTerms
from fairlead.policy.kai.incremental.shares import IncrementalShares
from fairlead.policy.kai.incremental.terminating import TerminatingPods
from fairlead.policy.kai.incremental.tournament import IncrementalTournament
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.kai.jobs.job_class import JobClasses
from fairlead.policy.kai.jobs.stale_gangs import StaleGangs
from fairlead.policy.kai.pruning.attempts import ReclaimingClasses
from fairlead.policy.kai.pruning.evictable_per_node import EvictablePerNode
from fairlead.policy.kai.pruning.feasibility import InfeasibleClasses
from fairlead.policy.kai.pruning.first_victims import FirstVictims
from fairlead.policy.kai.pruning.moves import MoveBounds
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.candidates import CandidatePool
from fairlead.policy.kai.victims.eviction_order import EVICTION_RULES


class IncrementalSources:
    """Nodes by their room, shares, groups, who waits and who may give way, in one state."""

    def __init__(self, state: ClusterState, settings: KaiSettings) -> None:
        """Follow *state* for cycles with *settings*."""
        self.state = state
        self.finder = _node_finder(state, settings)
        self.shares = IncrementalShares(state, settings.k)
        self.pool = CandidatePool(state, self.gang)
        self._classes = JobClasses(state)
        self.lines = IncrementalPendingQueues(state, self.gang, self._classes)
        self.infeasible = InfeasibleClasses(self.finder)
        self.reclaim_kinds = ReclaimingClasses(state)
        self.stale_gangs = StaleGangs(state, self.gang)
        self.evicted_pods = TerminatingPods(state)
        self.service = IncrementalTournament(state)
        self.giving_way = IncrementalTournament(state, *EVICTION_RULES)
        self.first_victims = FirstVictims(state)
        self.moves = MoveBounds(state, self.finder)
        self.pod_terms = PodAffinityTerms(state)
        self.evictable = EvictablePerNode(state, self.finder)
        self.waiting_pods = WaitingPods(state, lambda workload: not workload.preemptible)
        self._gangs: dict[WorkloadName, tuple[Workload, Gang]] = {}

    def begin_cycle(self) -> None:
        """Forget those who have gone, if they are many; until the next one kinds keep numbers."""
        if self._classes.drop_departed():
            self.lines.forget()
            self.infeasible.forget()

    def gang(self, job: WorkloadName) -> Gang:
        """Return the groups of a job."""
        workload, known = self.state.workloads[job], self._gangs.get(job)
        if known is None or known[0] is not workload:
            if len(self._gangs) > 2 * len(self.state.workloads):  # most of them have gone
                self._gangs.clear()
            known = self._gangs[job] = workload, Gang(workload)
        return known[1]


def _node_finder(state: ClusterState, settings: KaiSettings) -> NodeFinder:
    """Return what finds nodes in *state* as *settings* say, through all its changes."""
    index = NodeIndex(
        state,
        spread_gpus=settings.gpu_placement == "spread",
        spread_cpus=settings.cpu_placement == "spread",
    )
    on_devices = settings.device_placement or settings.gpu_placement
    rule = DeviceRule(spread=on_devices == "spread", wait_to_pack=settings.faithful)
    return NodeFinder(state, index, rule)
