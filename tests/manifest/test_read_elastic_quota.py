"""ElasticQuota and its PodGroup, as users have them."""

import pytest

from fairlead.manifest.elastic_quota.objects import ElasticQuotaObject
from fairlead.manifest.elastic_quota.read_quota import (
    is_counted,
    read_elastic_quota,
    read_plugin_pod_group,
)
from tests.manifest.yaml_text import cursor_of, remarks

GI = 2**30


def quota(spec: str) -> tuple[ElasticQuotaObject, list[str]]:
    cursor, findings = cursor_of(f"metadata: {{name: q, namespace: a}}\nspec: {spec}")
    found = read_elastic_quota(cursor)
    assert found is not None
    return found, remarks(findings)


def test_a_quota_in_base_units() -> None:
    cursor, findings = cursor_of("""
        apiVersion: scheduling.x-k8s.io/v1alpha1
        kind: ElasticQuota
        metadata: {name: q, namespace: team-a, creationTimestamp: "1970-01-01T00:00:01Z"}
        spec:
          min: {cpu: 1500m, memory: 1.5Gi, nvidia.com/gpu: 4}
          max: {cpu: "6", memory: 8Gi, nvidia.com/gpu: "6"}
        status: {used: {cpu: 1}}
    """)
    found = read_elastic_quota(cursor)
    assert remarks(findings) == []
    assert found is not None
    assert (found.namespace, found.name, found.created_ms) == ("team-a", "q", 1000)
    assert found.min == {"cpu": 1500, "memory": GI + GI // 2, "nvidia.com/gpu": 4000}
    assert found.max == {"cpu": 6000, "memory": 8 * GI, "nvidia.com/gpu": 6000}


def test_no_max_and_an_empty_max_are_not_the_same() -> None:
    assert quota("{min: {cpu: 1}}")[0].max is None
    found, told = quota("{min: {cpu: 1}, max: null}")
    assert (found.max, told) == (None, [])
    assert quota("{max: {}}")[0].max == {}
    assert quota("{max: {cpu: 1}}")[0].min == {}


def test_what_is_finer_than_we_count_is_rounded_up_as_kubernetes_does() -> None:
    found, told = quota("{min: {cpu: 0.0001, memory: 1.5}}")
    assert found.min == {"cpu": 1, "memory": 2}
    assert told == ["warning rounded $.spec.min.cpu", "warning rounded $.spec.min.memory"]


COUNTED = """
    cpu                         yes
    memory                      yes
    ephemeral-storage           yes
    hugepages-2Mi               yes
    attachable-volumes-aws-ebs  yes
    nvidia.com/gpu              yes
    kubernetes.io/batch-cpu     yes
    pods                        no
    gpu                         no
    storage                     no
    services                    no
    requests.cpu                no
    limits.memory               no
    requests.nvidia.com/gpu     no
"""


@pytest.mark.parametrize("row", COUNTED.strip().splitlines())
def test_which_names_a_quota_counts(row: str) -> None:
    resource, answer = row.split()
    assert is_counted(resource) is (answer == "yes")
    found, told = quota(f"{{min: {{{resource}: 1}}}}")
    assert (resource in found.min) is (answer == "yes")
    assert len(told) == (answer == "no")


CURES = {
    "pods": "remove it; the number of pods is not limited by an ElasticQuota",
    "requests.cpu": "write cpu",
    "requests.nvidia.com/gpu": "write nvidia.com/gpu",
    "gpu": "write the name that pods ask for, such as nvidia.com/gpu",
    "storage": "remove it, or write the name that pods ask for, such as nvidia.com/gpu",
}


@pytest.mark.parametrize(("resource", "cure"), CURES.items(), ids=CURES.keys())
def test_a_name_without_effect_comes_with_its_cure(resource: str, cure: str) -> None:
    cursor, findings = cursor_of(f"metadata: {{name: q}}\nspec: {{max: {{{resource}: 1}}}}")
    read_elastic_quota(cursor)
    (finding,) = findings
    assert (finding.severity, finding.code, finding.fix) == ("warning", "no-effect", cure)


def test_a_tree_of_quotas_has_no_effect_yet() -> None:
    cursor, findings = cursor_of("""
        metadata:
          name: q
          labels: {quota.scheduling.koordinator.sh/parent: root, app: x}
          annotations: {quota.scheduling.koordinator.sh/shared-weight: "{}"}
        spec: {min: {cpu: 1}}
    """)
    assert read_elastic_quota(cursor) is not None
    assert remarks(findings) == [
        'warning no-effect $.metadata.annotations["quota.scheduling.koordinator.sh/shared-weight"]',
        'warning no-effect $.metadata.labels["quota.scheduling.koordinator.sh/parent"]',
    ]


def test_what_is_wrong_with_a_quota() -> None:
    _, told = quota("{min: {cpu: -1, memory: 4GB}, max: [1], maximum: {}}")
    assert told == [
        "error bad-quantity $.spec.min.memory",
        "error out-of-range $.spec.min.cpu",
        "error wrong-type $.spec.max",
        "warning unknown-field $.spec.maximum",
    ]


def test_a_pod_group() -> None:
    cursor, findings = cursor_of("""
        metadata: {name: gang, namespace: a}
        spec: {minMember: 3, minResources: {cpu: 2}, scheduleTimeoutSeconds: 10}
        status:
          phase: Scheduling
          occupiedBy: batch/train
          running: 1
          succeeded: 0
          failed: 0
          scheduled: 2
          scheduleStartTime: "1970-01-01T00:00:07Z"
    """)
    found = read_plugin_pod_group(cursor)
    assert remarks(findings) == []
    assert found is not None
    assert (found.namespace, found.name, found.min_member) == ("a", "gang", 3)
    assert (found.min_resources, found.schedule_timeout_s) == ({"cpu": 2000}, 10)
    assert found.schedule_started_ms == 7000


def test_a_pod_group_is_told_what_no_quota_counts() -> None:
    cursor, findings = cursor_of("""
        metadata: {name: gang}
        spec: {minMember: 2, minResources: {gpu: 2, pods: 2, cpu: 1}}
    """)
    found = read_plugin_pod_group(cursor)
    assert remarks(findings) == [
        "warning no-effect $.spec.minResources.gpu",
        "warning no-effect $.spec.minResources.pods",
    ]
    assert found is not None
    assert found.min_resources == {"cpu": 1000}


def test_a_pod_group_that_says_nothing_needs_one_member() -> None:
    cursor, findings = cursor_of("metadata: {name: gang}\nspec: {}")
    found = read_plugin_pod_group(cursor)
    assert remarks(findings) == []
    assert found is not None
    assert (found.min_member, found.min_resources, found.schedule_timeout_s) == (1, None, None)
    assert found.schedule_started_ms is None


def test_what_is_wrong_with_a_pod_group() -> None:
    cursor, findings = cursor_of("""
        metadata: {name: gang}
        spec: {minMember: 0, minMembers: 3}
        status: {scheduleStartTime: noon, scheduleStart: 1}
    """)
    read_plugin_pod_group(cursor)
    assert remarks(findings) == [
        "error bad-timestamp $.status.scheduleStartTime",
        "error out-of-range $.spec.minMember",
        "warning unknown-field $.spec.minMembers",
        "warning unknown-field $.status.scheduleStart",
    ]
