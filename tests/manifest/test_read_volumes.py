"""PersistentVolumes, claims for them and StorageClasses, as they are read."""

from textwrap import dedent

import pytest

from fairlead.manifest.core.claim_spec import ClaimSpec, EphemeralVolume
from fairlead.manifest.core.objects import Object, PodObject
from fairlead.manifest.core.volume_objects import (
    AttachLimitsObject,
    ClaimObject,
    StorageClassObject,
    VolumeObject,
)
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import read_bytes
from fairlead.model.selector import LabelRequirement, LabelSelector, NodeTerm
from tests.manifest.reading import read_object


def sole(text: str) -> Object:
    """Return the one object of a text in which nothing is wrong."""
    (document,) = read_bytes(dedent(text).encode(), "volumes.yaml", Findings())
    found = read_object(document, strict=True)
    assert [str(each) for each in found.findings] == []
    (one,) = found.objects
    return one


def claim(spec: str = "{}", rest: str = "", metadata: str = "") -> ClaimObject:
    found = sole(
        f"""
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {{name: data, namespace: lab, {metadata}}}
        spec: {spec}
        {rest}
        """
    )
    assert isinstance(found, ClaimObject)
    return found


def volume(spec: str = "{}", rest: str = "", metadata: str = "") -> VolumeObject:
    found = sole(
        f"""
        apiVersion: v1
        kind: PersistentVolume
        metadata: {{name: pv, {metadata}}}
        spec: {spec}
        {rest}
        """
    )
    assert isinstance(found, VolumeObject)
    return found


def storage_class(fields: str, metadata: str = "") -> StorageClassObject:
    found = sole(
        f"""
        {{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {{name: fast, {metadata}}},
         provisioner: disk.example.com, {fields}}}
        """
    )
    assert isinstance(found, StorageClassObject)
    return found


def test_a_claim_says_what_it_asks_for() -> None:
    spec = """{storageClassName: fast, volumeMode: Block,
         accessModes: [ReadWriteOnce, ReadOnlyMany],
         resources: {requests: {storage: 2Gi}, limits: {storage: 4Gi}},
         selector: {matchLabels: {tier: gold}}, volumeName: pv-1,
         dataSource: {kind: PersistentVolumeClaim, name: other}}"""
    assert claim(spec).spec == ClaimSpec(
        storage_class="fast",
        access_modes=("ReadOnlyMany", "ReadWriteOnce"),
        storage=2 * 2**30,
        selector=LabelSelector(
            requirements=(LabelRequirement(key="tier", operator="In", values=("gold",)),)
        ),
        mode="Block",
        volume="pv-1",
    )
    assert claim("{}").spec == ClaimSpec()


@pytest.mark.parametrize(
    ("spec", "status", "phase"),
    [
        ("{volumeName: pv}", "", "Bound"),  # as written by hand
        ("{volumeName: pv}", "status: {phase: Bound, capacity: {storage: 1Gi}}", "Bound"),
        ("{volumeName: pv}", "status: {phase: Pending}", "Pending"),
        ("{volumeName: pv}", "status: {phase: Lost}", "Lost"),
        ("{}", "status: {phase: Bound}", "Pending"),  # bound to nothing
        ("{}", "", "Pending"),
    ],
)
def test_a_claim_is_bound_if_it_has_a_volume_and_its_status_agrees(
    spec: str, status: str, phase: str
) -> None:
    assert claim(spec, status).phase == phase


def test_annotations_of_a_claim_name_its_class_and_the_node_that_was_chosen() -> None:
    found = claim(
        "{storageClassName: slow}",
        metadata="deletionTimestamp: '2026-01-01T00:00:00Z', annotations: "
        "{volume.beta.kubernetes.io/storage-class: fast, "
        "volume.kubernetes.io/selected-node: node-1}",
    )
    assert (found.spec.storage_class, found.selected_node, found.leaving) == (
        "fast",
        "node-1",
        True,
    )
    assert (claim().spec.storage_class, claim().selected_node, claim().leaving) == (None, "", False)
    assert claim("{storageClassName: ''}").spec.storage_class == ""


