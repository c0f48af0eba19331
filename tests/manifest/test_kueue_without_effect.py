"""What decides in Kueue who runs and is not built here is told, once for all objects of a kind."""

from textwrap import dedent

import pytest

from fairlead.errors import Finding
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.assembly.checks import CONSEQUENCES
from tests.manifest.test_assemble_kueue import (
    assemble,
    cluster_queue,
    documents_of,
    flavor,
    head,
    local_queue,
    workload,
)
from tests.shared_folder import ROOT

PAGE = (ROOT / "docs" / "reference" / "kueue-compatibility.md").read_text(encoding="utf-8")
REST = [cluster_queue("a"), flavor("f"), local_queue("jobs", "a"), workload("w")]


def findings_of(*texts: str) -> list[Finding]:
    findings = Findings()
    assemble(documents_of(*texts), findings)
    return list(findings)


def told(*texts: str) -> list[str]:
    return sorted(f"{each.severity} {each.code} {each.path}" for each in findings_of(*texts))


def spec_of(kind: str, field: str) -> str:
    """Return an object with one field more in its spec."""
    texts = {
        "ClusterQueue": cluster_queue("b"),
        "LocalQueue": head("LocalQueue", "more", "team") + "spec:\n  clusterQueue: a\n",
        "ResourceFlavor": head("ResourceFlavor", "g") + "spec:\n  nodeLabels: {zone: b}\n",
        "Workload": workload("x"),
    }
    return f"{texts[kind]}  {field}\n"


# The field, and whether it is told: not if it says the same as nothing does.
SPECS = {
    ("ClusterQueue", "admissionChecksStrategy: {admissionChecks: [{name: budget}]}"): True,
    ("ClusterQueue", "admissionChecksStrategy: {admissionChecks: []}"): False,
    ("ClusterQueue", "admissionChecks: [budget]"): True,
    ("ClusterQueue", "admissionChecks: []"): False,
    ("ClusterQueue", "concurrentAdmissionPolicy: {migration: {mode: X}}"): True,
    ("ClusterQueue", "concurrentAdmissionPolicy:"): False,
    ("ClusterQueue", "stopPolicy: Hold"): False,
    ("LocalQueue", "wallTimePolicy: {wallTimeAllocatedHours: 5}"): True,
    ("LocalQueue", "fairSharing: {weight: 2}"): False,
    ("ResourceFlavor", "topologyName: racks"): True,
    ("ResourceFlavor", 'topologyName: ""'): False,
    ("ResourceFlavor", "resourceWeights: {cpu: 2}"): True,
    ("Workload", "maximumExecutionTimeSeconds: 60"): True,
    ("Workload", "maximumExecutionTimeSeconds:"): False,
    ("Workload", "preemptionGates: [{name: a}]"): True,
    ("Workload", "preemptionGates: []"): False,
}


@pytest.mark.parametrize(
    ("kind", "field", "is_told"), [(*key, value) for key, value in SPECS.items()]
)
def test_a_field_of_a_spec_that_has_no_effect(kind: str, field: str, is_told: bool) -> None:
    path = f"$.spec.{field.partition(':')[0]}"
    expected = [f"warning no-effect {path}"] if is_told else []
    assert told(*REST, spec_of(kind, field)) == expected


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (
            "UsageBasedAdmissionFairSharing",
            ["warning no-effect $.spec.admissionScope.admissionMode"],
        ),
        ("NoAdmissionFairSharing", []),
        ("Sometimes", ["error bad-choice $.spec.admissionScope.admissionMode"]),
    ],
)
def test_admission_by_past_use_has_no_effect_without_a_half_life(
    mode: str, expected: list[str]
) -> None:
    text = spec_of("ClusterQueue", f"admissionScope: {{admissionMode: {mode}}}")
    assert told(*REST, text) == expected
    half_life = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
    half_life += "admissionFairSharing: {usageHalfLifeTime: 1h}\n"
    errors = [each for each in expected if each.startswith("error")]
    assert told(*REST, text, half_life) == errors


