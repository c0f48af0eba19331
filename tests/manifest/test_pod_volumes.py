"""Where the volumes of a pod let it start, and for what it waits, under KAI and ElasticQuotas."""

import pytest

from fairlead.policy.contract import PolicyName
from tests.manifest.volume_world import (
    FAMILIES,
    NODES,
    ZONE,
    loaded,
    makes,
    node,
    planned,
    pod,
    uses,
    written,
)

IN_B = (
    "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: "
    f"[{{key: {ZONE}, operator: In, values: [b]}}]}}]}}}}"
)
ON_N2 = (
    "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: "
    "[{key: kubernetes.io/hostname, operator: In, values: [n2]}]}]}}"
)
BOUND = "{kind: PersistentVolumeClaim, metadata: {name: data}, spec: {volumeName: pv}}"
OTHER = "{kind: PersistentVolumeClaim, metadata: {name: other}, spec: {}}"
WAITS = (
    "{kind: StorageClass, metadata: {name: fast}, provisioner: disk.example.com, "
    "volumeBindingMode: WaitForFirstConsumer}"
)
AT_ONCE = "{kind: StorageClass, metadata: {name: slow}, provisioner: disk.example.com}"
LOCAL = (
    "{kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, "
    "volumeBindingMode: WaitForFirstConsumer}"
)


def claim(spec: str, rest: str = "", metadata: str = "") -> str:
    kind = "PersistentVolumeClaim"
    return f"{{kind: {kind}, metadata: {{name: data, {metadata}}}, spec: {{{spec}}}, {rest}}}"


def volume(spec: str, rest: str = "", metadata: str = "", name: str = "pv") -> str:
    kind = "PersistentVolume"
    return f"{{kind: {kind}, metadata: {{name: {name}, {metadata}}}, spec: {{{spec}}}, {rest}}}"


def only_in(zone: str) -> str:
    return (
        "{kind: StorageClass, metadata: {name: fast}, provisioner: disk.example.com, "
        "volumeBindingMode: WaitForFirstConsumer, allowedTopologies: "
        f"[{{matchLabelExpressions: [{{key: {ZONE}, values: [{zone}]}}]}}]}}"
    )


CREATE = "does not exist: create it, or add it to the input"
FITS_NOT = "NoNodeFits: fits no node: 2 of 2 nodes "
UNBOUND = (
    "VolumeClaimNotBound: its PersistentVolumeClaim lab/data is not bound to a volume: "
    "kubectl describe pvc shows why"
)

