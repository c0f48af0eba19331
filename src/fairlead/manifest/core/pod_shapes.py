"""Pods of one template are alike in all that scheduling reads of their spec: it is read once.

The key of a shape is what is read of a spec, but for the node. What the readers pass over, such as
commands, images and the names of volumes, differs from pod to pod and is no part of it. A spec
with a field that is neither read nor passed over has no key: it is read each time. So is a spec
that gave rise to a finding, because findings have lines and paths of their own.

With it 10,000 alike pods are read in a fifth of the time: see `bench/bench_pods.py`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from fairlead.manifest.core.read_containers import PASSED_OVER_OF_CONTAINERS
from fairlead.manifest.core.read_pod_constraints import BINDING_VOLUMES, PASSED_OVER_OF_VOLUMES
from fairlead.manifest.core.read_pod_spec import (
    NODE_NAME,
    PASSED_OVER_OF_SPECS,
    PodSpecRead,
    read_node_name,
    read_pod_spec,
)
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.read_once import ReadOnce, json_key
from fairlead.manifest.text.values import Mapping as ValueMapping
from fairlead.manifest.text.values import Value

# What the readers look at. A field that is missing here has no effect but that specs which have it
# are read each time.
_READ_OF_SPECS: Final = (
    "affinity",
    "hostNetwork",
    "nodeSelector",
    "overhead",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "resourceClaims",
    "resources",
    "schedulerName",
    "schedulingGates",
    "tolerations",
    "topologySpreadConstraints",
)
_READ_OF_CONTAINERS: Final = ("ports", "resources", "restartPolicy")
_KNOWN_OF_CONTAINERS: Final = PASSED_OVER_OF_CONTAINERS.union(_READ_OF_CONTAINERS)
_KNOWN_OF_VOLUMES: Final = PASSED_OVER_OF_VOLUMES.union(BINDING_VOLUMES)


class PodShapes:
    """The specs of pods that were read last."""

    def __init__(self, kept: ReadOnce[PodSpecRead] | None = None) -> None:
        """Begin with those that are *kept*; None: with none."""
        self._kept = ReadOnce[PodSpecRead]() if kept is None else kept

    def read(
        self, top: Cursor, *, namespace: str, labels: Mapping[str, str]
    ) -> tuple[PodSpecRead, str | None]:
        """Read the spec of the pod *top* with *labels* in *namespace*, and its node.

        Law: the same objects and the same findings as without any shape.
        """
        value, key = top.value.get("spec"), None
        if isinstance(value, dict):
            key, node = shape_key(value, namespace, labels), value.get(NODE_NAME)
            known = self._kept.get(key)
            if known is not None and (node is None or isinstance(node, str)):
                top.ignore("spec")
                return known, node or None
        spec = top.mapping("spec", required=True)
        found = read_pod_spec(spec, namespace=namespace, labels=labels)
        own_node = read_node_name(spec)
        if spec.is_clean():
            self._kept.keep(key, found)
        return found, own_node


def shape_key(spec: ValueMapping, namespace: str, labels: Mapping[str, str]) -> bytes | None:
    """Return what is equal for specs that are read alike; None: such a spec is read each time."""
    if not spec.keys() <= _KNOWN_OF_SPECS:
        return None
    parts: list[object] = [*map(spec.get, _READ_OF_SPECS)]
    try:
        parts += [key_of(spec.get(name)) for name, key_of in _LISTS]
    except _UnknownError:
        return None
    affinity = spec.get("affinity")
    if isinstance(affinity, dict) and not affinity.keys().isdisjoint(_POD_AFFINITY):
        # Terms mean the pod's own namespace, and its labels where they only name some.
        is_of_labels = b"matchLabelKeys" in (json_key(affinity) or b"")
        parts += [namespace, labels if is_of_labels else None]
    return json_key(parts)


class _UnknownError(Exception):
    """An item of a list has a field that is not known, or is no mapping."""


def _containers_key(items: Value) -> object:
    if not isinstance(items, list):
        return items
    found: list[Value] = []
    for item in items:
        if not isinstance(item, dict) or not item.keys() <= _KNOWN_OF_CONTAINERS:
            raise _UnknownError
        found += map(item.get, _READ_OF_CONTAINERS)
    return found


def _volumes_key(items: Value) -> object:
    """Return which volumes bind their pod to nodes; most have none, whatever their names are."""
    if not isinstance(items, list):
        return items
    found: list[Value] = []
    for item in items:
        if not isinstance(item, dict) or not item.keys() <= _KNOWN_OF_VOLUMES:
            raise _UnknownError
        if not item.keys() <= PASSED_OVER_OF_VOLUMES:
            found += map(item.get, BINDING_VOLUMES)
    return found


_POD_AFFINITY: Final = frozenset({"podAffinity", "podAntiAffinity"})
_LISTS: Final[tuple[tuple[str, Callable[[Value], object]], ...]] = (
    ("containers", _containers_key),
    ("initContainers", _containers_key),
    ("volumes", _volumes_key),
)
_KNOWN_OF_SPECS: Final = PASSED_OVER_OF_SPECS.union(
    {NODE_NAME}, _READ_OF_SPECS, [name for name, _ in _LISTS]
)
