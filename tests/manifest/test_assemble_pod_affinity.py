"""What pod affinities look at comes into the state: namespaces, labels, and pods told apart."""

import io
from textwrap import dedent

import pytest

from fairlead.manifest.load import load
from fairlead.model.axes import WorkloadName
from fairlead.model.state import ClusterState
from tests.manifest.kai_world import GROUP, ONE_CORE, member, pod, queue, sound, stream, workload

TERM = "requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: %s}]"


def with_affinity(name: str, kind: str, selector: str) -> str:
    """Return a pod of its own whose affinity of the *kind* is by *selector*."""
    return pod(name, f"affinity: {{{kind}: {{{TERM % selector}}}}}, {ONE_CORE}")


def sets_of_the_group(*others: str) -> list[tuple[str, ...]]:
    numbered = [
        member(f"m{at}", more=f"labels: {{role: r{at % 2}, at: '{at}'}}") for at in range(4)
    ]
    state = sound(stream(queue("a"), GROUP, *numbered, *others))
    return [each.pod_names for each in workload(state, "ns/g").pod_sets]


def test_labels_that_nobody_asks_about_do_not_tell_pods_apart() -> None:
    assert sets_of_the_group() == [("m0", "m1", "m2", "m3")]


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_labels_that_another_pod_asks_about_tell_pods_apart(kind: str) -> None:
    other = with_affinity("other", kind, "{matchLabels: {role: r1}}")
    assert sets_of_the_group(other) == [("m0", "m2"), ("m1", "m3")]


@pytest.mark.parametrize("when", ["DoNotSchedule", "ScheduleAnyway"])
def test_labels_that_a_spread_selects_tell_pods_apart(when: str) -> None:
    rule = f"maxSkew: 1, topologyKey: zone, whenUnsatisfiable: {when}"
    by_role = (
        f"topologySpreadConstraints: [{{{rule}, labelSelector: {{matchLabels: {{role: r1}}}}}}]"
    )
    other = pod("other", f"{by_role}, {ONE_CORE}")
    assert sets_of_the_group(other) == [("m0", "m2"), ("m1", "m3")]


def test_a_label_is_looked_at_whatever_the_condition() -> None:
    other = with_affinity("o", "podAffinity", "{matchExpressions: [{key: at, operator: Exists}]}")
    assert sets_of_the_group(other) == [("m0",), ("m1",), ("m2",), ("m3",)]


def test_a_selector_of_everything_asks_about_no_label() -> None:
    other = with_affinity("other", "podAntiAffinity", "{}")
    assert sets_of_the_group(other) == [("m0", "m1", "m2", "m3")]


def test_a_set_keeps_the_labels_that_are_asked_about() -> None:
    other = with_affinity("other", "podAffinity", "{matchLabels: {role: r1}}")
    members = [member(f"m{at}", more=f"labels: {{role: r1, at: '{at}'}}") for at in range(2)]
    state = sound(stream(queue("a"), GROUP, *members, other))
    assert [each.labels for each in workload(state, "ns/g").pod_sets] == [(("role", "r1"),)]


FAMILIES = {
    "kai": """
        apiVersion: scheduling.run.ai/v2
        kind: Queue
        metadata: {name: q}
        spec: {resources: {cpu: {}, memory: {}, gpu: {quota: 1}}}
        ---
        apiVersion: v1
        kind: Pod
        metadata: {name: w, namespace: team, labels: {kai.scheduler/queue: q, app: web}}
        spec: {schedulerName: kai-scheduler, containers: [{name: c}]}
    """,
    "kueue": """
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: Workload
        metadata: {name: w, namespace: team}
        spec:
          queueName: q
          podSets:
          - name: main
            count: 2
            template:
              metadata: {labels: {app: web}, creationTimestamp: null}
              spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}
    """,
    "elastic-quota": """
        apiVersion: scheduling.x-k8s.io/v1alpha1
        kind: ElasticQuota
        metadata: {name: q, namespace: team}
        spec: {min: {cpu: 1}}
        ---
        apiVersion: v1
        kind: Pod
        metadata: {name: w, namespace: team, labels: {app: web}}
        spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}
    """,
}
NAMESPACE = """
---
apiVersion: v1
kind: Namespace
metadata: {name: team, labels: {tier: gold}}
"""


NAMES = {
    "kai": WorkloadName("team/pod/w"),
    "kueue": WorkloadName("team/w"),
    "elastic-quota": WorkloadName("team/w"),
}


def state_of(text: str) -> ClusterState:
    result = load(["-"], stdin=io.BytesIO((dedent(text) + NAMESPACE).encode()))
    assert result.assembled is not None
    return result.assembled.state


@pytest.mark.parametrize("family", FAMILIES)
def test_every_rule_set_knows_a_pods_namespace_and_labels(family: str) -> None:
    state = state_of(FAMILIES[family])
    found = state.workloads[NAMES[family]]
    assert found.namespace == "team"
    assert ("app", "web") in found.pod_sets[0].labels
    assert state.catalogue.namespace_labels("team")["tier"] == "gold"


def test_a_namespace_that_is_not_in_the_input_has_the_label_of_its_name() -> None:
    state = state_of(FAMILIES["kai"])
    assert state.catalogue.namespace_labels("other") == {"kubernetes.io/metadata.name": "other"}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_term_without_namespaces_means_those_of_its_pod(family: str) -> None:
    affinity = f"affinity: {{podAffinity: {{{TERM % '{}'}}}}}, containers:"
    state = state_of(FAMILIES[family].replace("containers:", affinity))
    found = state.workloads[NAMES[family]].pod_sets[0].constraints
    assert [term.namespaces for term in found.pod_affinity] == [("team",)]