def test_many_queues_that_ask_for_admission_by_past_use_are_told_once() -> None:
    field = "  admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}\n"
    (finding,) = findings_of(*REST, cluster_queue("z") + field, cluster_queue("b") + field)
    assert finding.message == (
        "found UsageBasedAdmissionFairSharing, here and in 1 other ClusterQueue, which has no "
        "effect without admissionFairSharing in a Configuration"
    )


TOPOLOGIES = {
    "preferred: rack": True,
    "unconstrained: true": True,
    "podSetGroupName: one": True,
    "preferred: rack, podIndexLabel: i": True,
    "podIndexLabel: i, subGroupIndexLabel: j, subGroupCount: 2": False,
    "preferred: null": False,
    "required: rack": False,
    "required: rack, podSetGroupName: one": False,
    "podSetSliceRequiredTopology: rack": False,
    "podsetSliceRequiredTopologyConstraints: [{topology: rack, size: 2}]": False,
}


@pytest.mark.parametrize(("wish", "is_told"), TOPOLOGIES.items(), ids=str)
def test_a_wish_about_topology_is_told_but_where_the_workload_waits_for_it(
    wish: str, is_told: bool
) -> None:
    text = workload("x") + f"    topologyRequest: {{{wish}}}\n"
    expected = ["warning no-effect $.spec.podSets[0].topologyRequest"] if is_told else []
    assert told(*REST, text) == expected
    assembled, _ = assemble(documents_of(*REST, text))
    assert assembled is not None
    (found,) = [each for each in assembled.state.workloads.values() if each.name == "team/x"]
    waits = "equired" in wish
    assert found.pod_sets[0].constraints.unsupported == (("topologyRequest",) if waits else ())


@pytest.mark.parametrize(
    ("states", "is_told"),
    [
        ("[]", True),
        ("[{name: a, position: Closed}, {name: b, position: Open}]", True),
        ("[{name: b, position: Open}]", True),
        ("[{name: a, position: Open, lastTransitionTime: x}, {name: b, position: Open}]", False),
    ],
)
def test_gates_are_closed_until_the_status_opens_them_all(states: str, is_told: bool) -> None:
    text = spec_of("Workload", "preemptionGates: [{name: a}, {name: b}]")
    expected = ["warning no-effect $.spec.preemptionGates"] if is_told else []
    assert told(*REST, f"{text}status: {{preemptionGates: {states}}}\n") == expected


def test_a_gate_needs_a_name() -> None:
    text = spec_of("Workload", "preemptionGates: [{}]")
    assert "error missing-field $.spec.preemptionGates[0].name" in told(*REST, text)


@pytest.mark.parametrize("name", ["priority-boost", "admission-gated-by"])
def test_annotations_that_have_no_effect(name: str) -> None:
    text = workload("x").replace(
        "name: x}", f"name: x, annotations: {{kueue.x-k8s.io/{name}: '5', other: z}}}}"
    )
    (finding,) = findings_of(*REST, text)
    assert (finding.severity, finding.code) == ("warning", "no-effect")
    assert f"kueue.x-k8s.io/{name}" in finding.path


# A Configuration, its version, and the fields that are told.
CONFIGURATIONS = [
    ("v1beta2", "admissionFairSharing: {usageHalfLifeTime: 1h}", []),
    ("v1beta2", "multiKueue: {gcInterval: 1m}", ["multiKueue"]),
    (
        "v1beta2",
        "waitForPodsReady: {timeout: 5m, blockAdmission: true}",
        ["waitForPodsReady.blockAdmission"],
    ),
    ("v1beta2", "waitForPodsReady: {timeout: 5m, blockAdmission: false}", []),
    ("v1beta2", "waitForPodsReady: {timeout: 5m, enable: true}", []),
    ("v1beta1", "waitForPodsReady: {enable: true}", ["waitForPodsReady.enable"]),
    (
        "v1beta1",
        "waitForPodsReady: {enable: true, blockAdmission: true}",
        ["waitForPodsReady.blockAdmission"],
    ),
    ("v1beta1", "waitForPodsReady: {enable: true, blockAdmission: false}", []),
    ("v1beta1", "waitForPodsReady: {enable: false, blockAdmission: true}", []),
    ("v1beta1", "waitForPodsReady: {blockAdmission: true}", []),
    (
        "v1beta2",
        "resources: {excludeResourcePrefixes: [x], transformations: [{input: a, outputs: {b: 1}}]}",
        [],
    ),
    (
        "v1beta2",
        "resources: {deviceClassMappings: [{name: a}], quotaCheckStrategy: IgnoreUndeclared}",
        [],
    ),
    ("v1beta2", "resources: {quotaCheckStrategy: BlockUndeclared, future: 1}", []),
]


