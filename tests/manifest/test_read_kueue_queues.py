"""ClusterQueues, Cohorts, LocalQueues and ResourceFlavors in every version and every mistake."""

from decimal import Decimal
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.kueue.objects import ClusterQueueObject, CohortObject, FlavorQuota
from fairlead.manifest.kueue.reading.cluster_queue import read_cluster_queue, read_cohort
from fairlead.manifest.kueue.reading.local_queue import read_flavor, read_local_queue
from fairlead.manifest.kueue.reading.shared_fields import read_fair_weight
from fairlead.model.axes import QueueName
from fairlead.model.catalogue import LocalQueue, ResourceFlavor
from fairlead.model.queue import (
    BorrowWithinCohort,
    ClusterQueue,
    FlavorFungibility,
    QueuePreemption,
    ResourceGroup,
)
from fairlead.model.selector import LabelSelector, Taint, Toleration
from tests.manifest.yaml_text import cursor_of, remarks


def cluster_queue(spec: str, version: str = "v1beta2") -> tuple[ClusterQueueObject, list[str]]:
    cursor, findings = cursor_of(
        f"apiVersion: kueue.x-k8s.io/{version}\nkind: ClusterQueue\n"
        f"metadata: {{name: q, creationTimestamp: '1970-01-01T00:00:07Z'}}\n"
        f"spec:\n{indent(spec, '  ')}\nstatus: {{whatever: 1}}\n"
    )
    found = read_cluster_queue(cursor)
    assert found is not None
    return found, remarks(findings)


def cohort(spec: str, version: str = "v1beta2") -> tuple[CohortObject, list[str]]:
    cursor, findings = cursor_of(
        f"apiVersion: kueue.x-k8s.io/{version}\nkind: Cohort\n"
        f"metadata: {{name: c}}\nspec:\n{indent(spec, '  ')}\n"
    )
    found = read_cohort(cursor)
    assert found is not None
    return found, remarks(findings)


FULL = """
cohortName: lab
resourceGroups:
- coveredResources: [cpu, memory]
  flavors:
  - name: on-demand
    resources:
    - {name: cpu, nominalQuota: 9.5, borrowingLimit: 1500m, lendingLimit: 9}
    - {name: memory, nominalQuota: 36Gi}
  - name: spot
    resources:
    - {name: cpu, nominalQuota: 0, borrowingLimit: 0}
    - {name: memory, nominalQuota: 1M}
- coveredResources: [nvidia.com/gpu]
  flavors:
  - name: h100
    resources: [{name: nvidia.com/gpu, nominalQuota: 8}]
queueingStrategy: StrictFIFO
namespaceSelector: {}
flavorFungibility:
  whenCanBorrow: TryNextFlavor
  whenCanPreempt: MayStopSearch
  preference: PreemptionOverBorrowing
preemption:
  withinClusterQueue: LowerOrNewerEqualPriority
  reclaimWithinCohort: Any
  borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 100}
stopPolicy: Hold
fairSharing: {weight: 750m}
admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}
admissionChecksStrategy:
  admissionChecks: [{name: budget, onFlavors: [spot]}, {name: licence}]
concurrentAdmissionPolicy: {migration: {mode: RetainFirstAdmission}}
"""


def test_every_field_of_a_cluster_queue_is_read() -> None:
    found, told = cluster_queue(FULL)
    assert told == []
    assert (found.name, found.cohort, found.weight) == ("q", "lab", Decimal("0.75"))
    assert found.created_ms == 7_000
    assert found.quotas == (
        FlavorQuota(
            flavor="on-demand", resource="cpu", guaranteed=9500, borrow_limit=1500, lend_limit=9000
        ),
        FlavorQuota(flavor="on-demand", resource="memory", guaranteed=36 * 2**30),
        FlavorQuota(flavor="spot", resource="cpu", guaranteed=0, borrow_limit=0),
        FlavorQuota(flavor="spot", resource="memory", guaranteed=10**6),
        FlavorQuota(flavor="h100", resource="nvidia.com/gpu", guaranteed=8000),
    )
    assert found.rules == ClusterQueue(
        resource_groups=(
            ResourceGroup(resources=("cpu", "memory"), flavors=("on-demand", "spot")),
            ResourceGroup(resources=("nvidia.com/gpu",), flavors=("h100",)),
        ),
        queueing_strategy="StrictFIFO",
        namespace_selector=LabelSelector(),
        fungibility=FlavorFungibility(
            when_can_borrow="TryNextFlavor",
            when_can_preempt="MayStopSearch",
            preference="PreemptionOverBorrowing",
        ),
        preemption=QueuePreemption(
            within_cluster_queue="LowerOrNewerEqualPriority",
            reclaim_within_cohort="Any",
            borrow_within_cohort=BorrowWithinCohort(
                policy="LowerPriority", max_priority_threshold=100
            ),
        ),
        stop_policy="Hold",
        usage_based_admission=True,
        admission_checks=("budget", "licence"),
    )


