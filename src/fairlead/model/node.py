"""A node of the cluster, and what pods that are not ours to schedule take of it."""

import msgspec

from fairlead.model.axes import Amounts
from fairlead.model.selector import PodTerm, Taint
from fairlead.model.workload import PodId, VolumeNeeds


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that runs pods; amounts are on the state's resources."""

    name: str
    allocatable: Amounts
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    cordoned: bool = False
    gpu_memory_mib: int | None = None  # of one device; None: not known
    attach_limits: dict[str, int] = msgspec.field(default_factory=dict)  # of volumes, by driver


class ForeignPod(msgspec.Struct, frozen=True, kw_only=True):
    """Another scheduler's pod on a node: what it holds there, and what it means to pods of ours.

    Most matter only by what they hold. One that is ``asked_about`` may also attract pods of ours or
    keep them away: then its namespace, labels, ports, terms and volumes are there, as far as ours
    ask about them. Its own affinity binds no other pod.
    """

    id: PodId
    name: str  # namespace/name
    node: str
    requests: Amounts
    leaving: bool = False  # it is being deleted, and holds its place until it is gone
    asked_about: bool = False
    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    host_ports: tuple[tuple[str, int], ...] = ()  # protocol and port
    pod_anti_affinity: tuple[PodTerm, ...] = ()
    volumes: VolumeNeeds | None = None  # that other pods may not have beside it


class Occupied(msgspec.Struct, frozen=True):
    """What the foreign pods of one node take of it."""

    held: Amounts
    leaving: Amounts  # the part of held whose pods are being deleted
    pods: int = 0
