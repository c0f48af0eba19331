"""Pods with claims: one is bound to a node only if its volumes are bound, or will be without us."""

import pytest

from tests.cluster.kubernetes.engine.led_engine import LedEngine, node, pod, quota
from tests.manifest.translate.api_server import Object

STORAGE_CLASS: Object = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "disk"},
    "provisioner": "disk.example",
    "volumeBindingMode": "WaitForFirstConsumer",
}
VOLUME: Object = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "pv"},
    "spec": {"storageClassName": "disk", "capacity": {"storage": "1Gi"}},
}


def claim(*, volume: str = "", selected_node: str = "") -> Object:
    annotations = {"volume.kubernetes.io/selected-node": selected_node} if selected_node else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "a", "annotations": annotations},
        "spec": {
            "storageClassName": "disk",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            **({"volumeName": volume} if volume else {}),
        },
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def with_claim(value: Object) -> Object:
    value["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    return value


@pytest.mark.parametrize(
    ("found", "acts"),
    [
        (claim(), []),  # nothing would bind the volume: the pod would never run
        (claim(selected_node="n1"), ["bind a/p to n1"]),  # a volume is being made
        (claim(volume="pv"), ["bind a/p to n1"]),
    ],
)
def test_a_pod_waits_while_nothing_binds_its_volume(found: Object, acts: list[str]) -> None:
    led = LedEngine(
        node("n1"), quota("a", 8, 8), STORAGE_CLASS, VOLUME, found, with_claim(pod("a/p"))
    )
    assert led.decide() == acts