def test_an_empty_cluster_queue_has_kueues_defaults() -> None:
    found, told = cluster_queue("{}")
    assert told == []
    assert (found.cohort, found.weight, found.quotas) == ("", Decimal(1), ())
    assert found.rules == ClusterQueue()  # among them: no namespace may use it


def test_v1beta1_has_other_words_for_the_same() -> None:
    found, told = cluster_queue(
        "cohort: lab\nadmissionChecks: [budget]\n"
        "flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: Preempt}",
        version="v1beta1",
    )
    assert told == []
    assert found.cohort == "lab"
    assert found.rules.admission_checks == ("budget",)
    assert found.rules.fungibility.when_can_borrow == "MayStopSearch"
    assert found.rules.fungibility.when_can_preempt == "MayStopSearch"


@pytest.mark.parametrize(
    ("version", "spec", "expected"),
    [
        ("v1beta2", "cohort: lab", ["warning other-version $.spec.cohort"]),
        ("v1beta1", "cohortName: lab", ["warning other-version $.spec.cohortName"]),
        ("v1beta2", "{cohort: lab, cohortName: lab}", []),
        ("v1beta1", "{cohort: lab, cohortName: lab}", []),
        ("v1beta2", "{cohort: x, cohortName: lab}", ["error contradiction $.spec.cohort"]),
        ("v1beta1", "{cohort: lab, cohortName: x}", ["error contradiction $.spec.cohortName"]),
    ],
)
def test_the_cohort_is_found_under_either_name(
    version: str, spec: str, expected: list[str]
) -> None:
    found, told = cluster_queue(spec, version)
    assert found.cohort == "lab"
    assert told == expected


@pytest.mark.parametrize(
    ("version", "spec", "expected"),
    [
        ("v1beta2", "parentName: lab", []),
        ("v1beta1", "parentName: lab", []),
        ("v1alpha1", "parent: lab", []),
        ("v1alpha1", "parentName: lab", []),
        ("v1beta2", "parent: lab", ["warning other-version $.spec.parent"]),
    ],
)
def test_the_parent_of_a_cohort_is_found_in_every_version(
    version: str, spec: str, expected: list[str]
) -> None:
    found, told = cohort(spec, version)
    assert found.parent == "lab"
    assert told == expected


ONE_GROUP = """
{parent}
resourceGroups:
- coveredResources: [cpu]
  flavors:
  - name: f
    resources: [{{name: cpu, nominalQuota: 4, {limit}}}]
"""
LIMIT = "$.spec.resourceGroups[0].flavors[0].resources[0]."


@pytest.mark.parametrize("field", ["borrowingLimit", "lendingLimit"])
@pytest.mark.parametrize("has_parent", [True, False])
def test_limits_need_someone_to_borrow_from_or_lend_to(field: str, has_parent: bool) -> None:
    expected = [] if has_parent else [f"error contradiction {LIMIT}{field}"]
    parent = "cohortName: lab" if has_parent else ""
    assert cluster_queue(ONE_GROUP.format(parent=parent, limit=f"{field}: 3"))[1] == expected
    parent = "parentName: lab" if has_parent else ""
    assert cohort(ONE_GROUP.format(parent=parent, limit=f"{field}: 3"))[1] == expected


@pytest.mark.parametrize(("lends", "is_refused"), [("4", False), ("4001m", True), ("5", True)])
def test_a_cluster_queue_lends_at_most_what_it_has_and_a_cohort_may_lend_more(
    lends: str, is_refused: bool
) -> None:
    limit = f"lendingLimit: {lends}"
    expected = [f"error contradiction {LIMIT}lendingLimit"] if is_refused else []
    assert cluster_queue(ONE_GROUP.format(parent="cohortName: lab", limit=limit))[1] == expected
    assert cohort(ONE_GROUP.format(parent="parentName: lab", limit=limit))[1] == []


