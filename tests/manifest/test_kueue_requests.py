"""What a pending Workload asks for after the Configuration changed what its pods request."""

import pytest

from fairlead.manifest.finding import Findings
from fairlead.manifest.translate.family import OF_FILES
from fairlead.manifest.translate.translator import Translator
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Start, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings
from tests.manifest.test_assemble_kueue import (
    assemble,
    cluster_queue,
    documents_of,
    local_queue,
    sound,
    workload,
)

QUEUES = (cluster_queue("a", quota="cpu: f 4"), local_queue("jobs", "a"))


def configuration(resources: str) -> str:
    return (
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmetadata: {name: c}\n"
        f"resources: {{{resources}}}\n"
    )


def asking(requests: str) -> str:
    return workload("w").replace("{cpu: 1}", f"{{{requests}}}")


def requested(state: ClusterState, name: str = "team/w") -> dict[str, int]:
    (pod_set,) = state.workloads[WorkloadName(name)].pod_sets
    amounts = zip(state.resources, pod_set.requests, strict=True)
    return {resource: amount for resource, amount in amounts if amount and resource != "pods"}


def rule(text: str) -> str:
    return f"transformations: [{{{text}}}]"


MIB = 1 << 20
CASES = {
    "nothing changes": ("", "cpu: 2", {"cpu": 2000}),
    "an excluded prefix": (
        "excludeResourcePrefixes: [net.example/]",
        "cpu: 1, net.example/port: 2",
        {"cpu": 1000},
    ),
    "the input stays": (  # 2 x 5Mi
        rule("input: x.io/slice, outputs: {memory: 5Mi}"),
        "x.io/slice: 2, memory: 1Mi",
        {"x.io/slice": 2, "memory": 11 * MIB},
    ),
    "or is replaced": (
        rule("input: x.io/slice, strategy: Replace, outputs: {credits: 3, cpu: 500m}"),
        "x.io/slice: 2, cpu: 1",
        {"credits": 6, "cpu": 2000},  # 2 x 3; 1 + 2 x 0.5
    ),
    "part of a unit counts as a whole one": (
        rule("input: cpu, strategy: Replace, outputs: {credits: 10}"),
        "cpu: 1500m",
        {"credits": 20},
    ),
    "times another resource": (  # 2Mi for each of 4 devices: 4 x 2Mi x 1
        rule("input: memory, strategy: Replace, multiplyBy: x.io/d, outputs: {total: 1}"),
        "memory: 2Mi, x.io/d: 4",
        {"total": 8 * MIB, "x.io/d": 4},
    ),
    "which the pod does not ask for": (
        rule("input: memory, strategy: Replace, multiplyBy: x.io/d, outputs: {total: 1}"),
        "memory: 2Mi",
        {"total": 2 * MIB},
    ),
    "two inputs of one output": (
        (
            "transformations: [{input: x.io/a, strategy: Replace, outputs: {credits: 1}},"
            " {input: x.io/b, strategy: Replace, outputs: {credits: 10}}]"
        ),
        "x.io/a: 2, x.io/b: 3",
        {"credits": 32},  # 2 x 1 + 3 x 10
    ),
    "a sum below zero is none": (
        rule("input: x.io/a, strategy: Replace, outputs: {cpu: -2}"),
        "x.io/a: 1, cpu: 1",
        {},
    ),
    "an excluded input is not transformed": (
        "excludeResourcePrefixes: [x.io/], " + rule("input: x.io/a, outputs: {credits: 1}"),
        "x.io/a: 2, cpu: 1",
        {"cpu": 1000},
    ),
}


@pytest.mark.parametrize(("resources", "requests", "expected"), CASES.values(), ids=CASES)
def test_what_a_pod_counts_as(resources: str, requests: str, expected: dict[str, int]) -> None:
    assert requested(sound(*QUEUES, configuration(resources), asking(requests))) == expected


def test_what_has_quota_is_charged_as_its_status_says() -> None:
    charged = workload("w", admitted="a f")
    doubled = configuration(rule("input: cpu, strategy: Replace, outputs: {cpu: 2}"))
    assert requested(sound(*QUEUES, doubled, charged)) == {"cpu": 1000}
    assert requested(sound(*QUEUES, doubled, workload("w"))) == {"cpu": 2000}


