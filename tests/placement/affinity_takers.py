"""Which of four nodes in two zones may take a pod, asked of the fast judge and of the plain one."""

from fairlead.model.axes import WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload, numbered_pod
from fairlead.placement.pod_affinity import PodAffinity
from tests.placement.reference_pod_affinity import Time, is_allowed

POD = numbered_pod("main", 0)
TIMES: tuple[Time, ...] = ("now", "later")
NODES = """
    node  labels
    a1    zone=a,host=a1
    a2    zone=a,host=a2
    b1    zone=b,host=b1
    out   -
"""


def takers(
    judge: PodAffinity, state: ClusterState, asked: Workload, when: Time = "later"
) -> list[str]:
    """Return the nodes that may take a pod, of which the plain version thinks the same."""
    around = judge.around(asked, 0)
    nodes = state.nodes
    found: dict[Time, list[str]] = {
        "now": [name for name, each in nodes.items() if around.holds_now(each)],
        "later": [name for name, each in nodes.items() if around.defect(each) is None],
    }
    for time, names in found.items():
        plain = [name for name, each in nodes.items() if is_allowed(state, asked, 0, each, time)]
        assert names == plain
        assert not around.allow_all or len(names) == len(nodes)
    return found[when]


def waiting(state: ClusterState, name: str = "p") -> Workload:
    """Return the pod that is to be placed."""
    return state.workloads[WorkloadName(name)]