GROUPS = "$.spec.resourceGroups"
# Covered resources, then per flavor its resources; groups are separated by bars.
WRONG_GROUPS = {
    "a resource in two groups": (
        "cpu: f=cpu | cpu: g=cpu",
        [f"error duplicate-entry {GROUPS}[1].coveredResources"],
    ),
    "a flavor twice in a group": (
        "cpu: f=cpu; f=cpu",
        [f"error duplicate-entry {GROUPS}[0].flavors[1].name"],
    ),
    "a flavor in two groups": (
        "cpu: f=cpu | memory: f=memory",
        [f"error duplicate-entry {GROUPS}[1].flavors[0].name"],
    ),
    "a resource that the flavor leaves out": (
        "cpu,memory: f=cpu",
        [f"error contradiction {GROUPS}[0].flavors[0].resources"],
    ),
    "a resource that is not covered": (
        "cpu: f=cpu,memory",
        [f"error contradiction {GROUPS}[0].flavors[0].resources"],
    ),
    "another order": (
        "cpu,memory: f=memory,cpu",
        [f"error contradiction {GROUPS}[0].flavors[0].resources"],
    ),
    "no flavors": ("cpu:", [f"error missing-field {GROUPS}[0].flavors"]),
    "no resources": (
        ": f=",
        [f"error missing-field {GROUPS}[0].coveredResources"],
    ),
    "more groups than Kueue takes": (
        " | ".join(f"r{at}: f{at}=r{at}" for at in range(17)),
        [f"warning out-of-range {GROUPS}"],
    ),
    "more flavors than Kueue takes": (
        "cpu: " + "; ".join(f"f{at}=cpu" for at in range(65)),
        [f"warning out-of-range {GROUPS}[0].flavors"],
    ),
}


def groups(story: str) -> str:
    lines = ["resourceGroups:"]
    for group in story.split(" | "):
        covered, _, flavors = group.partition(":")
        lines += [f"- coveredResources: [{covered}]", "  flavors:"]
        for flavor in filter(None, flavors.strip().split("; ")):
            name, _, resources = flavor.partition("=")
            quotas = [f"{{name: {each}, nominalQuota: 1}}" for each in resources.split(",") if each]
            lines += [f"  - name: {name}", f"    resources: [{', '.join(quotas)}]"]
    return "\n".join(lines)


GOOD_RESOURCE = "{name: cpu, nominalQuota: 4}"
# One mistake within resourceGroups, and the one place at which it is told.
ONE_MISTAKE = {
    "[just a text]": "error wrong-type [0]",
    f"[{{coveredResources: 5, flavors: [{{name: f, resources: [{GOOD_RESOURCE}]}}]}}]": (
        "error wrong-type [0].coveredResources"
    ),
    f"[{{coveredResources: [5], flavors: [{{name: f, resources: [{GOOD_RESOURCE}]}}]}}]": (
        "error wrong-type [0].coveredResources[0]"
    ),
    "[{coveredResources: [cpu], flavors: 5}]": "error wrong-type [0].flavors",
    "[{coveredResources: [cpu], flavors: [{name: f, resources: 5}]}]": (
        "error wrong-type [0].flavors[0].resources"
    ),
    "[{coveredResources: [cpu], flavors: [text]}]": "error wrong-type [0].flavors[0]",
    "[{coveredResources: [cpu], flavors: [{name: f, resources: [text]}]}]": (
        "error wrong-type [0].flavors[0].resources[0]"
    ),
    "[{coveredResources: [cpu], flavors: [{name: f}]}]": (
        "error missing-field [0].flavors[0].resources"
    ),
    f"[{{flavors: [{{name: f, resources: [{GOOD_RESOURCE}]}}]}}]": (
        "error missing-field [0].coveredResources"
    ),
    "[{coveredResources: [cpu]}]": "error missing-field [0].flavors",
    "[{coveredResources: [cpu], flavors: [{name: f, resources: [{nominalQuota: 4}]}]}]": (
        "error missing-field [0].flavors[0].resources[0].name"
    ),
    (
        "[{coveredResources: [cpu], flavors: "
        "[{name: f, resources: [{name: cpu, nominalQuota: many, lendingLimit: 2}]}]}]"
    ): "error bad-quantity [0].flavors[0].resources[0].nominalQuota",
}


@pytest.mark.parametrize(("text", "expected"), ONE_MISTAKE.items())
def test_one_mistake_in_a_group_is_one_finding(text: str, expected: str) -> None:
    severity, code, path = expected.split()
    told = cluster_queue(f"cohortName: lab\nresourceGroups: {text}")[1]
    assert told == [f"{severity} {code} {GROUPS}{path}"]