# What there is beside a pod with the claim "data", and the node where it starts or why it waits.
# Without volumes it starts on n1, the first by name.
SCENARIOS: dict[str, tuple[list[str], str]] = {
    "a bound claim without affinity": ([BOUND, volume("")], "n1"),
    "a bound claim in another zone": ([BOUND, volume(IN_B)], "n2"),
    "a bound claim on one host": ([BOUND, volume(ON_N2)], "n2"),
    "a bound claim that no node reaches": (
        [BOUND, volume(IN_B.replace("[b]", "[c]"))],
        FITS_NOT + "are out of reach of a volume",
    ),
    "a volume with a label of a zone": ([BOUND, volume("", "", f"labels: {{{ZONE}: b}}")], "n2"),
    "a volume with a label of zones": (
        [BOUND, volume("", "", f"labels: {{{ZONE}: c__b}}")],
        "n2",
    ),
    "a volume in a zone without nodes": (
        [BOUND, volume("", "", f"labels: {{{ZONE}: c}}")],
        FITS_NOT + "are in another zone than a volume",
    ),
    "a claim that is not there": (
        [OTHER],
        "VolumeClaimNotFound: its PersistentVolumeClaim lab/data " + CREATE,
    ),
    "a claim that is not there, but volumes are": (
        [volume("")],
        "VolumeClaimNotFound: its PersistentVolumeClaim lab/data " + CREATE,
    ),
    "a claim that is being deleted": (
        [claim("volumeName: pv", "", "deletionTimestamp: '2026-01-01T00:00:00Z'"), volume("")],
        ("VolumeClaimIsDeleted: its PersistentVolumeClaim lab/data is being deleted: "
        "create another once it is gone"),
    ),
    "a claim that lost its volume": (
        [claim("volumeName: pv", "status: {phase: Lost}"), volume("")],
        ("VolumeClaimLost: its PersistentVolumeClaim lab/data has lost its volume: "
        "restore the data into another claim"),
    ),
    "a volume that is not there": (
        [BOUND, volume("", name="another")],
        ("VolumeNotFound: PersistentVolume pv of its claim lab/data does not exist: "
        "add it to the input"),
    ),
    "a class that binds at once": ([claim("storageClassName: slow"), AT_ONCE], UNBOUND),
    "no class": ([claim("storageClassName: ''"), WAITS], UNBOUND),
    "no class, and no default one": ([claim(""), WAITS], UNBOUND),
    "a class that is not there": (
        [claim("storageClassName: fast")],
        "StorageClassNotFound: StorageClass fast of its claim lab/data " + CREATE,
    ),
    "a claim for a volume that has not accepted it": (
        [claim("storageClassName: fast, volumeName: pv", "status: {phase: Pending}"), WAITS],
        UNBOUND,
    ),
    "a class that waits for the pod": ([claim("storageClassName: fast"), WAITS], "n1"),
    "the default class": (
        [claim(""), only_in("b").replace("fast", "fast, annotations: "
         "{storageclass.kubernetes.io/is-default-class: 'true'}")],
        "n2",
    ),
    "a class for one zone": ([claim("storageClassName: fast"), only_in("b")], "n2"),
    "a class for a zone without nodes": (
        [claim("storageClassName: fast"), only_in("c")],
        FITS_NOT + "are out of reach of a volume",
    ),
    "a node was chosen": (
        [
            claim(
                "storageClassName: fast",
                "",
                "annotations: {volume.kubernetes.io/selected-node: n2}",
            ),
            WAITS,
        ],
        "n2",
    ),
    "a class for one zone, and a free volume elsewhere": (
        [
            claim("storageClassName: fast"),
            only_in("c"),
            volume("storageClassName: fast, " + IN_B),
        ],
        "n2",
    ),
    "a local volume": (
        [claim("storageClassName: local"), LOCAL, volume("storageClassName: local, " + ON_N2)],
        "n2",
    ),
    "no local volume": (
        [claim("storageClassName: local"), LOCAL],
        ("NoFreeVolume: no free PersistentVolume of class local suits its claim lab/data: "
        "provide one"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("policy", FAMILIES)
@pytest.mark.parametrize(("texts", "outcome"), SCENARIOS.values(), ids=SCENARIOS)
def test_a_pod_starts_where_its_volume_is_or_waits_for_it(
    policy: PolicyName, texts: list[str], outcome: str
) -> None:
    objects = written("\n---\n".join(texts))
    found, findings = planned(policy, *NODES, pod(policy, "p", uses("data")), *objects)
    assert found == {"p": outcome}
    assert [str(each) for each in findings if each.code != "missing-reference"] == []


LOCAL_CLAIM = """storageClassName: local, accessModes: [ReadWriteOnce], volumeMode: Block,
    resources: {requests: {storage: 2Gi}}, selector: {matchLabels: {tier: gold}}"""
LOCAL_VOLUME = """storageClassName: local, accessModes: [ReadWriteMany, ReadWriteOnce],
    volumeMode: Block, capacity: {storage: 2Gi}"""
GOLD = "labels: {tier: gold}"


@pytest.mark.parametrize(
    ("spec", "rest", "metadata", "suits"),
    [
        (LOCAL_VOLUME, "", GOLD, True),
        (LOCAL_VOLUME.replace("2Gi", "1Gi"), "", GOLD, False),
        (LOCAL_VOLUME.replace("ReadWriteOnce", "ReadOnlyMany"), "", GOLD, False),
        (LOCAL_VOLUME.replace("Block", "Filesystem"), "", GOLD, False),
        (LOCAL_VOLUME.replace("local", "other"), "", GOLD, False),
        (LOCAL_VOLUME, "", "labels: {tier: tin}", False),
        (LOCAL_VOLUME, "status: {phase: Released}", GOLD, False),
        (LOCAL_VOLUME + ", claimRef: {namespace: lab, name: other}", "", GOLD, False),
        (LOCAL_VOLUME + ", claimRef: {namespace: lab, name: data}", "", GOLD, True),
    ],
)
def test_a_volume_suits_a_claim_in_class_size_modes_and_labels(
    spec: str, rest: str, metadata: str, suits: bool
) -> None:
    texts = [claim(LOCAL_CLAIM), LOCAL, volume(spec, rest, metadata)]
    objects = written("\n---\n".join(texts))
    found, _ = planned("kai", *NODES, pod("kai", "p", uses("data")), *objects)
    assert found["p"].startswith("n1" if suits else "NoFreeVolume")


def test_a_volume_that_is_kept_for_a_claim_goes_before_others() -> None:
    texts = [
        claim("storageClassName: local"),
        LOCAL,
        volume("storageClassName: local", name="any"),
        volume(
            "storageClassName: local, claimRef: {namespace: lab, name: data}, " + ON_N2, name="own"
        ),
    ]
    objects = written("\n---\n".join(texts))
    assert planned("kai", *NODES, pod("kai", "p", uses("data")), *objects)[0] == {"p": "n2"}


def test_all_volumes_of_a_pod_count() -> None:
    """Data is in zone a or b, the archive in b or c: only b is left, which n2 is in."""
    texts = [
        "{kind: PersistentVolumeClaim, metadata: {name: data}, spec: {volumeName: pv}}",
        "{kind: PersistentVolumeClaim, metadata: {name: archive}, spec: {volumeName: tape}}",
        volume(IN_B.replace("[b]", "[a, b]")),
        volume(IN_B.replace("[b]", "[b, c]"), name="tape"),
    ]
    objects = written("\n---\n".join(texts))
    for policy in FAMILIES:
        both = pod(policy, "p", uses("data"), uses("archive"))
        assert planned(policy, *NODES, both, *objects)[0] == {"p": "n2"}
        assert planned(policy, *NODES, pod(policy, "p", uses("data")), *objects)[0] == {"p": "n1"}


def test_nodes_without_a_zone_are_in_all_of_them() -> None:
    objects = written("\n---\n".join([BOUND, volume("", "", f"labels: {{{ZONE}: b}}")]))
    for policy in FAMILIES:
        found, _ = planned(policy, node("n1"), pod(policy, "p", uses("data")), *objects)
        assert found == {"p": "n1"}


def test_faithful_kai_looks_at_affinities_and_not_at_labels_of_volumes() -> None:
    by_label = written("\n---\n".join([BOUND, volume("", "", f"labels: {{{ZONE}: b}}")]))
    by_affinity = written("\n---\n".join([BOUND, volume(IN_B)]))
    waiting = pod("kai", "p", uses("data"))
    assert planned("kai", *NODES, waiting, *by_label, faithful=True)[0] == {"p": "n1"}
    assert planned("kai", *NODES, waiting, *by_affinity, faithful=True)[0] == {"p": "n2"}


@pytest.mark.parametrize("policy", FAMILIES)
def test_without_any_claim_in_the_input_claims_fit_everywhere_and_one_finding_says_so(
    policy: PolicyName,
) -> None:
    pods = [pod(policy, f"p{at}", uses(f"data-{at}")) for at in range(3)]
    pods += [pod(policy, "e", makes(storageClassName="fast")), pod(policy, "none")]
    found, findings = planned(policy, *NODES, *pods, pod(policy, "runs", uses("x"), on="n1"))
    assert {each.partition(":")[0] for each in found.values()} <= {"n1", "n2"}
    assert len(found) == 5
    assert [(each.severity, each.code) for each in findings] == [("warning", "missing-reference")]
    assert "no PersistentVolumeClaim in the input, but pending pods with claims: 4;" in (
        findings[0].message
    )


def test_without_any_volume_in_the_input_bound_claims_fit_everywhere() -> None:
    found, findings = planned(
        "kai",
        *NODES,
        pod("kai", "p", uses("data")),
        pod("kai", "q", uses("other")),
        *written("\n---\n".join([BOUND, OTHER])),
    )
    assert found == {"p": "n1", "q": UNBOUND.replace("data", "other")}
    assert [each.code for each in findings] == ["missing-reference"]
    assert "no PersistentVolume in the input, but pending pods with claims: 1;" in (
        findings[0].message
    )


def test_nothing_is_said_where_no_pending_pod_has_a_claim() -> None:
    running = pod("kai", "runs", uses("data"), on="n1")
    assert planned("kai", *NODES, running, pod("kai", "p"))[1] == []


@pytest.mark.parametrize("policy", FAMILIES)
def test_an_ephemeral_volume_is_judged_by_its_claim_or_by_its_class(policy: PolicyName) -> None:
    makes_fast = pod(policy, "p", makes(storageClassName="fast"))
    makes_slow = pod(policy, "q", makes(storageClassName="slow"))
    classes = written("\n---\n".join([only_in("b"), AT_ONCE, OTHER]))
    found, _ = planned(policy, *NODES, makes_fast, makes_slow, *classes)
    assert found == {"p": "n2", "q": UNBOUND.replace("data", "q-v0")}
    made = written("\n---\n".join([BOUND.replace("name: data", "name: q-v0"), volume("")]))
    found, _ = planned(policy, *NODES, makes_slow, *classes, *made)
    assert found == {"q": "n1"}


@pytest.mark.parametrize("policy", FAMILIES)
def test_a_job_that_waits_for_a_volume_takes_no_room_from_others(policy: PolicyName) -> None:
    pods = [pod(policy, "a", uses("missing")), pod(policy, "b")]
    small = node("n1")
    small["status"]["allocatable"]["cpu"] = "1"
    found, _ = planned(policy, small, *pods, *written(OTHER))
    assert found == {
        "a": "VolumeClaimNotFound: its PersistentVolumeClaim lab/missing " + CREATE,
        "b": "n1",
    }


def test_pods_of_one_template_are_one_set_though_their_claims_have_names_of_their_own() -> None:
    """By name, the scratch space of a-0 comes before its data, and that of z-0 after it."""
    volumes = [uses("m"), makes(storageClassName="fast")]
    pods = [pod("kai", name, *volumes) for name in ("a-0", "z-0")]
    for each in pods:
        each["metadata"]["annotations"] = {"pod-group-name": "g"}
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "lab"},
        "spec": {"queue": "lab", "minMember": 2},
    }
    texts = [only_in("b"), BOUND.replace("name: data", "name: m"), volume(IN_B)]
    assembled, _ = loaded("kai", *NODES, group, *pods, *written("\n---\n".join(texts)))
    (job,) = assembled.state.workloads.values()
    assert [each.pod_names for each in job.pod_sets] == [("a-0", "z-0")]


@pytest.mark.parametrize("policy", FAMILIES)
@pytest.mark.parametrize(
    ("storage_class", "outcome"), [("fast", "n2"), ("slow", UNBOUND.replace("data", "data-db-0"))]
)
def test_the_claims_that_a_stateful_set_would_make_are_judged_by_their_class(
    policy: PolicyName, storage_class: str, outcome: str
) -> None:
    template = pod(policy, "")
    owner = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {**template["metadata"], "name": "db"},
        "spec": {
            "replicas": 1,
            "template": {
                "metadata": {"labels": template["metadata"]["labels"]},
                "spec": template["spec"],
            },
            "volumeClaimTemplates": [
                {"metadata": {"name": "data"}, "spec": {"storageClassName": storage_class}}
            ],
        },
    }
    classes = [only_in("b"), AT_ONCE, OTHER]
    found, _ = planned(policy, *NODES, owner, *written("\n---\n".join(classes)))
    assert list(found.values()) == [outcome]
    made = [BOUND.replace("name: data", "name: data-db-0"), volume(IN_B)]
    found, _ = planned(policy, *NODES, owner, *written("\n---\n".join([*classes, *made])))
    assert list(found.values()) == ["n2"]


def test_where_free_volumes_are_is_found_once_for_claims_that_are_alike() -> None:
    """Else a cluster of local volumes costs the volumes times the claims."""
    waiting = claim("storageClassName: local")
    texts = [LOCAL, waiting, waiting.replace("name: data", "name: more")]
    texts.append(volume("storageClassName: local, " + ON_N2))
    pods = [pod("kai", name, uses(name)) for name in ("data", "more")]
    assembled, _ = loaded("kai", *NODES, *pods, *written("\n---\n".join(texts)))
    needs = [
        pod_set.constraints.volumes
        for workload in assembled.state.workloads.values()
        for pod_set in workload.pod_sets
    ]
    first, second = (each.reach[0] for each in needs if each is not None)
    assert first is second