@pytest.mark.parametrize(("version", "text", "fields"), CONFIGURATIONS)
def test_parts_of_a_configuration_that_have_no_effect(
    version: str, text: str, fields: list[str]
) -> None:
    whole = f"apiVersion: config.kueue.x-k8s.io/{version}\nkind: Configuration\n{text}\n"
    assert told(*REST, whole) == [f"warning no-effect $.{field}" for field in fields]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("waitForPodsReady: 5m", "error wrong-type $.waitForPodsReady"),
        (
            "waitForPodsReady: {blockAdmission: always}",
            "error wrong-type $.waitForPodsReady.blockAdmission",
        ),
        ("resources: [x]", "error wrong-type $.resources"),
        ("resources: {transformations: [x]}", "error wrong-type $.resources.transformations[0]"),
    ],
)
def test_a_part_that_is_wrong_is_told_once(text: str, expected: str) -> None:
    whole = f"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n{text}\n"
    errors = [each for each in told(*REST, whole) if each.startswith("error")]
    assert errors == [expected]


def test_a_field_of_many_objects_is_told_once_at_the_first_by_name() -> None:
    limit = "maximumExecutionTimeSeconds: 60"
    gates = "preemptionGates: [{name: a}]"
    texts = [workload("c", more=limit), workload("a", more=limit), workload("b", more=gates)]
    first, second = findings_of(*REST, *texts, cluster_queue("z"))
    assert first.message == (
        "found maximumExecutionTimeSeconds, here and in 1 other Workload; Fairlead ignores "
        "this field: the workload is not stopped after that time"
    )
    # Of the documents, which come one after the other in one file each, that of team/a is meant.
    (alone,) = findings_of(*REST, workload("a", more=limit))
    assert first.line == alone.line
    assert second.message.startswith("found preemptionGates; Fairlead ignores this field: ")


def test_pod_sets_of_one_workload_count_as_one() -> None:
    one = "  - name: {}\n    template: {{spec: {{}}}}\n    topologyRequest: {{preferred: rack}}\n"
    text = head("Workload", "x", "team") + "spec:\n  queueName: jobs\n  podSets:\n"
    (finding,) = findings_of(*REST, text + one.format("a") + one.format("b"))
    assert finding.path == "$.spec.podSets[0].topologyRequest"
    assert "other" not in finding.message


def test_finished_workloads_are_of_no_interest() -> None:
    text = spec_of("Workload", "maximumExecutionTimeSeconds: 60")
    done = 'status: {conditions: [{type: Finished, status: "True"}]}\n'
    assert told(*REST, text + done) == []


FAIR = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairSharing: {}\n"
OPTIONS = dedent("""\
    apiVersion: fairlead/v1
    kind: Settings
    spec:
      kueue:
        preventPreemptionLoops: true
        minRunTime: 1m
        preemptionDelay: 1s
        preemptionCooldown: 0s
        priorityOverride: true
    """)


def test_options_about_fair_sharing_have_no_effect_while_it_is_off() -> None:
    assert told(*REST, OPTIONS) == [
        "warning no-effect $.spec.kueue.minRunTime",
        "warning no-effect $.spec.kueue.preemptionCooldown",
        "warning no-effect $.spec.kueue.preemptionDelay",
        "warning no-effect $.spec.kueue.priorityOverride",
    ]
    assert told(*REST, OPTIONS, FAIR) == []
    usual = OPTIONS.replace("1m", "0s").replace("1s", "0s").replace("Cooldown: 0s", "Cooldown: 30m")
    assert told(*REST, usual) == ["warning no-effect $.spec.kueue.priorityOverride"]


@pytest.mark.parametrize("field", CONSEQUENCES)
def test_the_page_of_differences_names_every_field_without_effect(field: str) -> None:
    section = PAGE.partition("\n## Every field\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|") and field in line]
    assert any("`no-effect`" in row for row in rows), field
