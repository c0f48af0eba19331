"""Nodes, pods, namespaces, priority classes and budgets, as Kubernetes writes them."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from fairlead.manifest.core.objects import NodeObject, PodObject
from fairlead.manifest.core.read_objects import (
    read_budget,
    read_namespace,
    read_node,
    read_priority_class,
)
from fairlead.manifest.core.read_pod import read_pod
from fairlead.manifest.kueue.reading.local_queue import read_workload_priority_class
from fairlead.manifest.text.cursor import Cursor
from fairlead.model.selector import LabelRequirement, Taint
from fairlead.model.workload import GpuShare
from tests.manifest.yaml_text import cursor_of, remarks

T = TypeVar("T")

NODE = """
    apiVersion: v1
    kind: Node
    metadata:
      name: node-1
      labels: {zone: a, nvidia.com/gpu.memory: "81559"}
    spec:
      unschedulable: true
      taints: [{key: gpu, value: "yes", effect: NoSchedule, timeAdded: null}]
    status:
      capacity: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "2", pods: "110"}
      allocatable: {cpu: 7500m, memory: 31Gi, nvidia.com/gpu: "2", pods: "110"}
      conditions:
      - {type: MemoryPressure, status: "False", lastHeartbeatTime: "2026-01-01T00:00:00Z"}
      - {type: Ready, status: "True", reason: KubeletReady, message: fine}
      nodeInfo: {kubeletVersion: v1.33.0}
"""


def read(reader: Callable[[Cursor], T | None], text: str) -> T:
    """Read an object in which nothing is wrong."""
    cursor, findings = cursor_of(text)
    found = reader(cursor)
    assert remarks(findings) == []
    assert found is not None
    return found


def found_in(reader: Callable[[Cursor], object], text: str) -> list[str]:
    cursor, findings = cursor_of(text)
    reader(cursor)
    return remarks(findings)


def node(text: str) -> NodeObject:
    return read(read_node, "metadata: {name: node-1}\n" + text)


def test_a_node_offers_what_is_allocatable() -> None:
    found = read(read_node, NODE)
    assert found.allocatable == {
        "cpu": 7500,
        "memory": 31 * 2**30,
        "nvidia.com/gpu": 2000,
        "pods": 110,
    }
    assert found.taints == (Taint(key="gpu", value="yes", effect="NoSchedule"),)
    assert (found.name, found.ready, found.cordoned) == ("node-1", True, True)
    assert found.gpu_memory_mib == 81559
    assert found.labels["zone"] == "a"


def test_a_node_without_allocatable_offers_its_capacity() -> None:
    found = node("status: {capacity: {cpu: 4, pods: 9}}")
    assert found.allocatable == {"cpu": 4000, "pods": 9}


def test_a_node_takes_any_number_of_pods_unless_it_says_how_many() -> None:
    assert node("status: {allocatable: {cpu: 4}}").allocatable == {"cpu": 4000, "pods": 2**31 - 1}


def test_a_node_that_has_nothing_allocatable_does_not_offer_its_capacity() -> None:
    assert node("status: {capacity: {cpu: 4}, allocatable: {}}").allocatable == {}


@pytest.mark.parametrize(
    ("conditions", "is_ready"),
    [
        ("[]", True),
        ('[{type: DiskPressure, status: "True"}]', True),
        ('[{type: Ready, status: "True"}]', True),
        ('[{type: Ready, status: "False"}]', False),
        ("[{type: Ready, status: Unknown}]", False),
    ],
)
def test_a_node_is_ready_unless_it_says_otherwise(conditions: str, is_ready: bool) -> None:
    found = node(f"status: {{capacity: {{}}, conditions: {conditions}}}")
    assert found.ready is is_ready


def test_what_is_wrong_with_a_node() -> None:
    text = """
        metadata: {name: node-1, labels: {nvidia.com/gpu.memory: 80GB}}
        spec: {taints: [{key: a, effect: NoShedule}], unschedulable: "true"}
        statuss: {}
    """
    assert found_in(read_node, text) == [
        "error bad-choice $.spec.taints[0].effect",
        "error wrong-type $.spec.unschedulable",
        'warning bad-quantity $.metadata.labels["nvidia.com/gpu.memory"]',
        "warning missing-field $.status.allocatable",
        "warning unknown-field $.statuss",
    ]


POD = """
    apiVersion: v1
    kind: Pod
    metadata:
      name: train-0
      namespace: team-a
      labels: {app: train}
      annotations: {note: hello}
      creationTimestamp: "1970-01-01T00:00:05Z"
      uid: 1-2-3
      ownerReferences: []
    spec:
      schedulerName: fairlead
      priorityClassName: high
      nodeName: node-1
      containers: [{name: a, image: b, resources: {requests: {cpu: 2}}}]
    status:
      phase: Running
      startTime: "1970-01-01T00:00:09Z"
      containerStatuses: []
