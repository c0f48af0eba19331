"""One cycle of KAI's rules, on a state that is on trial: its actions, one after the other.

Whoever wants to know why something came out as it did can listen to the turns.
"""

from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Final

from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadDisplaced
from fairlead.model.plan import Decision, Reason
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey
from fairlead.policy.kai.allocate_round import AllocateRound, Listener
from fairlead.policy.kai.claim_round import ClaimRound
from fairlead.policy.kai.cycle_record import Act
from fairlead.policy.kai.cycle_view import CycleView
from fairlead.policy.kai.followed_state import FollowedState
from fairlead.policy.kai.jobs_without_turn import misplaced, why_unready
from fairlead.policy.kai.pending_jobs import NOBODY, PendingJobs
from fairlead.policy.kai.queue_race import QueueRace
from fairlead.policy.kai.settings import KaiSettings

BEYOND_QUEUE_DEPTH: Final = "BeyondQueueDepth"
ALLOCATE_IS_OFF: Final = "AllocateIsOff"
WOULD_BE_EVICTED: Final = "WouldBeEvicted"

NO_TAKERS: Final[Mapping[WorkloadName, WorkloadName]] = MappingProxyType({})


class KaiCycle:
    """The actions of one cycle."""

    def __init__(
        self,
        state: ClusterState,
        settings: KaiSettings,
        now_ms: int,
        followed: FollowedState | None = None,
        held_back: Mapping[WorkloadName, Set[PodId]] = NOBODY,
        spared: Set[PodKey] = frozenset(),
        takers: Mapping[WorkloadName, WorkloadName] = NO_TAKERS,
        *,
        tells_why: bool = True,
        at_most_starts: int | None = None,
    ) -> None:
        """Divide the cluster and line up what waits. The caller has put *state* on trial.

        What is *followed* of that state with the same settings serves for many cycles. Pods that
        are *held_back* start nothing in this one, although they wait, because the *takers* of their
        jobs would have their places next; those that are *spared* are not asked to give way.
        Without *tells_why* nobody is told why it waits; then the cycle may be cut once
        *at_most_starts* pods have started.
        """
        self.view = CycleView(state, settings, now_ms, followed, held_back, tells_why=tells_why)
        self.state = state
        self.settings = settings
        self.record = self.view.record
        self._turns = AllocateRound(self.view, at_most_starts)
        self.looked_at_the_clock = False  # at another time it might come out otherwise
        self.has_displaced = False  # somebody had to leave its place, or was to move
        self._held_back = held_back
        self._spared = spared
        self._takers = takers

    @property
    def jobs(self) -> PendingJobs:
        """Those who wait, or who of them meet just now."""
        return self._turns.jobs

    @property
    def race(self) -> QueueRace:
        """The order in which their queues are served when idle room is given away."""
        return self._turns.race

    def may_find_room(self, job: WorkloadName) -> bool:
        """Return whether *job*, which waits, is one of those who meet just now."""
        return self._turns.may_find_room(job)

    @property
    def is_cut(self) -> bool:
        """Whether it ended after so many starts, before all had their turns."""
        return self._turns.is_cut

    def decisions(self, listener: Listener | None = None) -> list[Decision]:
        """Return what becomes of every job; what it comes to is in the state.

        First those that have no turn at all, then action by action, turn by turn.
        """
        if self.view.tells_why and not self.view.is_idle:
            self._tell_who_has_no_turn()
        has_waiting, known_at = self.state.has_waiting(), self.state.moment
        for action in self.settings.actions:
            if self.state.moment != known_at:
                has_waiting, known_at = self.state.has_waiting(), self.state.moment
            match action:
                case "stalegangeviction":
                    self._evict_stale_gangs()
                case _ if not has_waiting:
                    pass  # nobody wants anything, or all have got it
                case "allocate":
                    self._allocate(listener)
                    if self.is_cut:
                        return self.record.decisions(tells_why=False)
                case "consolidation" | "reclaim" | "preempt":
                    claims = ClaimRound(self.view, action, self._spared)
                    claims.run()
                    self.looked_at_the_clock |= claims.looked_at_the_clock
                    self.has_displaced |= claims.has_displaced
        return self.record.decisions(tells_why=self.view.tells_why)

    def _tell_who_has_no_turn(self) -> None:
        record = self.record
        for name, reason in misplaced(self.state, self.view.leaves):
            record.wait(name, reason)
        for name in self.jobs.unready:
            record.wait(name, why_unready(self.state, name, self.view.gang(name)))
        for name in self._held_back:
            if name in self.state.holds.workloads:
                continue  # it is told that already
            queue = self.state.workloads[name].queue
            taker = self._takers.get(name)
            names = () if taker is None else (taker,)
            record.wait(name, Reason(code=WOULD_BE_EVICTED, queue=queue, names=names))
        if "allocate" not in self.settings.actions:
            for name in (*self.jobs.names(), *self.jobs.beyond_depth):
                queue = self.state.workloads[name].queue
                record.wait(name, Reason(code=ALLOCATE_IS_OFF, queue=queue))

    def _allocate(self, listener: Listener | None) -> None:
        """Give idle room to jobs, and tell those whose turn never comes."""
        if self.settings.actions[0] != "allocate":  # those before it may have changed who waits
            self._turns = AllocateRound(self.view)
        self._turns.run(listener)
        for name in self._turns.everybody.beyond_depth if self.view.tells_why else ():
            reason = Reason(code=BEYOND_QUEUE_DEPTH, queue=self.state.workloads[name].queue)
            self.record.wait(name, reason)

    def _evict_stale_gangs(self) -> None:
        grace_ms, now_ms = self.settings.stale_grace_ms, self.view.now_ms
        gangs, held = self.view.stale_gangs, self.state.holds.victim_workloads()
        for name, pods, reason in gangs.all(now_ms, grace_ms):
            if name in held:
                continue
            self.record.touch(name)
            self.has_displaced = True
            self.state.apply(WorkloadDisplaced(workload=name, pods=pods))
            self.record.act(Act(reason), [(name, pod) for pod in pods])
        self.looked_at_the_clock |= gangs.are_awaited(now_ms, grace_ms)
