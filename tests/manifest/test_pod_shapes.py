"""Pods of one template are read once, with the same objects and findings as if each were read."""

import json
from copy import deepcopy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import Finding
from fairlead.manifest.core.objects import PodObject
from fairlead.manifest.core.read_pod import PodShapes, read_pod, shape_key
from fairlead.manifest.core.read_pod_spec import PodSpecRead
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document, cluster_document, read_documents
from fairlead.manifest.text.read_once import ReadOnce, json_key
from fairlead.manifest.text.values import REFUSED
from tests.manifest.family_manifests import PODS, objects
from tests.manifest.test_fuzz_readers import spots, values
from tests.shared_folder import ROOT

TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Counting(ReadOnce[PodSpecRead]):
    """Counts how often a shape was known."""

    hits = 0

    def get(self, key: bytes | None) -> PodSpecRead | None:
        found = super().get(key)
        self.hits += found is not None
        return found


def read(
    documents: list[Document], kept: ReadOnce[PodSpecRead]
) -> tuple[list[PodObject | None], list[Finding]]:
    findings, shapes = Findings(), PodShapes(kept)
    return [read_pod(Cursor.of(each, findings), shapes) for each in documents], list(findings)


def check_same(documents: list[Document]) -> int:
    """Read with shapes and without; return how many specs were known already."""
    kept = Counting()
    assert read(documents, kept) == read(documents, ReadOnce(most=0))
    return kept.hits


def pod(number: int, **spec: object) -> dict[str, Any]:
    """Return a pod of a template, with all that differs between such pods."""
    token = f"kube-api-access-{number}"
    main = {
        "name": "main",
        "image": f"train:{number}",
        "env": [{"name": "RANK", "value": f"{number}"}],
        "resources": {"requests": {"cpu": "2"}},
        "volumeMounts": [{"name": token, "mountPath": "/secrets"}],
    }
    given = {
        "containers": [main],
        "hostname": f"train-{number}",
        "nodeName": f"node-{number % 3}",
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "volumes": [{"name": token, "projected": {"sources": []}}],
    }
    metadata = {"name": f"train-{number}", "namespace": "lab", "labels": {"rank": f"{number}"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**given, **spec},
    }


def documents_of(*pods: dict[str, Any]) -> list[Document]:
    return [cluster_document(each) for each in pods]


def test_pods_of_one_template_are_read_once() -> None:
    documents = documents_of(*map(pod, range(9)))
    assert check_same(documents) == 8
    found, _ = read(documents, ReadOnce())
    assert [each.node for each in found if each] == [f"node-{at % 3}" for at in range(9)]
    assert len({id(each.constraints) for each in found if each}) == 1


def test_a_shape_with_a_finding_is_read_each_time() -> None:
    finer = [{"name": "c", "resources": {"requests": {"cpu": "0.0001"}}}]
    documents = documents_of(*(pod(at, containers=finer) for at in range(3)))
    assert check_same(documents) == 0
    _, findings = read(documents, ReadOnce())
    assert [each.code for each in findings] == ["rounded"] * 3
    assert len({each.file for each in findings}) == 3


@pytest.mark.parametrize(
    "spec",
    [
        {"colour": "red"},
        {"containers": [{"name": "c", "colour": "red"}]},
        {"volumes": [{"name": "v", "colour": "red"}]},
        {"tolerations": [{"key": "gpu", "colour": "red"}]},
    ],
)
def test_a_shape_with_an_unknown_field_is_told_of_each_time(spec: dict[str, Any]) -> None:
    documents = documents_of(pod(0), *(pod(at, **spec) for at in range(3)))
    assert check_same(documents) == 0
    _, findings = read(documents, ReadOnce())
    assert [each.code for each in findings] == ["unknown-field"] * 3


@pytest.mark.parametrize("node", [7, ["node-1"], {}])
def test_a_node_that_is_no_text_is_told_of_where_the_shape_is_known(node: object) -> None:
    documents = documents_of(pod(0), pod(1, nodeName=node), pod(2, nodeName=node))
    check_same(documents)
    _, findings = read(documents, ReadOnce())
    assert [each.path for each in findings] == ["$.spec.nodeName"] * 2