"""


def test_a_running_pod() -> None:
    pod = read(read_pod, POD)
    assert (pod.namespace, pod.name, pod.scheduler) == ("team-a", "train-0", "fairlead")
    assert (pod.node, pod.phase, pod.terminating, pod.gated) == ("node-1", "Running", False, False)
    assert (pod.created_ms, pod.started_ms) == (5_000, 9_000)
    assert (pod.priority, pod.priority_class) == (None, "high")
    assert (pod.requests, pod.labels) == ({"cpu": 2000, "pods": 1}, {"app": "train"})


def pod(metadata: str = "", spec: str = "", status: str = "") -> PodObject:
    return read(
        read_pod,
        f"{{metadata: {{name: p, {metadata}}}, spec: {{{spec}}}, status: {{{status}}}}}",
    )


def test_a_pod_that_says_nothing_waits_in_the_default_namespace() -> None:
    found = pod()
    assert (found.namespace, found.phase, found.node, found.created_ms) == (
        "default",
        "Pending",
        None,
        0,
    )


def test_a_pod_is_leaving_once_its_deletion_was_asked_for() -> None:
    assert pod(metadata='deletionTimestamp: "2026-01-01T00:00:00Z"').terminating


def test_a_pod_with_a_gate_is_held_back() -> None:
    assert pod(spec="schedulingGates: [{name: a}]").gated


def test_a_pod_that_waits_for_a_node() -> None:
    assert pod(status="nominatedNodeName: node-9").nominated_node == "node-9"


SHARES = {
    'gpu-fraction: "0.5"': GpuShare(thousandths=500),
    'gpu-fraction: ".25"': GpuShare(thousandths=250),
    'gpu-fraction: "0.5", gpu-fraction-num-devices: "2"': GpuShare(devices=2, thousandths=500),
    'gpu-memory: "2000"': GpuShare(memory_mib=2000),
    'gpu-memory: "2000", gpu-fraction-num-devices: "3"': GpuShare(devices=3, memory_mib=2000),
}


@pytest.mark.parametrize(("annotations", "share"), SHARES.items(), ids=SHARES.keys())
def test_a_part_of_a_gpu_is_asked_for_in_annotations(annotations: str, share: GpuShare) -> None:
    assert pod(metadata=f"annotations: {{{annotations}}}").gpu_share == share


def test_a_finer_part_of_a_gpu_is_rounded_up() -> None:
    share = pod(metadata='annotations: {gpu-fraction: "0.3333"}').gpu_share
    assert share == GpuShare(thousandths=334)


@pytest.mark.parametrize("fraction", ["1", "1.5", "0", "0.0", "-0.5", "half", "", "0.5e0", "."])
def test_a_gpu_cannot_be_divided_so(fraction: str) -> None:
    text = f'metadata: {{name: p, annotations: {{gpu-fraction: "{fraction}"}}}}\nspec: {{}}'
    assert found_in(read_pod, text) == ["error bad-quantity $.metadata.annotations.gpu-fraction"]


@pytest.mark.parametrize(
    ("devices", "told"),
    [
        ("0", ["bad-quantity"]),
        ("1", []),
        ("64", []),
        ("65", ["out-of-range"]),
        ("9" * 18, ["out-of-range"]),
    ],
)
def test_a_pod_has_parts_of_no_more_devices_than_a_node_can_have(
    devices: str, told: list[str]
) -> None:
    annotations = f'{{gpu-fraction: "0.5", gpu-fraction-num-devices: "{devices}"}}'
    text = f"metadata: {{name: p, annotations: {annotations}}}\nspec: {{}}"
    place = "$.metadata.annotations.gpu-fraction-num-devices"
    assert found_in(read_pod, text) == [f"error {code} {place}" for code in told]


def test_a_fraction_and_an_amount_of_memory_cannot_both_hold() -> None:
    annotations = '{gpu-fraction: "0.5", gpu-memory: "1"}'
    text = f"metadata: {{name: p, annotations: {annotations}}}\nspec: {{}}"
    assert found_in(read_pod, text) == ["error bad-quantity $.metadata.annotations.gpu-memory"]


def test_what_is_wrong_with_a_pod() -> None:
    text = """
        metadata: {namespace: a/b, labels: {x: 1}, creationTimestamp: yesterday}
        status: {phase: running}
    """
    assert found_in(read_pod, text) == [
        "error bad-choice $.status.phase",
        "error bad-name $.metadata.namespace",
        "error bad-timestamp $.metadata.creationTimestamp",
        "error missing-field $.metadata.name",
        "error missing-field $.spec",
        "error wrong-type $.metadata.labels.x",
    ]


def test_a_running_pod_without_node_is_pointed_out() -> None:
    text = "{metadata: {name: p}, spec: {}, status: {phase: Running}}"
    assert found_in(read_pod, text) == ["warning contradiction $.spec.nodeName"]


@pytest.mark.parametrize("name", ["Team_A", "-a", "a.", "ä", "a" * 254])
def test_a_name_that_kubernetes_would_refuse_is_warned_about(name: str) -> None:
    text = f"metadata: {{name: {name}}}"
    assert found_in(read_namespace, text) == ["warning bad-name $.metadata.name"]


def test_an_object_without_name_is_no_object() -> None:
    for reader in (read_node, read_pod, read_namespace, read_priority_class, read_budget):
        cursor, _ = cursor_of("spec: {}")
        assert reader(cursor) is None


def test_a_namespace_is_labelled_with_its_name() -> None:
    found = read(read_namespace, "{metadata: {name: a, labels: {b: c}}, spec: {finalizers: []}}")
    assert found.labels == {"b": "c", "kubernetes.io/metadata.name": "a"}


def test_a_priority_class() -> None:
    found = read(
        read_priority_class,
        "{metadata: {name: high}, value: 1000, globalDefault: true, preemptionPolicy: Never}",
    )
    assert (found.value, found.is_default, found.preemption_policy) == (1000, True, "Never")


def test_a_workload_priority_class() -> None:
    text = "{metadata: {name: high}, value: -7, description: some}"
    found = read(read_workload_priority_class, text)
    assert (found.name, found.value) == ("high", -7)


def test_a_priority_class_needs_a_value_within_bounds() -> None:
    text = "metadata: {name: high}\nvalue: 2147483648"
    assert found_in(read_priority_class, text) == ["error out-of-range $.value"]
    assert found_in(read_priority_class, "metadata: {name: high}") == [
        "error missing-field $.value"
    ]


def test_a_budget_allows_what_its_status_says() -> None:
    text = """
        metadata: {name: keep, namespace: a}
        spec: {minAvailable: 50%, selector: {matchLabels: {app: web}}}
        status: {disruptionsAllowed: 2, disruptedPods: {web-1: "2026-01-01T00:00:00Z"}}
    """
    budget = read(read_budget, text).budget
    assert (budget.namespace, budget.name, budget.disruptions_allowed) == ("a", "keep", 2)
    assert budget.disrupted_pods == ("web-1",)
    app = LabelRequirement(key="app", operator="In", values=("web",))
    assert budget.selector.requirements == (app,)


def test_a_budget_that_is_not_counted_yet_allows_nothing() -> None:
    text = "{metadata: {name: keep}, spec: {selector: {}}}"
    cursor, findings = cursor_of(text)
    found = read_budget(cursor)
    assert found is not None
    assert found.budget.disruptions_allowed == 0
    assert remarks(findings) == ["advice missing-field $.status.disruptionsAllowed"]


def test_a_budget_without_selector_protects_nobody() -> None:
    cursor, findings = cursor_of("{metadata: {name: keep}, spec: {maxUnavailable: 1}}")
    assert read_budget(cursor) is None
    assert remarks(findings) == ["warning no-effect $.spec.selector"]
