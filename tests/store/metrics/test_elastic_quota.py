"""ElasticQuotas under Koordinator's names: its labels, and millicores for cpu."""

from pathlib import Path

from fairlead.store.metrics.exposition import exposition
from fairlead.store.metrics.registry import state_families
from tests.cli.manifests import NODE, write
from tests.manifest.reading import load_or_raise
from tests.store.scraped import by_label, scraped

QUOTA = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {{name: quota, namespace: {namespace}}}
spec: {{min: {{cpu: 1500m, nvidia.com/gpu: 2}}, {more}}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: vision}}
spec:
  {node}
  containers: [{{name: main, resources: {{requests: {{cpu: 250m, nvidia.com/gpu: 1}}}}}}]
status: {{phase: {phase}}}
"""
WORLD = (
    NODE,
    QUOTA.format(namespace="vision", more="max: {cpu: 4, nvidia.com/gpu: 3}"),
    QUOTA.format(namespace="speech", more=""),
    POD.format(name="runs", node="nodeName: n1", phase="Running"),
    POD.format(name="waits", node="", phase="Pending"),
)


def told(folder: Path) -> str:
    assembled = load_or_raise([write(folder, "c.yaml", *WORLD)])
    return exposition(state_families(assembled.state, assembled.settings, None)).decode()


def test_min_and_max_are_told_and_no_limit_is_left_out(tmp_path: Path) -> None:
    text = told(tmp_path)
    cpu = {"resource": "cpu"}
    gpu = {"resource": "nvidia.com/gpu"}
    spec = "elastic_quota_spec"
    least = by_label(text, spec, "namespace", field="min", **cpu)
    assert least == {"vision": 1500, "speech": 1500}
    assert by_label(text, spec, "namespace", field="max", **cpu) == {"vision": 4000}
    assert by_label(text, spec, "namespace", field="min", **gpu) == {"vision": 2, "speech": 2}
    assert by_label(text, spec, "namespace", field="max", **gpu) == {"vision": 3}


def test_use_and_requests_are_told(tmp_path: Path) -> None:
    text = told(tmp_path)
    status = "elastic_quota_status"
    used = by_label(text, status, "namespace", field="used", resource="cpu")
    assert used == {"vision": 250, "speech": 0}
    # one pod runs and one waits: 2 x 250 millicores, 2 x 1 GPU
    asked = by_label(text, status, "namespace", field="request", resource="cpu")
    assert asked == {"vision": 500, "speech": 0}
    asked = by_label(text, status, "namespace", field="request", resource="nvidia.com/gpu")
    assert asked == {"vision": 2, "speech": 0}


def test_quotas_of_one_name_are_told_apart_by_their_namespace(tmp_path: Path) -> None:
    samples = scraped(told(tmp_path))["elastic_quota_spec"]
    names = {dict(labels)["name"] for labels in samples}
    parents = {dict(labels)["is_parent"] for labels in samples}
    assert (names, parents) == ({"quota"}, {"false"})
