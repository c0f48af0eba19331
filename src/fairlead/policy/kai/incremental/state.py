"""What is kept of a state from cycle to cycle, and brought up to date where the state changed."""

from fairlead.model.axes import WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import NodeIndex
from fairlead.placement.shared_devices import DeviceRule
from fairlead.placement.waiting_pods import WaitingPods
from fairlead.policy.kai.incremental.pending_queues import WaitingLines
from fairlead.policy.kai.incremental.pod_terms import PodTerms
from fairlead.policy.kai.incremental.shares import FollowedShares
from fairlead.policy.kai.incremental.terminating import Leavers
from fairlead.policy.kai.incremental.tournament import FollowedRace
from fairlead.policy.kai.jobs.gang import Gang
from fairlead.policy.kai.jobs.job_class import JobKinds
from fairlead.policy.kai.jobs.stale_gangs import StaleGangs
from fairlead.policy.kai.pruning.attempts import ReclaimKinds
from fairlead.policy.kai.pruning.evictable_per_node import NodeCrowds
from fairlead.policy.kai.pruning.feasibility import HopelessKinds
from fairlead.policy.kai.pruning.first_victims import FirstToLeave
from fairlead.policy.kai.pruning.moves import FollowedMoves
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.candidates import VictimPool
from fairlead.policy.kai.victims.eviction_order import VICTIM_RULES


class FollowedState:
    """Nodes by their room, shares, groups, who waits and who may give way, in one state."""

    def __init__(self, state: ClusterState, settings: KaiSettings) -> None:
        """Follow *state* for cycles with *settings*."""
        self.state = state
        self.finder = _node_finder(state, settings)
        self.shares = FollowedShares(state, settings.k)
        self.pool = VictimPool(state, self.gang)
        self._kinds = JobKinds(state)
        self.lines = WaitingLines(state, self.gang, self._kinds)
        self.hopeless = HopelessKinds(self.finder)
        self.reclaim_kinds = ReclaimKinds(state)
        self.stale_gangs = StaleGangs(state, self.gang)
        self.leavers = Leavers(state)
        self.service = FollowedRace(state)
        self.giving_way = FollowedRace(state, *VICTIM_RULES)
        self.first_to_leave = FirstToLeave(state)
        self.moves = FollowedMoves(state, self.finder)
        self.pod_terms = PodTerms(state)
        self.crowds = NodeCrowds(state, self.finder)
        self.waiting_pods = WaitingPods(state, lambda workload: not workload.preemptible)
        self._gangs: dict[WorkloadName, tuple[Workload, Gang]] = {}

    def begin_cycle(self) -> None:
        """Forget those who have gone, if they are many; until the next one kinds keep numbers."""
        if self._kinds.forget_those_who_have_gone():
            self.lines.forget()
            self.hopeless.forget()

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