@pytest.mark.parametrize(("story", "expected"), WRONG_GROUPS.values(), ids=WRONG_GROUPS.keys())
def test_groups_that_kueue_would_refuse(story: str, expected: list[str]) -> None:
    assert cluster_queue(groups(story))[1] == expected
    assert cohort(groups(story))[1] == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    {
        "queueingStrategy: FIFO": "error bad-choice $.spec.queueingStrategy",
        "stopPolicy: hold": "error bad-choice $.spec.stopPolicy",
        "preemption: {withinClusterQueue: Any}": (
            "error bad-choice $.spec.preemption.withinClusterQueue"
        ),
        "preemption: {reclaimWithinCohort: LowerOrNewerEqualPriority}": (
            "error bad-choice $.spec.preemption.reclaimWithinCohort"
        ),
        "preemption: {borrowWithinCohort: {policy: LowerPriority}}": (
            "error contradiction $.spec.preemption.borrowWithinCohort.policy"
        ),
        "flavorFungibility: {whenCanBorrow: Preempt}": (
            "error bad-choice $.spec.flavorFungibility.whenCanBorrow"
        ),
        "flavorFungibility: {whenCanPreempt: Borrow}": (
            "error bad-choice $.spec.flavorFungibility.whenCanPreempt"
        ),
        "flavorFungibility: {preference: Cheapest}": (
            "error bad-choice $.spec.flavorFungibility.preference"
        ),
        "admissionScope: {admissionMode: Fair}": (
            "error bad-choice $.spec.admissionScope.admissionMode"
        ),
        "fairSharing: {weight: -1}": "error out-of-range $.spec.fairSharing.weight",
        "fairSharing: {weight: 1n}": "error out-of-range $.spec.fairSharing.weight",
        "fairSharing: {wieght: 2}": "warning unknown-field $.spec.fairSharing.wieght",
        "cohortname: lab": "warning unknown-field $.spec.cohortname",
    }.items(),
)
def test_a_wrong_word_is_told_at_its_place(spec: str, expected: str) -> None:
    assert cluster_queue(spec)[1] == [expected]


@pytest.mark.parametrize(
    ("weight", "shown"),
    [("1n", "1n"), ("0.5n", "0.5n"), ("0.0000000002", "0.2n"), ("-1", "-1"), ("-250m", "-0.25")],
)
def test_a_weight_that_is_refused_is_shown_as_a_quantity(weight: str, shown: str) -> None:
    cursor, findings = cursor_of(f"fairSharing: {{weight: {weight}}}")
    assert read_fair_weight(cursor) == 1
    (finding,) = findings
    assert finding.message.startswith(f"found a weight of {shown}, expected 0 or more than 1n")


@pytest.mark.parametrize("quota", ["", "nominalQuota: -1", "nominalQuota: many"])
def test_the_nominal_quota_must_be_there_and_not_negative(quota: str) -> None:
    text = ONE_GROUP.format(parent="", limit="").replace("nominalQuota: 4, ", quota)
    (told,) = cluster_queue(text)[1]
    assert told.startswith("error ")
    assert told.endswith(f"{LIMIT}nominalQuota")


@pytest.mark.parametrize(
    ("written", "expected"),
    [("0", "0"), ("1.1n", "0.0000000011"), ("1.5", "1.5"), ("2k", "2000"), ("1Ki", "1024")],
)
def test_weights_are_exact(written: str, expected: str) -> None:
    cursor, findings = cursor_of(f"fairSharing: {{weight: {written}}}")
    assert read_fair_weight(cursor) == Decimal(expected)
    assert remarks(findings) == []


@given(st.decimals(min_value=Decimal("2e-9"), max_value=10**12, places=9))
def test_a_decimal_weight_comes_back_as_it_was_written(weight: Decimal) -> None:
    cursor, _ = cursor_of(f'fairSharing: {{weight: "{weight:f}"}}')
    assert read_fair_weight(cursor) == weight


@pytest.mark.parametrize("weight", ["1." + "0" * 300 + "1", f"-1{'0' * 310}", f"1{'0' * 310}"])
def test_a_weight_of_any_length_is_refused_without_harm(weight: str) -> None:
    cursor, findings = cursor_of(f"fairSharing: {{weight: {weight}}}")
    assert read_fair_weight(cursor) == 1
    assert remarks(findings) == ["error out-of-range $.fairSharing.weight"]


