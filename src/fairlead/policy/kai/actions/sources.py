"""Where the rules read a state: `Sources` is what they ask, `PlainSources` the plain answer.

`policy.py` puts in the incremental answer, which must be the same.
"""

from typing import Protocol

from fairlead.model.state import ClusterState
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import NodeIndex
from fairlead.placement.shared_devices import DeviceRule
from fairlead.placement.waiting_pods import WaitingPods
from fairlead.policy.kai.jobs.alike import JobClasses
from fairlead.policy.kai.jobs.stale_gangs import StaleGangs
from fairlead.policy.kai.ordering.pending_queues import PendingQueues, PendingSource
from fairlead.policy.kai.ordering.tournament import Division, DivisionNow
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.candidates import Candidates, CandidateSource


class Sources(Protocol):
    """What the rules ask about one state."""

    finder: NodeFinder
    stale_gangs: StaleGangs
    waiting_pods: WaitingPods

    @property
    def pending(self) -> PendingSource:
        """The pending jobs."""

    @property
    def candidates(self) -> CandidateSource:
        """The jobs that may have to give way."""

    def begin_cycle(self) -> None:
        """Note that a cycle begins."""

    def division(self) -> Division:
        """Return the division of the cluster as of now."""


class PlainSources:
    """Reads one state from scratch, every time."""

    def __init__(self, state: ClusterState, settings: KaiSettings) -> None:
        """Read *state* for cycles with *settings*."""
        self._state = state
        self._settings = settings
        self.finder = node_finder(state, settings)
        self.candidates = Candidates(state)
        self.pending = PendingQueues(state, JobClasses(state))
        self.stale_gangs = StaleGangs(state)
        self.waiting_pods = waiting_pods(state)

    def begin_cycle(self) -> None:
        """Nothing is kept between cycles."""

    def division(self) -> DivisionNow:
        """Return the division of the cluster as of now."""
        return DivisionNow(self._state, self._settings.k)


def node_finder(state: ClusterState, settings: KaiSettings) -> NodeFinder:
    """Return what finds nodes in *state* as *settings* say, through all its changes."""
    index = NodeIndex(
        state,
        spread_gpus=settings.gpu_placement == "spread",
        spread_cpus=settings.cpu_placement == "spread",
    )
    on_devices = settings.device_placement or settings.gpu_placement
    rule = DeviceRule(spread=on_devices == "spread", wait_to_pack=settings.faithful)
    # KAI ignores topology spread and preferred nodes, and of the filters of volumes it runs only
    # the first.
    return NodeFinder(
        state,
        index,
        rule,
        honors_all=not settings.faithful,
        volumes="reach" if settings.faithful else "all",
    )


def waiting_pods(state: ClusterState) -> WaitingPods:
    """Return the pods of *state* without a place; those of non-preemptible jobs are marked."""
    return WaitingPods(state, lambda workload: not workload.preemptible)
