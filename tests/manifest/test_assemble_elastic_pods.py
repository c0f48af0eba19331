"""What is known of pods under ElasticQuotas, and what is said of those treated otherwise."""

import pytest

from fairlead.errors import Finding
from fairlead.manifest.finding import Findings
from fairlead.model.axes import WorkloadName
from fairlead.model.memory import ElasticMemory
from fairlead.model.workload import ElasticPods
from tests.manifest.elastic_world import (
    CLASSES,
    GANG,
    MEMBER,
    NODE,
    assemble,
    assembled_of,
    pod,
    state_of,
)

STARTED = GANG.replace("}}\n", '}, status: {scheduleStartTime: "1970-01-01T00:00:09Z"}}\n')


@pytest.mark.parametrize(
    ("group", "status", "expected"),
    [
        (STARTED, "|nominatedNodeName: node-1", 9000),
        (STARTED, "", None),
        (STARTED, "nodeName: node-1|nominatedNodeName: node-1", None),  # it has arrived there
        (GANG, "|nominatedNodeName: node-1", None),
    ],
)
def test_since_when_a_gang_waits_for_others_to_leave(
    group: str, status: str, expected: int | None
) -> None:
    pods = [pod("a/p0", labels=MEMBER), pod("a/p1", labels=MEMBER, more=status)]
    memories = state_of(NODE, group, *pods).memories
    memory = memories.get(WorkloadName("a/podgroup/train"), ElasticMemory())
    assert isinstance(memory, ElasticMemory)
    assert memory.nominated_ms == expected


SIDECAR = "initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 2}}}]"

# What the plugin charges, by pod set: only where the node is charged otherwise, or 0 is named.
CHARGES = {
    "as the node is charged": ([pod("a/p")], ()),
    "a sidecar": ([pod("a/p", more=SIDECAR)], ({"cpu": 2000},)),  # the node: 1 + 2
    "a resource that is named with 0": (
        [pod("a/p", "cpu: 1, nvidia.com/gpu: 0")],
        ({"cpu": 1000, "nvidia.com/gpu": 0},),
    ),
    "only the pod as a whole asks for something": (
        [pod("a/p", "", more="resources: {requests: {cpu: 5}}")],
        ({},),
    ),
    "a name with 0 that no quota counts": ([pod("a/p", "cpu: 1, storage: 0")], ()),
    "a difference in a name that no quota counts": (
        [pod("a/p", more=SIDECAR.replace("cpu: 2", "storage: 2"), requests="storage: 1")],
        (),
    ),
}


@pytest.mark.parametrize(("texts", "expected"), CHARGES.values(), ids=CHARGES.keys())
def test_what_the_plugin_charges_a_pod(
    texts: list[str], expected: tuple[dict[str, int], ...]
) -> None:
    workload = state_of(*texts).workloads[WorkloadName("a/p")]
    assert isinstance(workload.extension, ElasticPods)
    assert workload.extension.plugin_requests == expected


def test_pods_for_which_the_node_is_charged_alike_and_the_plugin_charges_otherwise_differ() -> None:
    whole = "resources: {requests: {cpu: 3}}"
    state = state_of(
        GANG,
        pod("a/p0", more=SIDECAR, labels=MEMBER),  # 1 + 2, for the plugin 2
        pod("a/p1", more=whole, labels=MEMBER),  # 3, for the plugin 1
        pod("a/p2", more=SIDECAR, labels=MEMBER),
        pod("a/p3", "cpu: 3", labels=MEMBER),  # 3 for both
    )
    gang = state.workloads[WorkloadName("a/podgroup/train")]
    assert [each.pod_names for each in gang.pod_sets] == [("p0", "p2"), ("p1",), ("p3",)]
    assert {each.requests for each in gang.pod_sets} == {(3000, 1)}  # cpu, pods
    assert isinstance(gang.extension, ElasticPods)
    assert gang.extension.plugin_requests == ({"cpu": 2000}, {"cpu": 1000}, {"cpu": 3000})


