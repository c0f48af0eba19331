"""What ElasticQuota's rules must know of earlier decisions: which pods wait for which nodes.

Every workload that waits is decided about in every plan: one that is given no reservation has none
any more.
"""

from fairlead.model.memory import ElasticMemory, Memory
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start
from fairlead.model.workload import ElasticPods, PodId, Workload


def remember_nominations(
    workload: Workload, memory: Memory | None, decision: Decision, now_ms: int
) -> ElasticMemory | None:
    """Return what is remembered after a *decision* of *now_ms* instead of *memory*; None: the same.

    Pods that start are nominated no more. A reservation says where all of the others wait, and
    keeps since when; a wait ends it.
    """
    if not isinstance(workload.extension, ElasticPods) or isinstance(decision, Evict | Move):
        return None
    before = memory if isinstance(memory, ElasticMemory) else ElasticMemory()
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
    after = ElasticMemory(nominated=nominated, nominated_ms=since_ms)
    return after if after != before else None