def test_a_volume_says_which_nodes_reach_it_and_who_may_have_it() -> None:
    spec = """{storageClassName: fast, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi},
         claimRef: {namespace: lab, name: data, uid: 1a, kind: PersistentVolumeClaim},
         persistentVolumeReclaimPolicy: Retain, csi: {driver: d, volumeHandle: h},
         nodeAffinity: {required: {nodeSelectorTerms: [
         {matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}"""
    found = volume(spec, "status: {phase: Bound}", "labels: {tier: gold}")
    in_zone = LabelRequirement(key="zone", operator="In", values=("a",))
    assert found.node_terms == (NodeTerm(labels=(in_zone,)),)
    assert (found.claim, found.is_free) == ("lab/data", False)
    assert (found.storage_class, found.access_modes) == ("fast", ("ReadWriteOnce",))
    assert (found.capacity, found.mode, found.labels) == (2**30, "Filesystem", {"tier": "gold"})
    assert (found.driver, found.handle) == ("d", "h")
    assert volume().node_terms is None
    assert volume("{claimRef: {name: data}}").claim == "default/data"


@pytest.mark.parametrize(
    ("status", "metadata", "is_free"),
    [
        ("", "", True),
        ("status: {phase: Available}", "", True),
        ("status: {phase: Bound}", "", False),
        ("status: {phase: Released}", "", False),
        ("status: {phase: Failed}", "", False),
        ("", "deletionTimestamp: '2026-01-01T00:00:00Z'", False),
    ],
)
def test_a_volume_is_free_until_it_is_bound(status: str, metadata: str, is_free: bool) -> None:
    assert volume("{}", status, metadata).is_free is is_free


def test_labels_of_a_volume_name_its_zones() -> None:
    labels = """labels: {topology.kubernetes.io/zone: b__a,
         failure-domain.beta.kubernetes.io/region: north, zone: x}"""
    assert volume("{}", "", labels).zones == (
        ("topology.kubernetes.io/region", ("north",)),
        ("topology.kubernetes.io/zone", ("a", "b")),
    )


def test_a_class_says_when_and_where_volumes_are_made() -> None:
    found = storage_class(
        """volumeBindingMode: WaitForFirstConsumer, reclaimPolicy: Delete, parameters: {type: ssd},
         allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a, b]}]}]""",
        "annotations: {storageclass.kubernetes.io/is-default-class: 'true'}",
    )
    assert (found.provisioner, found.waits_for_pod, found.is_default) == (
        "disk.example.com",
        True,
        True,
    )
    in_zones = LabelRequirement(key="zone", operator="In", values=("a", "b"))
    assert found.topologies == (NodeTerm(labels=(in_zones,)),)
    plain = storage_class("")
    assert (plain.waits_for_pod, plain.topologies, plain.is_default) == (False, (), False)


def test_a_node_says_how_many_volumes_of_a_driver_it_attaches() -> None:
    found = sole(
        """
        apiVersion: storage.k8s.io/v1
        kind: CSINode
        metadata: {name: node-1}
        spec:
          drivers:
          - {name: disk.example.com, nodeID: i-1, topologyKeys: [zone], allocatable: {count: 25}}
          - {name: none.example.com, nodeID: i-1, allocatable: {count: 0}}
          - {name: share.example.com, nodeID: i-1}
        """
    )
    assert isinstance(found, AttachLimitsObject)
    assert (found.name, found.limits) == (
        "node-1",
        {"disk.example.com": 25, "none.example.com": 0},
    )


def test_a_pod_names_claims_and_has_templates_of_others() -> None:
    found = sole(
        """
        apiVersion: v1
        kind: Pod
        metadata: {name: p}
        spec:
          containers: []
          volumes:
          - {name: a, persistentVolumeClaim: {claimName: b}}
          - {name: b, persistentVolumeClaim: {claimName: a}}
          - {name: c, persistentVolumeClaim: {claimName: b, readOnly: true}}
          - name: scratch
            ephemeral: {volumeClaimTemplate: {metadata: {labels: {}},
                        spec: {storageClassName: fast}}}
        """
    )
    assert isinstance(found, PodObject)
    assert found.claims == ("a", "b")
    scratch = EphemeralVolume(name="scratch", claim=ClaimSpec(storage_class="fast"))
    assert found.ephemeral_volumes == (scratch,)