DIFFERENT: dict[str, dict[str, Any]] = {
    "requests": {"containers": [{"resources": {"requests": {"cpu": "3"}}}]},
    "limits": {"containers": [{"resources": {"limits": {"cpu": "2"}}}]},
    "a number in place of a text": {"containers": [{"resources": {"requests": {"cpu": 2}}}]},
    "a decimal": {"containers": [{"resources": {"requests": {"cpu": Decimal("2.5")}}}]},
    "ports": {"containers": [{"ports": [{"containerPort": 80, "hostPort": 80}]}]},
    "an init container": {"initContainers": [{"resources": {"requests": {"cpu": "9"}}}]},
    "a sidecar": {"initContainers": [{"restartPolicy": "Always"}]},
    "a volume that binds": {"volumes": [{"name": "v", "rbd": {}}]},
    "an ephemeral volume": {
        "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    },
    "a host network": {"hostNetwork": True},
    "an overhead": {"overhead": {"cpu": "1"}},
    "a selector": {"nodeSelector": {"pool": "gpu"}},
    "tolerations": {"tolerations": []},
    "a priority": {"priority": 7},
    "a priority class": {"priorityClassName": "high"},
    "a preemption policy": {"preemptionPolicy": "Never"},
    "a scheduler": {"schedulerName": "other"},
    "a gate": {"schedulingGates": [{"name": "x/y"}]},
    "a claim": {"resourceClaims": [{"name": "x"}]},
    "resources of the pod": {"resources": {"requests": {"cpu": "5"}}},
    "a spread": {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ]
    },
    "a node affinity": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}},
    "a pod affinity": {"affinity": {"podAffinity": {REQUIRED: [TERM]}}},
}


def test_claims_are_read_of_each_pod_and_make_no_shape_of_their_own() -> None:
    volumes = [
        [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{at}"}}, {"name": "tmp"}]
        for at in range(3)
    ]
    documents = documents_of(*(pod(at, volumes=each) for at, each in enumerate(volumes)))
    assert check_same(documents) == 2
    found, _ = read(documents, ReadOnce())
    assert [each.claims for each in found if each] == [("data-0",), ("data-1",), ("data-2",)]


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ({}, "$.spec.volumes[0].persistentVolumeClaim.claimName"),
        ({"claimName": 7}, "$.spec.volumes[0].persistentVolumeClaim.claimName"),
        ({"claimName": "a", "readOnly": 1}, "$.spec.volumes[0].persistentVolumeClaim.readOnly"),
        ({"claimName": "a", "odd": 1}, "$.spec.volumes[0].persistentVolumeClaim.odd"),
    ],
)
def test_a_reference_with_a_mistake_is_told_of_each_time(reference: object, path: str) -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": reference}]
    documents = documents_of(pod(0), *(pod(at, volumes=volumes) for at in range(2)))
    assert check_same(documents) == 0
    _, findings = read(documents, ReadOnce())
    assert [each.path for each in findings] == [path] * 2


@pytest.mark.parametrize("what", DIFFERENT)
def test_pods_that_differ_in_what_is_read_have_shapes_of_their_own(what: str) -> None:
    documents = documents_of(pod(0), pod(1, **DIFFERENT[what]), pod(2))
    assert check_same(documents) == 1  # the third is as the first


def test_a_pod_affinity_is_read_for_each_namespace() -> None:
    pods = [pod(at, affinity={"podAntiAffinity": {REQUIRED: [TERM]}}) for at in range(4)]
    pods[1]["metadata"]["namespace"] = pods[3]["metadata"]["namespace"] = "hall"
    assert check_same(documents_of(*pods)) == 2
    found, _ = read(documents_of(*pods), ReadOnce())
    terms = [each.constraints.pod_anti_affinity[0].namespaces for each in found if each]
    assert terms == [("lab",), ("hall",), ("lab",), ("hall",)]


