"""KAI objects in short, and what becomes of them."""

import random
from collections.abc import Callable
from textwrap import dedent

from fairlead.errors import Finding
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.core.objects import Object
from fairlead.manifest.core.read_objects import read_node, read_priority_class
from fairlead.manifest.core.read_pod import read_pod
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.reading.pod_group import read_kai_pod_group
from fairlead.manifest.kai.reading.queue import read_kai_queue
from fairlead.manifest.kai.reading.shard import read_kai_config, read_kai_shard
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document, read_bytes
from fairlead.manifest.translate.assemble import assemble as assemble_objects
from fairlead.model.axes import WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from tests.model.invariants import check_invariants

READERS: dict[str, Callable[[Cursor], Object | None]] = {
    "Queue": read_kai_queue,
    "PodGroup": read_kai_pod_group,
    "SchedulingShard": read_kai_shard,
    "Config": read_kai_config,
    "Node": read_node,
    "Pod": read_pod,
    "PriorityClass": read_priority_class,
}

FREE = "{cpu: {limit: -1}, memory: {limit: -1}, gpu: {limit: -1, overQuotaWeight: 1}}"


def documents(text: str) -> list[Document]:
    return read_bytes(dedent(text).encode(), "kai.yaml", Findings())


def assemble(text: str, order: int = 0) -> tuple[Assembled | None, list[Finding]]:
    """Read every object of the text, shuffled by *order* unless that is 0, and assemble."""
    findings = Findings()
    collection: list[Object] = []
    found = documents(text)
    if order:
        random.Random(order).shuffle(found)
    for document in found:
        kind = str(document.value["kind"])
        each = READERS[kind](Cursor.of(document, findings))
        if each is not None:
            collection.append(each)
    return assemble_objects("kai", collection, findings), list(findings)


def sound(text: str) -> ClusterState:
    """Assemble objects of which nothing is to be said but advice."""
    assembled, found = assemble(text)
    assert [str(each) for each in found if each.severity != "advice"] == []
    assert assembled is not None
    check_invariants(assembled.state)
    return assembled.state


def told(text: str) -> list[Finding]:
    return assemble(text)[1]


def codes(text: str) -> list[str]:
    return [f"{each.severity} {each.code} {each.line}" for each in assemble(text)[1]]


def queue(name: str, parent: str = "", resources: str = FREE) -> str:
    return (
        f"{{kind: Queue, metadata: {{name: {name}}}, "
        f"spec: {{parentQueue: '{parent}', resources: {resources}}}}}"
    )


def pod(name: str, spec: str = "", metadata: str = "", status: str = "") -> str:
    """Write a pod for KAI that asks for one core, in the queue a unless its labels say else."""
    metadata = metadata or "labels: {kai.scheduler/queue: a}"
    return (
        f"{{kind: Pod, metadata: {{name: {name}, namespace: ns, {metadata}}}, "
        f"spec: {{schedulerName: kai-scheduler, {spec or ONE_CORE}}}, status: {{{status}}}}}"
    )


def member(name: str, spec: str = "", more: str = "") -> str:
    """Write a pod of the group g."""
    return pod(name, spec, f"annotations: {{pod-group-name: g}}, {more}")


def containers(requests: str) -> str:
    return f"containers: [{{name: c, resources: {{requests: {requests}}}}}]"


def stream(*objects: str) -> str:
    return "\n---\n".join(objects)


ONE_CORE = containers("{cpu: 1}")
GROUP = "{kind: PodGroup, metadata: {name: g, namespace: ns}, spec: {queue: a, minMember: 2}}"
NODE = """{kind: Node, metadata: {name: n1, labels: {nvidia.com/gpu.memory: "40000"}},
  status: {allocatable: {cpu: 8, memory: 32Gi, nvidia.com/gpu: 4}}}"""


def workload(state: ClusterState, name: str) -> Workload:
    return state.workloads[WorkloadName(name)]


def annotated(text: str) -> str:
    return pod("x", metadata=f"labels: {{kai.scheduler/queue: a}}, annotations: {{{text}}}")
