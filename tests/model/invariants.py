"""Every sum of a state, recomputed plainly from its facts and compared.

Slow and simple on purpose: it adds up pod by pod, and shares no sum with the incremental updates
that it checks. Tests call it after every step.
"""

from fractions import Fraction
from math import floor

from fairlead.model.accounting.node_books import NodeUse
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.device_share import SHARED_GPU, WHOLE_DEVICE_E9
from fairlead.model.memory import part_about
from fairlead.model.node import Occupied
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodSet, Workload


def check_invariants(state: ClusterState) -> None:
    """Raise AssertionError naming the first sum of *state* that is not what its facts say."""
    _check_capacity(state)
    _check_nodes(state)
    _check_foreign(state)
    _check_runs(state)
    _check_index(state)
    _check_repelling(state)
    _check_memories(state)
    _check_obstacles(state)
    for queue in state.queues:
        assert state.path(queue) == _upward(state, queue), f"the way up from {queue}"
        _check_queue(state, queue)


def _check_capacity(state: ClusterState) -> None:
    for at, resource in enumerate(state.resources):
        ready = [node for node in state.nodes.values() if node.ready]
        names = {node.name for node in ready}
        foreign = [pod for pod in state.books.foreign.values() if pod.node in names]
        expected = sum(node.allocatable[at] for node in ready)
        expected -= sum(pod.requests[at] for pod in foreign)
        assert state.capacity[at] == expected, f"capacity of {resource}"


def _check_repelling(state: ClusterState) -> None:
    sets = {name: workload.pod_sets for name, workload in state.workloads.items()}
    repelling = {
        name for name, each in sets.items() if any(s.constraints.pod_anti_affinity for s in each)
    }
    assert set(state.repelling) == repelling, "workloads with anti-affinity"


def _check_memories(state: ClusterState) -> None:
    """What is remembered is about workloads and pods that are there, and says something."""
    for name, memory in state.memories.items():
        assert memory != type(memory)(), f"an empty memory of {name}"
        assert part_about(state.workloads[name], memory) == memory, f"what is remembered of {name}"
    promised = {name for name, memory in state.memories.items() if memory.promises_place()}
    assert set(state.promised) == promised, "workloads with a promised place"


def _check_nodes(state: ClusterState) -> None:
    uses: dict[str, NodeUse] = {}
    for name, run in state.runs.items():
        for pod, placed in run.pods.items():
            if placed.node is not None:
                use = uses.setdefault(placed.node, _unused(state))
                use.pods[name, pod] = None
                _include(use, _besides_shares(state, name, pod), placed)
    for node in state.books.booked():
        _include_departing(state, node, uses.setdefault(node, _unused(state)))
    assert state.books.booked() == sorted(uses), "nodes with pods"
    for node in {*uses, *state.nodes}:
        assert state.books.use(node) == uses.get(node, _unused(state)), f"what is held on {node}"


def _check_foreign(state: ClusterState) -> None:
    """What is taken of each node is what the foreign pods there ask for."""
    books, foreign = state.books, state.books.foreign.values()
    assert all(books.foreign[pod.id] is pod for pod in foreign), "foreign pods by id"
    leaving = {pod.id for pod in foreign if pod.leaving}
    assert set(books.leaving_foreign) == leaving, "foreign pods that are being deleted"
    asked_about = {pod.node for pod in foreign if pod.asked_about}
    assert set(books.nodes_asked_about()) == asked_about, "nodes with pods that are asked about"
    for node in {*state.nodes, *(pod.node for pod in foreign)}:
        there = [pod for pod in foreign if pod.node == node]
        held, released = [0] * len(state.resources), [0] * len(state.resources)
        for pod in there:
            _increase(held, pod.requests)
            if pod.leaving:
                _increase(released, pod.requests)
        expected = Occupied(tuple(held), tuple(released), len(there))
        assert books.occupied(node) == expected, f"what foreign pods take of {node}"
        known = {pod.id: pod for pod in books.asked_about(node)}
        assert known == {pod.id: pod for pod in there if pod.asked_about}, f"asked about on {node}"


def _include_departing(state: ClusterState, node: str, use: NodeUse) -> None:
    for pod, (amounts, share) in state.books.use(node).departing.items():
        assert state.books.is_departing(pod), f"{pod} departs from {node}"
        use.departing[pod] = (amounts, share)
        _include(use, amounts, Placed(node, 0, "leaving", share))
    assert use.pods or use.departing, f"an entry for {node} without a pod"


def _unused(state: ClusterState) -> NodeUse:
    nothing = [0] * len(state.resources)
    return NodeUse(
        pods={},
        departing={},
        held=nothing,
        leaving=list(nothing),
        reserved=list(nothing),
        devices={},
    )


def _besides_shares(state: ClusterState, name: WorkloadName, pod: PodId) -> Amounts:
    """Return what a pod takes of its node other than parts of shared devices."""
    shares = state.runs[name].pods[pod].share is not None
    requests = _requests(state.workloads[name], pod)
    return tuple(
        0 if shares and resource == SHARED_GPU else amount
        for resource, amount in zip(state.resources, requests, strict=True)
    )


