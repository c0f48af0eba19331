"""``status.used`` as the plugin's controller publishes it, which is not what decisions rest on."""

import io
from textwrap import dedent

import pytest

from fairlead.explain.queues.report import shares_document
from fairlead.explain.rule_set import rule_set_of
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Placement, WorkloadAdded, WorkloadReserved
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.elastic_quota.quota.shares import published_used
from tests.manifest.reading import load_or_raise

TEAM = QueueName("team")
QUOTA = """
    {apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota,
     metadata: {name: quota, namespace: team}, spec: SPEC}
"""
POD = """
    {apiVersion: v1, kind: Pod, metadata: {name: NAME, namespace: SPACE, MORE},
     spec: {nodeName: n1, containers: [{name: main, resources: {requests: {REQUESTS}}}], SPEC},
     status: {phase: PHASE}}
"""
SIDECAR = """initContainers: [
    {name: proxy, restartPolicy: Always, resources: {requests: {cpu: 3}}}]"""


def quota(spec: str = "{min: {cpu: 8}}") -> str:
    return dedent(QUOTA).replace("SPEC", spec)


def pod(
    name: str,
    requests: str = "cpu: 1",
    *,
    phase: str = "Running",
    more: str = "",
    spec: str = "",
    space: str = "team",
) -> str:
    text = dedent(POD).replace("NAME", name).replace("SPACE", space).replace("PHASE", phase)
    return text.replace("REQUESTS", requests).replace("SPEC", spec).replace("MORE", more)


def state_of(*documents: str) -> ClusterState:
    return load_or_raise(["-"], stdin=io.BytesIO("---".join(documents).encode())).state


DELETED = 'deletionTimestamp: "2026-11-16T08:00:00Z"'

# pods of the namespace -> millicores used, as published and as decisions see it
PODS = {
    "those that run, added up": ([pod("a"), pod("b", "cpu: 1500m")], 2500, 2500),
    "one that has a node and is not up yet": ([pod("a", phase="Pending")], 0, 1000),
    "one whose node is lost": ([pod("a", phase="Unknown")], 0, 1000),
    "one that is being deleted and still runs": ([pod("a", more=DELETED)], 1000, 1000),
    "one that has finished": ([pod("a", phase="Succeeded"), pod("b")], 1000, 1000),
    # the node is charged 1 + 3; the plugin takes the larger of the two
    "a sidecar as an init container": ([pod("a", spec=SIDECAR)], 3000, 4000),
    "those of other namespaces do not count": ([pod("a", space="other")], 0, 0),
}


@pytest.mark.parametrize(("pods", "published", "decides"), PODS.values(), ids=PODS.keys())
def test_which_pods_count_and_how_much(pods: list[str], published: int, decides: int) -> None:
    state = state_of(quota(), *pods)
    sums = state.sums[TEAM]
    assert sums.allocated[0] + sums.leaving[0] == decides
    assert published_used(state) == {TEAM: {"cpu": published}}


# the quota and a pod's requests -> the resources that are named, besides what is used of them
NAMED = {
    "those of min": ("{min: {cpu: 8, memory: 1Gi}}", None, {"cpu": 0, "memory": 0}),
    "those of max": ("{max: {nvidia.com/gpu: 2}}", None, {"nvidia.com/gpu": 0}),
    "those of max, be it 0": ("{max: {cpu: 0}}", None, {"cpu": 0}),
    "those of a pod": ("{min: {cpu: 8}}", "memory: 1Ki", {"cpu": 0, "memory": 1024}),
    "those of a pod, be it 0": ("{min: {cpu: 8}}", "memory: 0", {"cpu": 0, "memory": 0}),
    "none": ("{}", None, {}),
}


@pytest.mark.parametrize(("spec", "requests", "expected"), NAMED.values(), ids=NAMED.keys())
def test_which_resources_are_named(
    spec: str, requests: str | None, expected: dict[str, int]
) -> None:
    pods = [] if requests is None else [pod("a", requests)]
    assert published_used(state_of(quota(spec), *pods)) == {TEAM: expected}


def test_what_is_only_reserved_does_not_run() -> None:
    state = state_of(quota(), pod("a"))
    asked = PodSet(name="main", count=1, min_count=1, requests=(1,) * len(state.resources))
    job = Workload(name=WorkloadName("team/b"), queue=TEAM, pod_sets=PodSets((asked,)), min_count=1)
    state.apply(WorkloadAdded(job))
    place = (Placement(numbered_pod("main", 0), "n1"),)
    state.apply(WorkloadReserved(workload=job.name, placements=place, at_ms=0))
    assert published_used(state) == {TEAM: {"cpu": 1000}}


def test_programs_get_it_in_the_form_of_the_object() -> None:
    text = quota("{min: {cpu: 8, memory: 1Gi}}") + "---" + pod("a", "cpu: 1500m, memory: 512Mi")
    assembled = load_or_raise(["-"], stdin=io.BytesIO(text.encode()))
    report = rule_set_of(assembled.settings).share_report(assembled.state, assembled.settings, None)
    queues = shares_document(report)["queues"]
    assert isinstance(queues, list)
    pool, team = queues
    assert team["status"] == {"used": {"cpu": "1500m", "memory": "512Mi"}}
    assert "status" not in pool
