"""KAI's rules as one function: from a state to what should be done about it."""

from typing import NamedTuple

from fairlead.model.collector import paused_collector
from fairlead.model.events import MemoryChanged
from fairlead.model.execution.holding import holding
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.plan import Decision, Plan
from fairlead.model.state import ClusterState
from fairlead.policy.kai.actions.look_ahead import LookAhead, look_ahead
from fairlead.policy.kai.actions.prefilter import Backend, plain_backend
from fairlead.policy.kai.fair_share.shares import KaiShare
from fairlead.policy.kai.incremental.sources import IncrementalSources
from fairlead.policy.kai.pruning.prefilter import BoundsPrefilter
from fairlead.policy.kai.settings import KaiSettings


class KaiPolicy:
    """Plans under KAI's rules with the settings of one administrator."""

    def __init__(self, settings: KaiSettings, *, plain: bool = False) -> None:
        """Make the policy once; it may plan for any number of states, and is fastest for one.

        *plain*: without incremental sources and pruning. Law: the decisions are the same.
        """
        self.settings = settings
        self._plain = plain
        self._tracked: tuple[ClusterState, Backend] | None = None
        self._last: _LastPlan | None = None

    @paused_collector()
    def plan(
        self,
        state: ClusterState,
        now_ms: int,
        *,
        held: Holds = NOTHING_HELD,
        at_most_starts: int | None = None,
        explain: bool = True,
    ) -> Plan:
        """Return what to do about *state*, which is afterwards as it was before.

        The same state gives the same decisions, whatever was planned before and in whichever order
        objects were listed. A state that has not changed since the last call costs nothing; one
        that has, keeps what did not change.

        A *held* job is not pending, so that others pass it. It keeps its running pods, which may be
        evicted as always. A job with a pod that is held as a victim is not evicted at all, since
        the rest of a gang alone would be of no use.

        The plan stops after *at_most_starts* pods, but not within a gang, where it is plain that
        all pending pods can start (see `may_cut`). Law: slices in a row, each carried out, are the
        whole plan without its waits, in both modes; the last one has the waits.
        """
        request = PlanRequest(held, at_most_starts, explain)
        made = self._look_ahead(state, now_ms, request)
        return Plan(
            taken_ms=now_ms,
            decisions=made.decisions,
            memories=made.memories,
            is_cut=made.is_cut,
            time_dependent=made.taken_ms is not None,
        )

    def shares(self, state: ClusterState) -> list[KaiShare]:
        """Return what queues are entitled to, parents before children, siblings by name.

        Law: these are the rows of `KaiShares`. Cost: what changed since the last plan.
        """
        return list(self._backend(state).sources.division().shares.values())

    def _look_ahead(self, state: ClusterState, now_ms: int, request: "PlanRequest") -> "_LastPlan":
        backend, last = self._backend(state), self._last
        if not self._plain and last is not None and last.may_serve(state, now_ms, request):
            return last
        with holding(state, request.held):
            found = look_ahead(
                state,
                self.settings,
                now_ms,
                backend,
                explain=request.explain,
                at_most_starts=request.at_most_starts,
            )
            memories = self._memories(backend, found, now_ms)
        time_dependent = found.time_dependent or any(each.memory for each in memories)
        self._last = made = _LastPlan(
            moment=state.moment,
            decisions=found.decisions,
            memories=memories,
            is_cut=found.is_cut,
            request=request,
            taken_ms=now_ms if time_dependent else None,
        )
        return made

    def _memories(
        self, backend: Backend, found: LookAhead, now_ms: int
    ) -> tuple[MemoryChanged, ...]:
        """Return which gangs became incomplete or complete, if that is to count.

        Not of a plan that is cut: the next one may complete them.
        """
        if found.is_cut or "stalegangeviction" not in self.settings.actions:
            return ()
        grace_ms = self.settings.stale_grace_ms
        return backend.sources.stale_gangs.memories(now_ms, grace_ms, found.decisions)

    def _backend(self, state: ClusterState) -> Backend:
        """Return the backend of *state*; that of one state is kept."""
        if self._tracked is None or self._tracked[0] is not state:
            make = plain_backend if self._plain else fast_backend
            self._tracked, self._last = (state, make(state, self.settings)), None
        return self._tracked[1]


class PlanRequest(NamedTuple):
    """What a caller asks for besides the state and the time."""

    held: Holds
    at_most_starts: int | None
    explain: bool  # why jobs wait


class _LastPlan(NamedTuple):
    """The last plan, and for what it was made."""

    moment: int
    decisions: tuple[Decision, ...]
    memories: tuple[MemoryChanged, ...]
    is_cut: bool
    request: PlanRequest
    taken_ms: int | None  # None: it is the same at any time

    def may_serve(self, state: ClusterState, now_ms: int, request: PlanRequest) -> bool:
        """Return whether nothing changed but the time, and that makes no difference."""
        is_same_time = self.taken_ms is None or self.taken_ms == now_ms
        return self.moment == state.moment and is_same_time and self.request == request


def fast_backend(state: ClusterState, settings: KaiSettings) -> Backend:
    """Return the backend with incremental sources and pruning."""
    sources = IncrementalSources(state, settings)
    return Backend(sources, BoundsPrefilter(sources))
