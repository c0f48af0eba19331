"""A small cluster under ElasticQuotas in text, and what becomes of it."""

from collections.abc import Iterable
from textwrap import dedent

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.core.objects import Object
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import KINDS
from fairlead.manifest.text.documents import read_bytes
from fairlead.manifest.translate.assemble import assemble as assemble_objects
from fairlead.model.state import ClusterState
from tests.manifest.yaml_text import remarks
from tests.model.invariants import check_invariants

EQ = "apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota"
NODE = """
    ---
    {apiVersion: v1, kind: Node, metadata: {name: node-1},
     status: {allocatable: {cpu: 16, memory: 64Gi, nvidia.com/gpu: 10, pods: 110}}}
"""
GANG = """
    ---
    {apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup,
     metadata: {name: train, namespace: a, creationTimestamp: "1970-01-01T00:00:01Z"},
     spec: {minMember: 3, minResources: {cpu: 5}, scheduleTimeoutSeconds: 60}}
"""
MEMBER = "scheduling.x-k8s.io/pod-group: train"
CLASSES = """
    ---
    {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000,
     preemptionPolicy: Never}
    ---
    {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 7,
     globalDefault: true}
"""


def quota(namespace: str, spec: str) -> str:
    return f"---\n{{{EQ}, metadata: {{name: quota, namespace: {namespace}}}, spec: {spec}}}\n"


def hard(namespace: str, limits: str, *, more: str = "") -> str:
    """Return a ResourceQuota."""
    return (
        f"---\n{{apiVersion: v1, kind: ResourceQuota, metadata: {{name: hard, "
        f"namespace: {namespace}}}, spec: {{hard: {{{limits}}}, {more}}}}}\n"
    )


def pod(name: str, requests: str = "cpu: 1", *, more: str = "", labels: str = "") -> str:
    """Return a pod; *name* is namespace/name, *more* is any further part of it."""
    namespace, _, own = name.partition("/")
    containers = f"[{{name: c, resources: {{requests: {{{requests}}}}}}}]"
    spec, _, status = more.partition("|")
    return (
        f"---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {own}, namespace: {namespace}, "
        f"labels: {{{labels}}}}}, spec: {{containers: {containers}, {spec}}}, "
        f"status: {{{status}}}}}\n"
    )


def assemble(*texts: str) -> tuple[Assembled | None, list[str]]:
    findings = Findings()
    return assembled_of(texts, findings), remarks(findings)


def assembled_of(texts: Iterable[str], findings: Findings) -> Assembled | None:
    collection: list[Object] = []
    for document in read_bytes("".join(map(dedent, texts)).encode(), "test.yaml", findings):
        api_version, kind = document.value["apiVersion"], document.value["kind"]
        group = str(api_version).rpartition("/")[0]
        collection += KINDS[group, str(kind)].read(document, findings)
    return assemble_objects("elastic-quota", collection, findings)


def state_of(*texts: str) -> ClusterState:
    """Assemble what has no errors; warnings are another test's matter."""
    assembled, _ = assemble(*texts)
    assert assembled is not None
    check_invariants(assembled.state)
    return assembled.state
