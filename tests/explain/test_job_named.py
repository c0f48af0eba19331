"""A job is found by its whole name, and by a shorter one where only one job can be meant."""

import pytest

from fairlead.errors import FairleadError
from fairlead.explain.named import job_named
from fairlead.manifest.load import load
from fairlead.model.state import ClusterState

KAI = """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: a}
spec: {resources: {}}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: train, namespace: lab}
spec: {queue: a, minMember: 1}
"""
POD = """
---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s, %s}
spec: {schedulerName: kai-scheduler}
"""
MEMBER = "annotations: {pod-group-name: train}"
ELASTIC = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: q, namespace: lab}
spec: {min: {cpu: 1}}
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: train, namespace: lab}
spec: {minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: train-0, namespace: lab, labels: {scheduling.x-k8s.io/pod-group: train}}
spec: {}
"""


def state_of(*texts: str) -> ClusterState:
    assembled = load([], texts=[("world.yaml", "".join(texts))]).assembled
    assert assembled is not None
    return assembled.state


@pytest.fixture(scope="module")
def kai() -> ClusterState:
    """Return lab/train, lab/pod/train, lab/pod/probe and hall/pod/probe."""
    lone = [("train", "lab"), ("probe", "lab"), ("probe", "hall")]
    pods = [POD % (name, namespace, "labels: {}") for name, namespace in lone]
    return state_of(KAI, POD % ("train-0", "lab", MEMBER), *pods)


@pytest.mark.parametrize(
    ("text", "job"),
    [
        ("lab/train", "lab/train"),  # a whole name means that job, though a pod has it too
        ("lab/pod/train", "lab/pod/train"),
        ("lab/pod/probe", "lab/pod/probe"),
        ("lab/probe", "lab/pod/probe"),
        ("hall/probe", "hall/pod/probe"),
        ("hall/train", None),
        ("pod/train", None),
        ("lab", None),
        ("lab/", None),
    ],
)
def test_the_kind_may_be_left_out(kai: ClusterState, text: str, job: str | None) -> None:
    assert job_named(kai, text) == job


@pytest.mark.parametrize(
    ("text", "listed"),
    [("train", "lab/pod/train, lab/train"), ("probe", "hall/pod/probe, lab/pod/probe")],
)
def test_a_name_that_may_mean_several_is_refused(kai: ClusterState, text: str, listed: str) -> None:
    with pytest.raises(FairleadError, match=f"several jobs are named '{text}'.*{listed}"):
        job_named(kai, text)


@pytest.mark.parametrize("text", ["lab/podgroup/train", "lab/train", "train"])
def test_a_group_under_an_elastic_quota_is_found_too(text: str) -> None:
    assert job_named(state_of(ELASTIC), text) == "lab/podgroup/train"