@pytest.mark.parametrize(("strategy", "kind"), [("Block", Wait), ("Ignore", Start)])
def test_a_resource_without_quota_waits_or_is_ignored(strategy: str, kind: type) -> None:
    settings = configuration(f"quotaCheckStrategy: {strategy}Undeclared")
    assembled, _ = assemble(documents_of(*QUEUES, settings, asking("cpu: 1, x.io/d: 1")))
    assert assembled is not None
    assert isinstance(assembled.settings, KueueSettings)
    (decision,) = KueuePolicy(assembled.settings).plan(assembled.state, 0).decisions
    assert isinstance(decision, kind)


LIMITS = """apiVersion: v1
kind: LimitRange
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{limits: [{{type: {kind}, defaultRequest: {{{requests}}}, default: {{{limits}}}}}]}}
"""
SANDBOX = """apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: sandbox}
handler: any
overhead: {podFixed: {cpu: 250m}}
"""


def limits(
    requests: str = "",
    limits: str = "",
    *,
    name: str = "l",
    namespace: str = "team",
    kind: str = "Container",
) -> str:
    return LIMITS.format(
        name=name, namespace=namespace, kind=kind, requests=requests, limits=limits
    )


# What the cluster has, what the container says, and what it counts as.
ADDED = {
    "a default request": ((limits("cpu: 2"),), "requests: {}", {"cpu": 2000}),
    "not where one is written": ((limits("cpu: 2"),), "requests: {cpu: 1}", {"cpu": 1000}),
    "before a limit that is written": ((limits("cpu: 2"),), "limits: {cpu: 3}", {"cpu": 2000}),
    "a written limit without one": ((), "limits: {cpu: 3}", {"cpu": 3000}),
    "a default limit": ((limits(limits="cpu: 4"),), "requests: {}", {"cpu": 4000}),
    "the default request before it": (
        (limits("cpu: 2", "cpu: 4"),),
        "requests: {}",
        {"cpu": 2000},
    ),
    "of the first by name": (
        (limits("cpu: 2", name="b"), limits("cpu: 1", name="a")),
        "requests: {}",
        {"cpu": 1000},
    ),
    "not of another namespace": ((limits("cpu: 2", namespace="lab"),), "requests: {}", {}),
    "not for whole pods": ((limits("cpu: 2", kind="Pod"),), "requests: {}", {}),
    "the runtime class": ((SANDBOX,), "requests: {cpu: 1}", {"cpu": 1250}),
}


@pytest.mark.parametrize(("cluster", "resources", "expected"), ADDED.values(), ids=ADDED)
def test_the_cluster_adds_to_what_is_written(
    cluster: tuple[str, ...], resources: str, expected: dict[str, int]
) -> None:
    text = asking("cpu: 1").replace("requests: {cpu: 1}", resources)
    if SANDBOX in cluster:
        text = text.replace("{spec: {", "{spec: {runtimeClassName: sandbox, ")
    assert requested(sound(*QUEUES, *cluster, text)) == expected


DEVICES = """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two, namespace: team}
spec: {spec: {devices: {requests: [
  {name: a, exactly: {deviceClassName: big.example, count: 2}},
  {name: b, exactly: {deviceClassName: other.example}}]}}}
"""
MAPPED = "deviceClassMappings: [{name: example.com/gpu, deviceClassNames: [big.example]}]"


def test_claimed_devices_use_the_resource_of_their_class() -> None:
    """2 of the class that is mapped, none of the other."""
    text = asking("cpu: 1").replace(
        "{spec: {", "{spec: {resourceClaims: [{name: d, resourceClaimTemplateName: two}], "
    )
    mapped = {"cpu": 1000, "example.com/gpu": 2000}
    for objects, expected in (
        ((configuration(MAPPED), DEVICES), mapped),
        ((DEVICES,), {"cpu": 1000}),
        ((configuration(MAPPED),), {"cpu": 1000}),
    ):
        assembled, told = assemble(documents_of(*QUEUES, *objects, text))
        assert assembled is not None, told
        assert requested(assembled.state) == expected


def test_an_overhead_that_is_written_counts_alone() -> None:
    """1 + 0.5, and not 0.25 more."""
    text = asking("cpu: 1").replace(
        "{spec: {", "{spec: {runtimeClassName: sandbox, overhead: {cpu: 500m}, "
    )
    assert requested(sound(*QUEUES, SANDBOX, text)) == {"cpu": 1500}


def test_requests_follow_a_limit_range() -> None:
    translator = Translator("kueue", OF_FILES)
    for document in documents_of(*QUEUES, asking("")):
        translator.changed(document)
    translator.settle()
    assert requested(translator.state) == {}
    (default,) = documents_of(limits("cpu: 2"))
    translator.changed(default)
    translator.settle()
    assert requested(translator.state) == {"cpu": 2000}
    translator.removed(default)
    translator.settle()
    assert requested(translator.state) == {}


