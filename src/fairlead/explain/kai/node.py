"""What a node is to the jobs that wait under the KAI rules."""

from fairlead.explain.node import WaitingJob, barred_text
from fairlead.policy.kai.api import KaiCycle


def waiting_for_node(cycle: KaiCycle, node: str) -> list[WaitingJob]:
    """Return what the next pod of each waiting job finds on *node*."""
    state, finder = cycle.state, cycle.context.finder
    waiting = []
    for queue in state.tree_order():
        for name in state.waiting(queue):
            workload = state.workloads[name]
            for pod in cycle.jobs.next_pods(name)[:1]:
                at = workload.pod_sets.set_index[pod]
                what = barred_text(workload, [pod]) or finder.standing(workload, at, node)
                waiting.append(WaitingJob(workload=name, queue=queue, what=what))
    return waiting
