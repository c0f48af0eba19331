"""Kubernetes has extended resources in whole numbers; a quota may hold a part of one."""

import pytest

from fairlead.manifest.core.read_objects import read_node
from fairlead.manifest.core.read_pod import read_pod
from fairlead.manifest.core.read_pod_spec import refuse_part
from fairlead.manifest.elastic_quota.read_quota import read_elastic_quota
from fairlead.manifest.text.fields import FieldError
from tests.manifest.yaml_text import cursor_of


# Each: a resource, an amount, and whether Kubernetes would take it.
@pytest.mark.parametrize(
    ("resource", "amount", "is_taken"),
    [
        ("nvidia.com/gpu", "1", True),
        ("nvidia.com/gpu", 8, True),
        ("nvidia.com/gpu", "2000m", True),
        ("nvidia.com/gpu", "1e1", True),
        ("nvidia.com/gpu", "500m", False),
        ("nvidia.com/gpu", "1.5", False),
        ("example.com/license", "0.1", False),
        ("cpu", "500m", True),
        ("memory", "1.5Gi", True),
        ("ephemeral-storage", "100m", True),
        ("scheduling.kubernetes.io/shares", "500m", True),
    ],
)
def test_only_extended_resources_are_indivisible(
    resource: str, amount: str | int, is_taken: bool
) -> None:
    if is_taken:
        refuse_part(resource, amount)
    else:
        with pytest.raises(FieldError) as refused:
            refuse_part(resource, amount)
        assert refused.value.code == "bad-quantity"


RESOURCES = "resources: {%s: {nvidia.com/gpu: 500m}}"
PLACES = {
    "$.spec.containers[0].resources.requests": f"containers: [{{{RESOURCES % 'requests'}}}]",
    "$.spec.containers[0].resources.limits": f"containers: [{{{RESOURCES % 'limits'}}}]",
    "$.spec.initContainers[0].resources.limits": f"initContainers: [{{{RESOURCES % 'limits'}}}]",
    "$.spec.overhead": "overhead: {nvidia.com/gpu: 500m}",
}


@pytest.mark.parametrize(("path", "spec"), PLACES.items())
def test_a_pod_that_asks_for_a_part_is_refused_with_the_cure(path: str, spec: str) -> None:
    cursor, findings = cursor_of(f"metadata: {{name: p}}\nspec: {{{spec}}}")
    read_pod(cursor)
    (finding,) = findings
    assert (finding.severity, finding.code) == ("error", "bad-quantity")
    assert finding.path == f'{path}["nvidia.com/gpu"]'
    assert finding.message == (
        'found the text "500m", expected a whole number: Kubernetes does not divide nvidia.com/gpu'
    )
    assert finding.fix == (
        "write a whole number; a part of a GPU is asked for with the annotation gpu-fraction "
        "of a pod"
    )


@pytest.mark.parametrize("key", ["allocatable", "capacity"])
def test_a_node_has_no_part_of_a_device(key: str) -> None:
    cursor, findings = cursor_of(
        f"metadata: {{name: n1}}\nstatus: {{{key}: {{cpu: 500m, example.com/license: 0.5}}}}"
    )
    read_node(cursor)
    assert [f"{each.severity} {each.code} {each.path} {each.fix}" for each in findings] == [
        f'error bad-quantity $.status.{key}["example.com/license"] write a whole number'
    ]


def test_a_quota_may_hold_a_part_of_a_device() -> None:
    cursor, findings = cursor_of(
        "metadata: {name: q}\nspec: {min: {nvidia.com/gpu: 500m}, max: {nvidia.com/gpu: 1.5}}"
    )
    quota = read_elastic_quota(cursor)
    assert list(findings) == []
    assert quota is not None
    assert (quota.min, quota.max) == ({"nvidia.com/gpu": 500}, {"nvidia.com/gpu": 1500})
