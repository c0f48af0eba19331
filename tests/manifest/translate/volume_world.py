"""Random volumes, claims and classes: each may come before or after what refers to it."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from tests.manifest.translate.api_server import Object

CLAIMS: Final = ("data", "scratch", "p0-made")
VOLUMES: Final = ("pv-1", "pv-2")
CLASSES: Final = ("waits", "local", "slow")
T = TypeVar("T")


class Chance(Protocol):
    """What decides."""

    def pick(self, *values: T) -> T:
        """Return one of *values*."""

    def maybe(self, chance_of_ten: int) -> bool:
        """Return True in so many of ten cases."""


def new_volume_object(chance: Chance, namespaces: Sequence[str], nodes: Sequence[str]) -> Object:
    """Return a volume, a claim, a class or the limits of a node."""
    makers: tuple[Callable[[Chance, Sequence[str]], Object], ...] = (_claim, _volume, _class)
    if chance.maybe(2):
        return _limits(chance, nodes)
    return chance.pick(*makers)(chance, namespaces)


def volumes_of_pod(chance: Chance) -> list[Object]:
    """Return what a pod mounts."""
    found: list[Object] = []
    for at in range(chance.pick(1, 1, 2)):
        claim: Object = {"persistentVolumeClaim": {"claimName": chance.pick("data", *CLAIMS)}}
        if chance.maybe(2):
            spec = {"storageClassName": chance.pick(*CLASSES)}
            claim = {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
        found.append({"name": "made" if at == 0 else f"v{at}", **claim})
    return found


def _claim(chance: Chance, namespaces: Sequence[str]) -> Object:
    spec: Object = {"accessModes": [chance.pick("ReadWriteOnce", "ReadWriteOncePod")]}
    if chance.maybe(6):
        spec["storageClassName"] = chance.pick("waits", *CLASSES)
    if chance.maybe(6):
        spec["volumeName"] = chance.pick(*VOLUMES)
    metadata: Object = {"name": chance.pick("data", *CLAIMS), "annotations": {}}
    if chance.maybe(2):
        metadata["annotations"] = {"volume.kubernetes.io/selected-node": "n1"}
    status: Object = {}
    if chance.maybe(2):
        status = {"phase": chance.pick("Lost", "Pending")}
    metadata["namespace"] = chance.pick(*namespaces)
    return _object("v1", "PersistentVolumeClaim", metadata, spec=spec, status=status)


def _volume(chance: Chance, namespaces: Sequence[str]) -> Object:
    modes = ["ReadWriteOnce", "ReadWriteOncePod"]
    spec: Object = {"accessModes": modes, "storageClassName": chance.pick(*CLASSES)}
    if chance.maybe(5):
        expression = {"key": "zone", "operator": "In", "values": [chance.pick("a", "b")]}
        terms = [{"matchExpressions": [expression]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    if chance.maybe(3):
        owner = {"namespace": chance.pick(*namespaces), "name": chance.pick(*CLAIMS)}
        spec["claimRef"] = owner
    if chance.maybe(6):
        spec["csi"] = {"driver": "d.example.com", "volumeHandle": chance.pick("h1", "h2")}
    metadata: Object = {"name": chance.pick(*VOLUMES), "labels": {}}
    if chance.maybe(3):
        metadata["labels"] = {"topology.kubernetes.io/zone": "a"}
    status: Object = {"phase": chance.pick("Available", "Available", "Bound")}
    return _object("v1", "PersistentVolume", metadata, spec=spec, status=status)


def _class(chance: Chance, _: Sequence[str]) -> Object:
    name = chance.pick(*CLASSES)
    metadata: Object = {"name": name, "annotations": {}}
    if chance.maybe(3):
        metadata["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    fields: Object = {
        "provisioner": "kubernetes.io/no-provisioner" if name == "local" else "d.example.com",
        "volumeBindingMode": "Immediate" if name == "slow" else "WaitForFirstConsumer",
        "allowedTopologies": [],
    }
    if chance.maybe(4):
        expression = {"key": "zone", "values": [chance.pick("a", "b")]}
        fields["allowedTopologies"] = [{"matchLabelExpressions": [expression]}]
    return _object("storage.k8s.io/v1", "StorageClass", metadata, **fields)


def _limits(chance: Chance, nodes: Sequence[str]) -> Object:
    driver: Object = {"name": "d.example.com", "nodeID": "x", "topologyKeys": []}
    if chance.maybe(8):
        driver["allocatable"] = {"count": chance.pick(0, 1, 2)}
    metadata: Object = {"name": chance.pick(*nodes)}
    return _object("storage.k8s.io/v1", "CSINode", metadata, spec={"drivers": [driver]})


def _object(api_version: str, kind: str, metadata: Object, **fields: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
