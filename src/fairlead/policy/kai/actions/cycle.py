"""One cycle of KAI's rules on a state that is on trial: its actions, one after the other."""

from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Final, NamedTuple

from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadDisplaced
from fairlead.model.plan import Decision, Reason
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey
from fairlead.policy.kai.actions.allocate import AllocateAction, Listener
from fairlead.policy.kai.actions.context import CycleContext
from fairlead.policy.kai.actions.prefilter import Backend, plain_backend
from fairlead.policy.kai.actions.victim_action import VictimAction
from fairlead.policy.kai.jobs.cycle_record import Act
from fairlead.policy.kai.ordering.pending_jobs import NO_PODS, PendingJobs
from fairlead.policy.kai.ordering.tournament import QueueTournament
from fairlead.policy.kai.reasons.why import misplaced, why_unready
from fairlead.policy.kai.settings import KaiSettings

BEYOND_QUEUE_DEPTH: Final = "BeyondQueueDepth"
ALLOCATE_IS_OFF: Final = "AllocateIsOff"
WOULD_BE_EVICTED: Final = "WouldBeEvicted"

NO_TAKERS: Final[Mapping[WorkloadName, WorkloadName]] = MappingProxyType({})


class Restraint(NamedTuple):
    """What a cycle does not do although it could."""

    held_back: Mapping[WorkloadName, Set[PodId]] = NO_PODS  # pending pods that do not start
    spared: Set[PodKey] = frozenset()  # running pods that are not evicted
    takers: Mapping[WorkloadName, WorkloadName] = NO_TAKERS
    """For each job that is held back, the one that would take its place in the next cycle."""


NO_RESTRAINT: Final = Restraint()


class KaiCycle:
    """The actions of one cycle."""

    def __init__(
        self,
        state: ClusterState,
        settings: KaiSettings,
        now_ms: int,
        backend: Backend | None = None,
        restraint: Restraint = NO_RESTRAINT,
        *,
        explain: bool = True,
        at_most_starts: int | None = None,
    ) -> None:
        """Divide the cluster and read the pending jobs. The caller has put *state* on trial.

        *backend* is that of this state and these settings; None: the plain one. With *explain* the
        decisions say why jobs wait. The cycle may be cut once *at_most_starts* pods have started.
        """
        self._backend = backend or plain_backend(state, settings)
        self.context = CycleContext(
            state, settings, now_ms, self._backend.sources, restraint.held_back, explain=explain
        )
        self.state = state
        self.settings = settings
        self.record = self.context.record
        self._allocate = AllocateAction(self.context, self._backend.prefilter, at_most_starts)
        self.time_dependent = False  # at another time the outcome may differ
        self._restraint = restraint

    @property
    def jobs(self) -> PendingJobs:
        """The pending jobs, or those of them that meet now."""
        return self._allocate.jobs

    @property
    def tournament(self) -> QueueTournament:
        """The order in which their queues are served by allocate."""
        return self._allocate.tournament

    def may_find_room(self, job: WorkloadName) -> bool:
        """Return whether the pending *job* is one of those that meet now."""
        return self._allocate.may_find_room(job)

    @property
    def is_cut(self) -> bool:
        """Whether it ended after so many starts, before all jobs had their turns."""
        return self._allocate.is_cut

    def decisions(self, listener: Listener | None = None) -> list[Decision]:
        """Return what becomes of every job; the state holds the outcome.

        First the jobs that have no turn at all, then action by action, turn by turn.
        """
        explain = self.context.explain
        if explain and not self.context.is_idle:
            self._explain_jobs_without_turn()
        has_waiting, known_at = self.state.has_waiting(), self.state.moment
        for action in self.settings.actions:
            if self.state.moment != known_at:
                has_waiting, known_at = self.state.has_waiting(), self.state.moment
            match action:
                case "stalegangeviction":
                    self._evict_stale_gangs()
                case _ if not has_waiting:
                    pass  # no pod is pending, or all have got their places
                case "allocate":
                    self._run_allocate(listener)
                    if self.is_cut:
                        return self.record.decisions(explain=False)
                case "consolidation" | "reclaim" | "preempt":
                    prefilter = self._backend.prefilter
                    run = VictimAction(self.context, prefilter, action, self._restraint.spared)
                    run.run()
                    self.time_dependent |= run.time_dependent
        return self.record.decisions(explain=explain)

    def _explain_jobs_without_turn(self) -> None:
        record, workloads = self.record, self.state.workloads
        for name, reason in misplaced(self.state, self.context.leaves):
            record.wait(name, reason)
        for name in self.jobs.unready:
            record.wait(name, why_unready(self.state, name, self.context.gang(name)))
        for name in self._restraint.held_back:
            if name in self.state.holds.workloads:
                continue  # it has that reason already
            taker = self._restraint.takers.get(name)
            names = () if taker is None else (taker,)
            reason = Reason(code=WOULD_BE_EVICTED, queue=workloads[name].queue, names=names)
            record.wait(name, reason)
        if "allocate" not in self.settings.actions:
            for name in (*self.jobs.names(), *self.jobs.beyond_depth):
                record.wait(name, Reason(code=ALLOCATE_IS_OFF, queue=workloads[name].queue))

    def _run_allocate(self, listener: Listener | None) -> None:
        """Give idle room to jobs, and explain those whose turn never comes."""
        if self.settings.actions[0] != "allocate":  # earlier actions may have changed what waits
            self._allocate = AllocateAction(self.context, self._backend.prefilter)
        self._allocate.run(listener)
        for name in self._allocate.all_jobs.beyond_depth if self.context.explain else ():
            reason = Reason(code=BEYOND_QUEUE_DEPTH, queue=self.state.workloads[name].queue)
            self.record.wait(name, reason)

    def _evict_stale_gangs(self) -> None:
        grace_ms, now_ms = self.settings.stale_grace_ms, self.context.now_ms
        gangs, held = self.context.sources.stale_gangs, self.state.holds.victim_workloads()
        for name, pods, reason in gangs.all(now_ms, grace_ms):
            if name in held:
                continue
            self.record.touch(name)
            self.state.apply(WorkloadDisplaced(workload=name, pods=pods))
            self.record.act(Act(reason), [(name, pod) for pod in pods])
        self.time_dependent |= gangs.are_awaited(now_ms, grace_ms)
