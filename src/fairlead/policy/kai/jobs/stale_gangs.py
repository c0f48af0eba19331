"""Gangs that have run with fewer pods than their minimum for too long.

What is left of such a gang occupies its places without use, so all of it is evicted. Terminating
pods still count: the gang may be ending already.

Since when a gang is incomplete must be remembered from plan to plan. The plan carries it as data,
and it is remembered when the plan is carried out; nothing is written to the state here.
"""

from collections.abc import Callable, Iterable, Set
from typing import Final, NamedTuple

from fairlead.model.axes import WorkloadName
from fairlead.model.events import MemoryChanged
from fairlead.model.memory import KaiMemory
from fairlead.model.plan import Decision, LeftPending, Reason, Tally
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodId
from fairlead.policy.kai.jobs.gang import Gang

STALE_GANG: Final = "StaleGang"
FOR_EVER_MS: Final = 1 << 62


class IncompleteGangs(NamedTuple):
    """The gangs with fewer pods than their minimum, and those remembered to be so."""

    broken: Set[WorkloadName]
    remembered: Set[WorkloadName]


def find_incomplete(state: ClusterState) -> IncompleteGangs:
    """Return the incomplete gangs of *state*. Cost: all jobs that run or are remembered."""
    names = {*state.runs, *state.memories}
    return IncompleteGangs(
        {name for name in names if is_broken(state, name)},
        {name for name in names if stale_since_ms(state, name) is not None},
    )


def is_broken(state: ClusterState, name: WorkloadName) -> bool:
    """Return whether a job runs with fewer pods than its minimum."""
    run = state.runs.get(name)
    if run is None or not isinstance(state.workloads[name].extension, KaiJob):
        return False
    return bool(Gang(state.workloads[name]).broken(run))


def stale_since_ms(state: ClusterState, name: WorkloadName) -> int | None:
    """Return since when a gang is remembered to be incomplete; None: it is not."""
    memory = state.memories.get(name)
    return memory.stale_since_ms if isinstance(memory, KaiMemory) else None


class StaleGangs:
    """Finds stale gangs of one state."""

    def __init__(
        self,
        state: ClusterState,
        incomplete: Callable[[], IncompleteGangs] | None = None,
    ) -> None:
        """Read *incomplete* gangs whenever they are needed; None: they are searched in *state*."""
        self._state = state
        self._incomplete = incomplete or (lambda: find_incomplete(state))

    def all(
        self, now_ms: int, grace_ms: int
    ) -> list[tuple[WorkloadName, tuple[PodId, ...], Reason]]:
        """Return each stale gang with its pods and the reason to evict them, by name.

        *grace_ms* is for jobs without a grace period of their own; negative: it never ends. A gang
        that is not remembered to be incomplete is so from now on.
        """
        state, found = self._state, []
        for name in sorted(self._incomplete().broken):
            if self._grace_left_ms(name, now_ms, grace_ms) > 0:
                continue
            run = state.runs[name]
            stay = [pod for pod, placed in run.pods.items() if placed.phase != "leaving"]
            if stay:
                reason = _reason(state, name, Gang(state.workloads[name]).broken(run))
                found.append((name, tuple(run.pod_sets.in_order(stay)), reason))
        return found

    def are_awaited(self, now_ms: int, grace_ms: int) -> bool:
        """Return whether time alone may make a gang stale: one is remembered to be incomplete."""
        incomplete = self._incomplete()
        known = incomplete.broken & incomplete.remembered
        left = (self._grace_left_ms(name, now_ms, grace_ms) for name in known)
        return any(0 < left_ms < FOR_EVER_MS for left_ms in left)

    def memories(
        self, now_ms: int, grace_ms: int, decisions: Iterable[Decision]
    ) -> tuple[MemoryChanged, ...]:
        """Return which gangs become incomplete now, and which are so no more, by name.

        A gang that *decisions* change does not become so: it may be complete, or gone, once they
        are carried out. Nor does one with succeeded pods, since it may be nearly done, one that is
        terminating as a whole, or one whose grace period never ends.
        """
        broken, remembered = self._incomplete()
        begun, ended = broken - remembered, remembered - broken
        if begun:
            begun -= {each.workload for each in decisions if not isinstance(each, LeftPending)}
        since_now = KaiMemory(stale_since_ms=now_ms)
        found: dict[WorkloadName, KaiMemory | None] = dict.fromkeys(ended)
        found |= {
            name: since_now for name in begun if self._is_to_be_counted(name, now_ms, grace_ms)
        }
        return tuple([MemoryChanged(name, found[name]) for name in sorted(found)])

    def _is_to_be_counted(self, name: WorkloadName, now_ms: int, grace_ms: int) -> bool:
        job, placed = self._state.workloads[name].extension, self._state.runs[name].pods.values()
        is_ending = isinstance(job, KaiJob) and job.has_succeeded_pods
        if is_ending or all(each.phase == "leaving" for each in placed):
            return False
        return self._grace_left_ms(name, now_ms, grace_ms) < FOR_EVER_MS

    def _grace_left_ms(self, name: WorkloadName, now_ms: int, grace_ms: int) -> int:
        job, since_ms = self._state.workloads[name].extension, stale_since_ms(self._state, name)
        own_ms = job.staleness_grace_ms if isinstance(job, KaiJob) else None
        own_ms = grace_ms if own_ms is None else own_ms
        since_ms = now_ms if since_ms is None else since_ms
        return FOR_EVER_MS if own_ms < 0 else since_ms + own_ms - now_ms


def _reason(state: ClusterState, name: WorkloadName, lacking: list[tuple[str, int, int]]) -> Reason:
    tallies = tuple(
        Tally(count=count, of=minimum, things=f"pods that {group or 'the job'} needs", what="run")
        for group, count, minimum in lacking
    )
    return Reason(code=STALE_GANG, queue=state.workloads[name].queue, tallies=tallies)
