"""Which pods of a workload are to be tried, and how many of them must start together."""

from typing import NamedTuple

from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodId, Workload


class Readiness(NamedTuple):
    """What of a workload has no place and may be given one."""

    pods: tuple[PodId, ...]  # in the order of trying
    staying: int  # how many have a place, and keep it
    needed: int  # how many of the pods must start together; 0: each by itself
    there: int  # how many pods stay or wait, those that are held back included


def readiness(state: ClusterState, workload: Workload) -> Readiness:
    """Return what is to be tried of *workload*. Cost: a look at each of its pods."""
    run = state.runs.get(workload.name)
    placed = run.pods if run else {}
    staying = sum(1 for each in placed.values() if each.is_running())
    waiting = [pod for pod in workload.pods() if pod not in placed]
    return Readiness(
        pods=tuple([pod for pod in waiting if not workload.pod_sets.of(pod).gated]),
        staying=staying,
        needed=max(0, workload.min_count - staying) if _is_gang(workload) else 0,
        there=staying + len(waiting),
    )


def _is_gang(workload: Workload) -> bool:
    """Return whether pods are to start together; one pod, too, may need more than it asks for."""
    own = workload.extension
    return workload.min_count > 1 or (isinstance(own, ElasticPods) and bool(own.min_resources))