def test_pods_that_have_a_node_and_are_not_up_are_known() -> None:
    state = state_of(
        NODE,
        GANG,
        pod("a/p0", labels=MEMBER, more="nodeName: node-1|phase: Running"),
        pod("a/p1", labels=MEMBER, more="nodeName: node-1|phase: Pending"),
        pod("a/p2", labels=MEMBER, more="nodeName: node-1|phase: Unknown"),
        pod("a/p3", labels=MEMBER, more="nodeName: node-1"),
        pod("a/p4", labels=MEMBER, more="nodeName: node-1|phase: Failed"),
        pod("a/p5", labels=MEMBER, more="|phase: Pending"),
        pod("a/p6", labels=MEMBER, more="|phase: Running"),
    )
    gang = state.workloads[WorkloadName("a/podgroup/train")]
    assert isinstance(gang.extension, ElasticPods)
    assert {gang.pod_name(each) for each in gang.extension.not_running} == {"p1", "p2", "p3"}


def warned(*texts: str) -> Finding:
    """Return the one warning about an input that is accepted."""
    findings = Findings()
    assert assembled_of(texts, findings) is not None
    (finding,) = findings
    assert finding.severity == "warning"
    return finding


def test_pods_of_a_group_that_differ_in_priority_count_with_the_highest() -> None:
    texts = [
        CLASSES,
        GANG,
        pod("a/p0", labels=MEMBER),  # the class for all: 7
        pod("a/p1", labels=MEMBER, more="priority: 9"),
        pod("a/p2", labels=MEMBER, more="priority: 3"),
        pod("a/p3", labels=MEMBER, more="priority: 3"),
        pod("a/p4", labels=MEMBER, more="priority: 99|phase: Failed"),
    ]
    finding = warned(*texts)
    assert (finding.code, finding.path) == ("contradiction", "$.spec.priority")
    assert finding.message == (
        "found priority 3, while p1 of the same PodGroup has 9; all its pods count with 9"
    )
    assert finding.fix == 'give all pods of "train" the same priority'
    assert state_of(*texts).workloads[WorkloadName("a/podgroup/train")].priority == 9


@pytest.mark.parametrize(
    ("spec", "path"), [("priorityClassName: high", "$.spec.priorityClassName"), ("", "$.spec")]
)
def test_where_the_lower_priority_comes_from_is_pointed_at(spec: str, path: str) -> None:
    finding = warned(
        CLASSES,
        GANG,
        pod("a/p0", labels=MEMBER, more=spec),
        pod("a/p1", labels=MEMBER, more="priority: 2000"),
    )
    assert (finding.code, finding.path) == ("contradiction", path)


def test_equal_priorities_and_pods_of_their_own_are_no_contradiction() -> None:
    _, told = assemble(
        CLASSES,
        GANG,
        pod("a/p0", labels=MEMBER, more="priority: 7"),
        pod("a/p1", labels=MEMBER),  # the class for all: 7
        pod("a/p2", more="priority: 8"),
    )
    assert told == []


def sharing(name: str, annotations: str) -> str:
    return pod(name).replace("labels: {}", f"annotations: {{{annotations}}}")


@pytest.mark.parametrize("annotation", ["gpu-fraction", "gpu-memory"])
def test_a_part_of_a_device_has_no_effect_which_is_told_once(annotation: str) -> None:
    value = '"0.5"' if annotation == "gpu-fraction" else '"1024"'
    finding = warned(
        NODE,
        sharing("a/p0", f"{annotation}: {value}"),
        sharing("a/p1", f"{annotation}: {value}"),
        sharing("b/p", f"{annotation}: {value}"),
        pod("b/q"),
    )
    assert finding.code == "no-effect"
    assert finding.path == f"$.metadata.annotations.{annotation}"
    assert f"found {annotation}, here and in 2 other pods, which has no effect" in finding.message


def test_a_pod_with_a_part_of_a_device_is_charged_what_its_containers_ask_for() -> None:
    text = sharing("a/p", 'gpu-fraction: "0.5"')
    (pods,) = state_of(NODE, text).workloads[WorkloadName("a/p")].pod_sets
    assert (pods.requests, pods.gpu_share) == ((1000, 0, 0, 1), None)  # cpu, memory, GPU, pods
    assert "here and in" not in warned(NODE, text).message
