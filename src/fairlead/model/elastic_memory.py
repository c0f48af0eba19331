"""What ElasticQuota's rules must know of earlier decisions: which pods wait for which nodes.

A plan looks at the state alone, so a nomination is put down with the workload. Every workload that
waits is decided about in every plan: who is given no reservation has none any more.
"""

from msgspec.structs import replace

from fairlead.model.plan import Decision, Evict, Move, Reserve, Start
from fairlead.model.workload import ElasticPods, PodId, Workload


def remember_nominations(workload: Workload, decision: Decision, now_ms: int) -> Workload | None:
    """Return *workload* as it is after *decision* about it; None if nothing changed.

    Pods that start are nominated no more. A reservation says where all of the others wait, and
    keeps since when; a wait ends it.
    """
    before = workload.extension
    if not isinstance(before, ElasticPods) or isinstance(decision, Evict | Move):
        return None
    nominated: dict[PodId, str] = {}
    if isinstance(decision, Reserve):
        nominated = {each.pod: each.node for each in decision.placements if each.node is not None}
    elif isinstance(decision, Start):
        started = {each.pod for each in decision.placements}
        nominated = {pod: node for pod, node in before.nominated.items() if pod not in started}
    since_ms = before.nominated_ms
    if not nominated:
        since_ms = None
    elif not before.nominated or since_ms is None:
        since_ms = now_ms
    after = replace(before, nominated=nominated, nominated_ms=since_ms)
    return replace(workload, extension=after) if after != before else None