def test_a_local_queue_is_read() -> None:
    cursor, findings = cursor_of("""
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: LocalQueue
        metadata: {namespace: team, name: jobs}
        spec: {clusterQueue: q, stopPolicy: HoldAndDrain, fairSharing: {weight: 2}}
        status: {fairSharing: {weightedShare: 7}}
        """)
    found = read_local_queue(cursor)
    assert found is not None
    assert found.local_queue == LocalQueue(
        namespace="team",
        name="jobs",
        cluster_queue=QueueName("q"),
        stopped=True,
        drained=True,
        weight=Decimal(2),
    )
    assert remarks(findings) == []


CONSUMED: dict[str, tuple[tuple[tuple[str, int], ...], int | None, list[str]]] = {
    # What it had used, in billionths of a core or byte, as of when, and what is told.
    "{consumedResources: {cpu: 2928932188n, memory: 1Ki}, lastUpdate: 1970-01-01T00:00:02Z}": (
        (("cpu", 2_928_932_188), ("memory", 1024 * 10**9)),
        2000,
        [],
    ),
    '{consumedResources: {memory: "0", cpu: 1500m}, soon: 1}': ((("cpu", 15 * 10**8),), None, []),
    "{lastUpdate: 1970-01-01T00:00:00Z}": ((), 0, []),
    "{consumedResources: {cpu: 0.0000000019}}": ((("cpu", 1),), None, []),
    "{}": ((), None, []),
    "": ((), None, []),
    "{consumedResources: {cpu: -1}}": ((), None, ["error out-of-range {}.consumedResources.cpu"]),
    "{consumedResources: {cpu: lots}}": (
        (),
        None,
        ["error bad-quantity {}.consumedResources.cpu"],
    ),
    "{consumedResources: 7}": ((), None, ["error wrong-type {}.consumedResources"]),
    "{lastUpdate: soon}": ((), None, ["error bad-timestamp {}.lastUpdate"]),
}


@pytest.mark.parametrize(("status", "expected"), CONSUMED.items(), ids=str)
def test_what_a_local_queue_had_used_is_read_to_the_billionth(
    status: str, expected: tuple[tuple[tuple[str, int], ...], int | None, list[str]]
) -> None:
    cursor, findings = cursor_of(f"""
        metadata: {{name: a}}
        spec: {{clusterQueue: q}}
        status: {{fairSharing: {{weightedShare: 7, admissionFairSharingStatus: {status}}}}}
        """)
    found = read_local_queue(cursor)
    assert found is not None
    consumed, at_ms, told = expected
    assert found.local_queue.consumed_billionths == consumed
    assert found.local_queue.consumed_at_ms == at_ms
    path = "$.status.fairSharing.admissionFairSharingStatus"
    assert remarks(findings) == [each.format(path) for each in told]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("None", (False, False)), ("Hold", (True, False)), ("HoldAndDrain", (True, True))],
)
def test_what_stops_a_local_queue(policy: str, expected: tuple[bool, bool]) -> None:
    cursor, _ = cursor_of(f"metadata: {{name: a}}\nspec: {{clusterQueue: q, stopPolicy: {policy}}}")
    found = read_local_queue(cursor)
    assert found is not None
    assert (found.local_queue.stopped, found.local_queue.drained) == expected


def test_a_resource_flavor_is_read_and_may_be_empty() -> None:
    cursor, findings = cursor_of("""
        metadata: {name: spot}
        spec:
          nodeLabels: {zone: b, pool: spot}
          nodeTaints: [{key: spot, effect: NoSchedule}]
          tolerations: [{key: spot, operator: Exists}]
          topologyName: racks
        """)
    found = read_flavor(cursor)
    assert found is not None
    assert found.flavor == ResourceFlavor(
        name="spot",
        node_labels=(("pool", "spot"), ("zone", "b")),
        node_taints=(Taint(key="spot", effect="NoSchedule"),),
        tolerations=(Toleration(key="spot", operator="Exists"),),
        topology_name="racks",
    )
    empty, _ = cursor_of("metadata: {name: any}")
    plain = read_flavor(empty)
    assert plain is not None
    assert plain.flavor == ResourceFlavor(name="any")
    assert remarks(findings) == []


@pytest.mark.parametrize("reader", [read_cluster_queue, read_cohort, read_flavor, read_local_queue])
@pytest.mark.parametrize("name", ["", "name: a/b"])
def test_an_object_without_a_usable_name_is_no_object(reader: object, name: str) -> None:
    cursor, findings = cursor_of(f"metadata: {{{name}}}\nspec: {{clusterQueue: q}}")
    assert callable(reader)
    assert reader(cursor) is None
    assert findings.has_errors
