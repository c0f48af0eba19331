"""Manifests as users write them, with owners and without pods: what is read of them, and said."""

import io
from textwrap import dedent

from fairlead.manifest.load import LoadResult, load
from fairlead.model.plan import Start, Wait
from fairlead.policy.contract import make_policy

NOW_MS = 1_793_500_000_000
QUOTAS = """
    ---
    apiVersion: scheduling.x-k8s.io/v1alpha1
    kind: ElasticQuota
    metadata: {name: first, namespace: one}
    spec: {min: {cpu: 2}, max: {cpu: 3}}
    ---
    apiVersion: scheduling.x-k8s.io/v1alpha1
    kind: ElasticQuota
    metadata: {name: second, namespace: two}
    spec: {min: {cpu: 4}, max: {cpu: 6}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: node-1}
    status: {allocatable: {cpu: 8, memory: 16Gi, pods: 110}}
"""
SERVERS = """
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: pages
      namespace: one
      labels: {app: pages}
    spec:
      replicas: 4
      selector:
        matchLabels: {app: pages}
      template:
        metadata:
          name: pages
          labels: {app: pages}
        spec:
          schedulerName: scheduler-plugins-scheduler
          containers:
          - name: server
            image: registry.example.com/pages:1
            resources: {limits: {cpu: 1}, requests: {cpu: 1}}
"""
GENERATED = """
    ---
    apiVersion: batch/v1
    kind: Job
    metadata: {generateName: work-, namespace: two}
    spec:
      template:
        spec:
          containers: [{name: c, resources: {requests: {cpu: 1}}}]
"""


def load_text(*texts: str) -> LoadResult:
    return load(["-"], stdin=io.BytesIO("".join(map(dedent, texts)).encode()))


def told(result: LoadResult) -> list[str]:
    return sorted(f"{each.severity} {each.code} {each.path}" for each in result.findings)


def starts_and_waits(result: LoadResult) -> tuple[int, int]:
    assembled = result.assembled
    assert assembled is not None
    plan = make_policy(assembled.settings).plan(assembled.state, NOW_MS)
    kinds = [type(each) for each in plan.decisions]
    return kinds.count(Start), kinds.count(Wait)


def test_a_deployment_beside_elastic_quotas_is_planned() -> None:
    """4 replicas of 1 cpu: one may have 3 at most."""
    result = load_text(QUOTAS, SERVERS)
    assert told(result) == []
    assert starts_and_waits(result) == (3, 1)


def test_a_document_for_create_gets_a_name_which_is_always_the_same() -> None:
    names = [[*load_text(*texts).assembled.state.workloads] for texts in _ORDERS]  # type: ignore[union-attr]
    assert sorted(names[0]) == sorted(names[1])
    assert len({*names[0]}) == 2
    assert all(name.startswith("two/work-") for name in names[0])


_ORDERS = ((QUOTAS, GENERATED, GENERATED), (GENERATED, QUOTAS, GENERATED))


def test_a_name_that_is_there_counts() -> None:
    named = GENERATED.replace("generateName: work-", "generateName: work-, name: own")
    assembled = load_text(QUOTAS, named).assembled
    assert assembled is not None
    assert [name.startswith("two/own-") for name in assembled.state.workloads] == [True]


def test_kinds_with_templates_that_are_not_read_are_said_once_each() -> None:
    daemons = SERVERS.replace("Deployment", "DaemonSet").replace(
        "replicas: 4", "minReadySeconds: 4"
    )
    service = "\n---\n{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {}}"
    result = load_text(QUOTAS, daemons, daemons.replace("name: pages", "name: other"), service)
    assert told(result) == ["advice left-alone $.kind"]
    assert "2 DaemonSet.apps" in result.findings[0].message
    assert result.left_alone == {"DaemonSet.apps": 2, "Service": 1}


def test_a_kind_that_is_not_read_and_names_a_queue_is_listed() -> None:
    """A TrainJob has no pod template, but a controller makes pods of it for the queue."""
    queue = "{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: q}}"
    head = "apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob"
    job = f"{{{head}, metadata: {{name: t, labels: %s}}}}"
    texts = [queue, job % "{kai.scheduler/queue: q}", job % "{app: x}"]
    result = load([], texts=[("world.yaml", "\n---\n".join(texts))])
    (found,) = [each for each in result.findings if each.code == "left-alone"]
    assert found.message.startswith(
        "found 1 TrainJob.trainer.kubeflow.org, a kind that is not read"
    )


def test_a_mistake_of_a_template_is_said_once_and_not_for_each_pod() -> None:
    result = load_text(QUOTAS, SERVERS.replace("labels: {app: pages}\n        spec", _IN_A_GROUP))
    assert told(result) == [
        'warning missing-reference $.spec.template.metadata.labels["scheduling.x-k8s.io/pod-group"]'
    ]


_IN_A_GROUP = "labels: {app: pages, scheduling.x-k8s.io/pod-group: gone}\n        spec"