def _include(use: NodeUse, amounts: Amounts, placed: Placed) -> None:
    part_e9 = placed.share.part_e9 if placed.share else 0
    entries = [
        use.devices.setdefault(device, [0, 0, 0])
        for device in (placed.share.devices if placed.share else ())
    ]
    if placed.phase != "reserved":
        _increase(use.held, amounts)
        for entry in entries:
            entry[0] += part_e9
    if placed.phase == "leaving":
        _increase(use.leaving, amounts)
        for entry in entries:
            entry[1] += part_e9
    if placed.phase == "reserved":
        _increase(use.reserved, amounts)
        for entry in entries:
            entry[2] += part_e9


def _check_runs(state: ClusterState) -> None:
    for name, run in state.runs.items():
        assert run.pods, f"{name} has a run without a pod"
        assert run.pods.keys() <= set(state.workloads[name].pods()), f"pods of {name}"
        assert run.pod_sets is state.workloads[name].pod_sets, f"pod sets of {name}"
        reserved = {pod for pod, placed in run.pods.items() if placed.phase == "reserved"}
        assert run.reserved.keys() == reserved, f"reservations of {name}"
        sets = state.workloads[name].pod_sets
        apart = {
            pod
            for pod, placed in run.pods.items()
            if placed.share is not None and _is_in_memory(sets.of(pod))
        }
        assert run.own_charges.keys() == apart, f"pods of {name} with a charge of their own"


def _check_index(state: ClusterState) -> None:
    queued = [(w.queue, name) for name, w in state.workloads.items()]
    indexed = [
        (queue, name)
        for queue in {w.queue for w in state.workloads.values()} | state.queues.keys()
        for name in state.queued(queue)
    ]
    assert sorted(queued) == sorted(indexed), "workloads by queue"
    _check_waiting(state)
    assert state.sums.keys() == state.queues.keys(), "every queue has sums, and nothing else"
    for name, queue in state.queues.items():
        assert name in state.children(queue.parent), f"{name} below its parent"
        for child in state.children(name):
            assert state.queues[child].parent == name, f"{child} is not below {name}"


def _check_waiting(state: ClusterState) -> None:
    for queue in {w.queue for w in state.workloads.values()} | state.queues.keys():
        waiting = []
        for name in state.queued(queue):
            run = state.runs.get(name)
            placed = run.pods.keys() if run else set()
            if set(state.workloads[name].pods()) - placed:
                waiting.append(name)
        assert state.waiting(queue) == waiting, f"workloads that wait in {queue}"


def _check_obstacles(state: ClusterState) -> None:
    for name, workload in state.workloads.items():
        assert workload.obstacle is None or not workload.active, f"{name} asks despite its obstacle"


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
                if workload.active and not workload.pod_sets.of(pod).gated:
                    _increase(pending, requests)
                continue
            flavors = run.flavors[workload.pod_sets.set_index[pod]] if run else {}
            charge = _charge(state, _counted(state, workload.pod_sets.of(pod), placed), flavors)
            is_leaving = placed.phase == "leaving"
            _increase(leaving if is_leaving else allocated, charge)
            if not is_leaving and not workload.preemptible:
                _increase(non_preemptible, charge)
    sums = state.sums[queue]
    assert sums.allocated == allocated, f"allocated of {queue}"
    assert sums.non_preemptible == non_preemptible, f"non-preemptible of {queue}"
    assert sums.leaving == leaving, f"leaving of {queue}"
    assert sums.pending == pending, f"pending of {queue}"


def _counted(state: ClusterState, asked: PodSet, placed: Placed) -> Amounts:
    """Return what a placed pod is charged for: memory of devices by the parts that it has."""
    if placed.share is None or not _is_in_memory(asked):
        return asked.requests
    rounded = floor(Fraction(placed.share.part_e9, WHOLE_DEVICE_E9) * 100 + Fraction(1, 2))
    parts = rounded * 10 * len(placed.share.devices)
    return tuple(
        min(amount, parts) if resource == SHARED_GPU else amount
        for resource, amount in zip(state.resources, asked.requests, strict=True)
    )


def _is_in_memory(asked: PodSet) -> bool:
    return asked.gpu_share is not None and asked.gpu_share.memory_mib is not None


def _charge(state: ClusterState, requests: Amounts, flavors: dict[str, str]) -> Amounts:
    charged = [0] * len(state.axes)
    for at, axis in enumerate(state.axes.axes):
        for resource, amount in zip(state.resources, requests, strict=True):
            counted = state.axes.counted_as.get(resource, resource)
            if axis.resource == counted and axis.flavor == flavors.get(resource):
                charged[at] += amount
    return tuple(charged)


def _below(state: ClusterState, queue: QueueName) -> list[Workload]:
    return [w for w in state.workloads.values() if queue in _upward(state, w.queue)]


def _upward(state: ClusterState, queue: QueueName) -> list[QueueName]:
    found = []
    at: QueueName | None = queue
    while at is not None and at in state.queues:
        found.append(at)
        at = state.queues[at].parent
    return found


def _requests(workload: Workload, pod: PodId) -> Amounts:
    return workload.pod_sets.of(pod).requests


def _increase(vector: list[int], amounts: Amounts) -> None:
    for at, amount in enumerate(amounts):
        vector[at] += amount