def test_each_input_has_one_transformation() -> None:
    twice = "transformations: [{input: cpu, outputs: {a: 1}}, {input: cpu, outputs: {b: 1}}]"
    _, told = assemble(documents_of(*QUEUES, configuration(twice)))
    assert told[1:] == ["error duplicate-entry $.resources.transformations[1].input"]


def test_requests_follow_the_configuration() -> None:
    translator = Translator("kueue", OF_FILES)
    before = documents_of(
        *QUEUES, configuration("excludeResourcePrefixes: [none]"), asking("cpu: 1")
    )
    (after,) = documents_of(configuration("excludeResourcePrefixes: [cpu]"))
    for document in before:
        translator.changed(document)
    translator.settle()
    assert requested(translator.state) == {"cpu": 1000}
    translator.changed(after)
    translator.settle()
    assert requested(translator.state) == {}


def bounded(kind: str, bounds: str, name: str = "b") -> str:
    return (
        f"apiVersion: v1\nkind: LimitRange\nmetadata: {{name: {name}, namespace: team}}\n"
        f"spec: {{limits: [{{type: {kind}, {bounds}}}]}}\n"
    )


DISALLOWED = {
    "more than a container may": (
        (bounded("Container", "max: {cpu: 1}"), asking("cpu: 1500m")),
        "a container asks for more cpu than a LimitRange allows: 1.5 > 1",
    ),
    "less than a container must": (
        (bounded("Container", "min: {cpu: 2}"), asking("cpu: 1")),
        "a container asks for less cpu than a LimitRange demands: 1 < 2",
    ),
    "a default counts": (
        (
            bounded("Container", "defaultRequest: {memory: 2Gi}, max: {memory: 1Gi}"),
            asking("cpu: 1"),
        ),
        "a container asks for more memory than a LimitRange allows: 2Gi > 1Gi",
    ),
    "more than a pod may": (
        (bounded("Pod", "max: {cpu: 1}"), asking("cpu: 2")),
        "a pod asks for more cpu than a LimitRange allows: 2 > 1",
    ),
    "more than its own limit": (
        (asking("cpu: 2").replace("requests:", "limits: {cpu: 1}, requests:"),),
        "a container asks for more cpu than its limit: 2 > 1",
    ),
    "the strictest of two counts": (
        (
            bounded("Container", "max: {cpu: 9}", "a"),
            bounded("Container", "max: {cpu: 1}"),
            asking("cpu: 2"),
        ),
        "a container asks for more cpu than a LimitRange allows: 2 > 1",
    ),
}


@pytest.mark.parametrize(("texts", "problem"), DISALLOWED.values(), ids=DISALLOWED)
def test_what_is_not_allowed_is_not_admitted(texts: tuple[str, ...], problem: str) -> None:
    state = sound(*QUEUES, *texts)
    (wait,) = KueuePolicy(KueueSettings()).plan(state, 0).decisions
    assert isinstance(wait, Wait)
    assert (wait.reason.code, wait.reason.names) == (
        "Misconfigured",
        (f"pod set main: {problem}",),
    )


ALLOWED = {
    "the bounds themselves": (
        bounded("Container", "min: {cpu: 2}, max: {cpu: 2}"),
        asking("cpu: 2"),
    ),
    "what is not asked for": (bounded("Container", "min: {memory: 1Gi}"), asking("cpu: 1")),
    "another namespace": (
        bounded("Pod", "max: {cpu: 1}").replace("namespace: team", "namespace: x"),
        asking("cpu: 2"),
    ),
}


@pytest.mark.parametrize("texts", ALLOWED.values(), ids=ALLOWED)
def test_what_is_allowed_starts(texts: tuple[str, ...]) -> None:
    (start,) = KueuePolicy(KueueSettings()).plan(sound(*QUEUES, *texts), 0).decisions
    assert isinstance(start, Start)


@pytest.mark.parametrize(
    ("texts", "is_told"),
    [((SANDBOX,), False), ((), True)],
    ids=["the class is there", "it is not"],
)
def test_a_class_with_unknown_overhead_is_told(texts: tuple[str, ...], is_told: bool) -> None:
    pending = asking("cpu: 1").replace("{spec: {", "{spec: {runtimeClassName: sandbox, ")
    findings = Findings()
    assemble(documents_of(*QUEUES, *texts, pending), findings)
    found = [each for each in findings if "RuntimeClass" in each.message]
    assert [each.code for each in found] == ["missing-reference"] * is_told