def test_a_term_that_names_labels_of_its_pod_is_read_for_each_value() -> None:
    term = {**TERM, "matchLabelKeys": ["rank"]}
    pods = [pod(at, affinity={"podAffinity": {REQUIRED: [term]}}) for at in range(3)]
    pods[2]["metadata"]["labels"]["rank"] = "0"
    assert check_same(documents_of(*pods)) == 1


def test_a_spread_that_names_labels_of_its_pod_is_read_for_each_value() -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
        "matchLabelKeys": ["rank"],
    }
    pods = [pod(at, topologySpreadConstraints=[spread]) for at in range(3)]
    pods[2]["metadata"]["labels"]["rank"] = "0"
    assert check_same(documents_of(*pods)) == 1


def test_a_spec_with_a_refused_value_has_no_key_unless_it_is_passed_over() -> None:
    assert shape_key({"priority": REFUSED}, "ns", {}) is None
    assert shape_key({"hostname": REFUSED}, "ns", {}) == shape_key({}, "ns", {})


def test_no_more_is_kept_than_there_may_be() -> None:
    kept = ReadOnce[int](most=2)
    for number in range(3):
        kept.keep(json_key(number), number)
    assert [kept.get(json_key(number)) for number in range(3)] == [None, 1, 2]
    kept.keep(json_key("x" * 20_000), 7)
    kept.keep(None, 7)
    assert (len(kept), kept.get(None)) == (2, None)


@pytest.mark.parametrize(
    ("one", "other"), [(1, "1"), (Decimal("0.5"), "0.5"), (True, 1), (None, "null"), ([], {})]
)
def test_values_that_are_not_equal_have_keys_of_their_own(one: object, other: object) -> None:
    assert json_key(one) != json_key(other)


def test_objects_of_one_controller_share_their_owners() -> None:
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "8a2c"}
    pods = [pod(at) for at in range(3)]
    for each, more in zip(pods, ({}, {}, {"odd": 1}), strict=True):
        each["metadata"]["ownerReferences"] = [{**reference, **more}]
    found, findings = read(documents_of(*pods), ReadOnce())
    first, second, third = [each.identity.owners for each in found if each]
    assert first is second
    assert third == first
    assert [each.path for each in findings] == ["$.metadata.ownerReferences[0].odd"]


def test_owners_that_are_no_mapping_are_told_of_each_object() -> None:
    pods = [pod(at) for at in range(2)]
    for each in pods:
        each["metadata"]["ownerReferences"] = [["odd"]]
    _, findings = read(documents_of(*pods), ReadOnce())
    assert [each.path for each in findings] == ["$.metadata.ownerReferences[0]"] * 2


def test_all_examples_are_read_alike() -> None:
    found = read_documents([str(ROOT / "examples")], Findings())
    pods = [each for each in found if each.value.get("kind") == "Pod"]
    assert len(pods) > 200
    assert check_same(pods) > 100


templates = st.sampled_from([*objects(PODS), pod(0)])
parts = st.sampled_from(["spec", "spec", "metadata", "status"])


@st.composite
def pods_of_templates(draw: st.DrawFn) -> list[Document]:
    """Draw pods of a few templates, each broken in a few places, and copies of them."""
    drawn = []
    for _ in range(draw(st.integers(1, 3))):
        value = deepcopy(draw(templates))
        for _ in range(draw(st.integers(0, 2))):
            part = value.get(draw(parts))
            places = list(spots(part)) if isinstance(part, dict) else []
            if places:
                container, key = draw(st.sampled_from(places))
                container[key] = draw(values)
        drawn.append(json.loads(json.dumps(value), parse_float=Decimal))
    copies = draw(st.lists(st.sampled_from(drawn), min_size=2, max_size=6))
    return documents_of(*map(deepcopy, copies))


@given(documents=pods_of_templates())
def test_whatever_pods_hold_they_are_read_alike(documents: list[Document]) -> None:
    check_same(documents)
