"""Every sum of a state, recomputed plainly from its facts and compared.

Slow and simple on purpose: it adds up pod by pod, and shares no sum with the incremental updates
that it checks. Tests call it after every step.
"""

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.node_books import PodKey
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload


def check_invariants(state: ClusterState) -> None:
    """Raise AssertionError naming the first sum of *state* that is not what its facts say."""
    _check_capacity(state)
    _check_nodes(state)
    _check_runs(state)
    _check_index(state)
    for queue in state.queues:
        _check_queue(state, queue)


def _check_capacity(state: ClusterState) -> None:
    for at, resource in enumerate(state.resources):
        ready = [node for node in state.nodes.values() if node.ready]
        expected = sum(node.allocatable[at] - node.occupied[at] for node in ready)
        assert state.capacity[at] == expected, f"capacity of {resource}"


def _check_nodes(state: ClusterState) -> None:
    held: dict[str, list[int]] = {}
    leaving: dict[str, list[int]] = {}
    pods: dict[str, list[PodKey]] = {}
    for name, run in state.runs.items():
        for pod, placed in run.pods.items():
            if placed.node is None:
                continue
            requests = _requests(state.workloads[name], pod)
            nothing = [0] * len(state.resources)
            _increase(held.setdefault(placed.node, list(nothing)), requests)
            gone = requests if placed.leaving else tuple(nothing)
            _increase(leaving.setdefault(placed.node, list(nothing)), gone)
            pods.setdefault(placed.node, []).append((name, pod))
    assert state.books.booked() == sorted(pods), "nodes with pods"
    for node in {*pods, *state.nodes}:
        nothing = [0] * len(state.resources)
        assert list(state.books.held(node)) == held.get(node, nothing), f"held on {node}"
        assert list(state.books.leaving(node)) == leaving.get(node, nothing), f"leaving {node}"
        assert state.books.pods(node) == sorted(pods.get(node, ())), f"pods on {node}"


def _check_runs(state: ClusterState) -> None:
    for name, run in state.runs.items():
        assert run.pods, f"{name} has a run without a pod"
        assert run.pods.keys() <= set(state.workloads[name].pods()), f"pods of {name}"


def _check_index(state: ClusterState) -> None:
    queued = [(w.queue, name) for name, w in state.workloads.items()]
    indexed = [
        (queue, name)
        for queue in {w.queue for w in state.workloads.values()} | state.queues.keys()
        for name in state.queued(queue)
    ]
    assert sorted(queued) == sorted(indexed), "workloads by queue"
    assert state.sums.keys() == state.queues.keys(), "every queue has sums, and nothing else"
    for name, queue in state.queues.items():
        assert name in state.children(queue.parent), f"{name} below its parent"
        for child in state.children(name):
            assert state.queues[child].parent == name, f"{child} is not below {name}"


def _check_queue(state: ClusterState, queue: QueueName) -> None:
    allocated = [0] * len(state.axes)
    non_preemptible = [0] * len(state.axes)
    leaving = [0] * len(state.axes)
    pending = [0] * len(state.resources)
    for workload in _below(state, queue):
        run = state.runs.get(workload.name)
        for pod in workload.pods():
            placed = run.pods.get(pod) if run else None
            requests = _requests(workload, pod)
            if placed is None:
                if workload.active and not workload.pod_sets[pod.pod_set].gated:
                    _increase(pending, requests)
                continue
            flavors = run.flavors[pod.pod_set] if run else {}
            charge = _charge(state, requests, flavors)
            _increase(leaving if placed.leaving else allocated, charge)
            if not placed.leaving and not workload.preemptible:
                _increase(non_preemptible, charge)
    sums = state.sums[queue]
    assert sums.allocated == allocated, f"allocated of {queue}"
    assert sums.non_preemptible == non_preemptible, f"non-preemptible of {queue}"
    assert sums.leaving == leaving, f"leaving of {queue}"
    assert sums.pending == pending, f"pending of {queue}"


def _charge(state: ClusterState, requests: Amounts, flavors: dict[str, str]) -> Amounts:
    charged = [0] * len(state.axes)
    for at, axis in enumerate(state.axes.axes):
        for resource, amount in zip(state.resources, requests, strict=True):
            counted = state.axes.counted_as.get(resource, resource)
            if axis.resource == counted and axis.flavor == flavors.get(resource):
                charged[at] += amount
    return tuple(charged)


def _below(state: ClusterState, queue: QueueName) -> list[Workload]:
    return [w for w in state.workloads.values() if queue in state.path(w.queue)]


def _requests(workload: Workload, pod: PodId) -> Amounts:
    return workload.pod_sets[pod.pod_set].requests


def _increase(vector: list[int], amounts: Amounts) -> None:
    for at, amount in enumerate(amounts):
        vector[at] += amount
