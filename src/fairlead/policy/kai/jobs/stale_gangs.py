"""Gangs that run with fewer pods than they need, and have done so for too long.

What is left of such a gang holds its place and is of no use, so it gives it up as a whole. Pods
that are leaving still count: the gang may be on its way already.

Since when a gang is incomplete has to be remembered from plan to plan. The plan says it as data,
and it is remembered when the plan is carried out; nothing is written to the state here.
"""

from collections.abc import Callable, Iterable
from typing import Final

from fairlead.model.axes import WorkloadName
from fairlead.model.events import MemoryChanged
from fairlead.model.memory import KaiMemory
from fairlead.model.plan import Decision, Reason, Tally, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodId
from fairlead.policy.kai.jobs.gang import Gang

STALE_GANG: Final = "StaleGang"
FOR_EVER_MS: Final = 1 << 62


class StaleGangs:
    """Gangs that lack pods, followed through the changes of one state."""

    def __init__(self, state: ClusterState, gang_of: Callable[[WorkloadName], Gang]) -> None:
        """Follow *state*. Nobody is looked at yet."""
        self._state = state
        self._gang_of = gang_of
        self._read_at: int | None = None  # None: nothing was read
        self._broken: set[WorkloadName] = set()  # who has fewer pods than it needs
        self._noted: set[WorkloadName] = set()  # who is known to have been so before

    def all(
        self, now_ms: int, grace_ms: int
    ) -> list[tuple[WorkloadName, tuple[PodId, ...], Reason]]:
        """Return each stale gang with the pods it has and why they go, by name.

        *grace_ms* is for jobs that do not say how long they may be incomplete; negative: for ever.
        One that is not known to have been incomplete before is so from now on. Cost: who changed,
        and who lacks pods.
        """
        self._catch_up()
        state, found = self._state, []
        for name in sorted(self._broken):
            if self._grace_left_ms(name, now_ms, grace_ms) > 0:
                continue
            run = state.runs[name]
            stay = [pod for pod, placed in run.pods.items() if placed.phase != "leaving"]
            if stay:
                reason = _reason(state, name, self._gang_of(name).broken(run))
                found.append((name, tuple(run.pod_sets.in_order(stay)), reason))
        return found

    def are_awaited(self, now_ms: int, grace_ms: int) -> bool:
        """Return whether time alone may make a gang stale: one is known to be incomplete."""
        self._catch_up()
        known = self._broken & self._noted
        left = (self._grace_left_ms(name, now_ms, grace_ms) for name in known)
        return any(0 < left_ms < FOR_EVER_MS for left_ms in left)

    def memories(
        self, now_ms: int, grace_ms: int, decisions: Iterable[Decision]
    ) -> tuple[MemoryChanged, ...]:
        """Return which gangs are incomplete from now on, and which are so no more, by name.

        One that gains or loses by *decisions* does not begin to be: it may be complete, or gone,
        once they are carried out. Nor does one of which pods have succeeded, since it may be nearly
        done, one that is leaving as a whole, or one that may be incomplete for ever.
        """
        self._catch_up()
        begun, ended = self._broken - self._noted, self._noted - self._broken
        if begun:
            begun -= {each.workload for each in decisions if not isinstance(each, Wait)}
        since_now = KaiMemory(stale_since_ms=now_ms)
        found: dict[WorkloadName, KaiMemory | None] = dict.fromkeys(ended)
        found |= {
            name: since_now for name in begun if self._is_to_be_counted(name, now_ms, grace_ms)
        }
        return tuple([MemoryChanged(name, found[name]) for name in sorted(found)])

    def _catch_up(self) -> None:
        touched = self._state.touched
        if self._read_at is None or not touched.remembers(self._read_at):
            self._broken.clear()
            self._noted.clear()
            self._read({*self._state.runs, *self._state.memories})
        elif self._read_at != touched.moment:
            self._read(touched.since(self._read_at))
        self._read_at = touched.moment

    def _read(self, names: Iterable[WorkloadName]) -> None:
        for name in names:
            self._broken.discard(name)
            self._noted.discard(name)
            if self._stale_since_ms(name) is not None:
                self._noted.add(name)
            run = self._state.runs.get(name)
            job = None if run is None else self._state.workloads[name].extension
            if run is not None and isinstance(job, KaiJob) and self._gang_of(name).broken(run):
                self._broken.add(name)

    def _is_to_be_counted(self, name: WorkloadName, now_ms: int, grace_ms: int) -> bool:
        job, placed = self._state.workloads[name].extension, self._state.runs[name].pods.values()
        is_ending = isinstance(job, KaiJob) and job.has_succeeded_pods
        if is_ending or all(each.phase == "leaving" for each in placed):
            return False
        return self._grace_left_ms(name, now_ms, grace_ms) < FOR_EVER_MS

    def _stale_since_ms(self, name: WorkloadName) -> int | None:
        memory = self._state.memories.get(name)
        return memory.stale_since_ms if isinstance(memory, KaiMemory) else None

    def _grace_left_ms(self, name: WorkloadName, now_ms: int, grace_ms: int) -> int:
        job, since_ms = self._state.workloads[name].extension, self._stale_since_ms(name)
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
