"""Gangs that run with fewer pods than they need, and have done so for too long.

What is left of such a gang holds its place and is of no use, so it gives it up as a whole. Pods
that are leaving still count: the gang may be on its way already.
"""

from collections.abc import Callable, Iterator
from typing import Final

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Reason, Tally
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob, PodId
from fairlead.policy.kai.gang import Gang

STALE_GANG: Final = "StaleGang"
FOR_EVER_MS: Final = 1 << 62


def stale_gangs(
    state: ClusterState, gang_of: Callable[[WorkloadName], Gang], now_ms: int, grace_ms: int
) -> Iterator[tuple[WorkloadName, tuple[PodId, ...], Reason]]:
    """Yield each stale gang with the pods it has and why they go, by name.

    *grace_ms* is for jobs that do not say how long they may be incomplete; negative: for ever. One
    that is not known to have been incomplete before is so from now on.
    """
    for name in sorted(state.runs):
        job = state.workloads[name].extension
        if not isinstance(job, KaiJob) or _grace_left_ms(job, now_ms, grace_ms) > 0:
            continue
        run = state.runs[name]
        lacking = gang_of(name).broken(run)
        pods = tuple(sorted(pod for pod, placed in run.pods.items() if placed.phase != "leaving"))
        if lacking and pods:
            yield name, pods, _reason(state, name, lacking)


def awaits_staleness(state: ClusterState, now_ms: int, grace_ms: int) -> bool:
    """Return whether time alone may make a gang stale: one is known to be incomplete."""
    jobs = (state.workloads[name].extension for name in state.runs)
    return any(
        isinstance(job, KaiJob)
        and job.stale_since_ms is not None
        and 0 < _grace_left_ms(job, now_ms, grace_ms) < FOR_EVER_MS
        for job in jobs
    )


def _grace_left_ms(job: KaiJob, now_ms: int, grace_ms: int) -> int:
    own_ms = grace_ms if job.staleness_grace_ms is None else job.staleness_grace_ms
    since_ms = now_ms if job.stale_since_ms is None else job.stale_since_ms
    return FOR_EVER_MS if own_ms < 0 else since_ms + own_ms - now_ms


def _reason(state: ClusterState, name: WorkloadName, lacking: list[tuple[str, int, int]]) -> Reason:
    tallies = tuple(
        Tally(count=count, of=minimum, things=f"pods that {group or 'the job'} needs", what="run")
        for group, count, minimum in lacking
    )
    return Reason(code=STALE_GANG, queue=state.workloads[name].queue, tallies=tallies)
