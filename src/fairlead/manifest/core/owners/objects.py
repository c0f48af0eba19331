"""Owners as read: objects of which a controller makes pods, whatever their kind.

An owner has roles: pods of one template, such as the workers of a training job. What the controller
would make now is `Role.left` of each. What the status counts says whether pods exist already.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import ClassVar, Final, Literal, TypeAlias

import msgspec

from fairlead.manifest.core.claim_spec import EphemeralVolume
from fairlead.manifest.core.device_claims import DeviceClaimName
from fairlead.manifest.core.objects import UNIDENTIFIED, Identity, NamespacedObject, Owner
from fairlead.manifest.core.owners.stable_names import stable_uid
from fairlead.manifest.core.read_pod_spec import PodSpecRead
from fairlead.manifest.text.documents import Source
from fairlead.model.selector import LabelSelector
from fairlead.model.workload import GpuShare

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})

MAIN_ROLE: Final = "main"  # of an owner with one template


class PodTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """What all pods of a role have in common; *source* is where it stands in its owner."""

    source: Source
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: PodSpecRead
    gpu_share: GpuShare | None = None
    claims: tuple[str, ...] = ()  # for volumes, by name
    device_claims: tuple[DeviceClaimName, ...] = ()


class PodNames(Enum):
    """How a controller names the pods of a role, after the *stem* of the role."""

    RANDOM = "{stem}-{random}"
    INDEXED = "{stem}-{index}"
    INDEXED_RANDOM = "{stem}-{index}-{random}"
    REPLICA = "{stem}-{replica}"
    REPLICA_INDEXED = "{stem}-{replica}-{index}"
    REPLICA_INDEXED_RANDOM = "{stem}-{replica}-{index}-{random}"


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one template: *replicas* groups of *pods_each*, which are mostly one of the two.

    A replica is a job of a JobSet, a group of a LeaderWorkerSet, a worker of several hosts.
    """

    name: str = MAIN_ROLE
    template: PodTemplate
    replicas: int = 1
    pods_each: int = 1
    left_each: int | None = None  # of pods_each, how many are to run now; None: all
    min_replicas: int | None = None  # with fewer the owner does not run
    first_index: int = 0
    stem: str  # of the names of its pods
    names: PodNames = PodNames.INDEXED
    claims: tuple[EphemeralVolume, ...] = ()  # that the controller makes for each pod
    labels: Mapping[str, str] = NO_LABELS  # that the controller adds to those of the template
    index_label: str = ""  # the label with the index of a pod in its replica; "": none
    replica_label: str = ""  # the label with the index of its replica

    @property
    def count(self) -> int:
        """How many pods the role has when all of it runs."""
        return self.replicas * self.pods_each

    @property
    def left(self) -> int:
        """How many pods a controller would have running now."""
        return self.replicas * (self.pods_each if self.left_each is None else self.left_each)


class PodCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What the status of an owner says of its pods."""

    active: int = 0  # that were made and have not ended
    ready: int = 0
    succeeded: int = 0
    failed: int = 0


NO_PODS: Final = PodCounts()

Startup: TypeAlias = Literal["together", "any-order", "in-order", "leader-ready", "workers-ready"]
"""Which pods are made first: all (``any-order`` says so), role by role, the leader, the workers."""


class Gang(msgspec.Struct, frozen=True, kw_only=True):
    """What an owner says about scheduling its pods together."""

    min_available: int | None = None  # pods
    priority_class: str = ""
    startup: Startup = "together"


class OwnerObject(NamespacedObject, frozen=True, kw_only=True):
    """An object of which a controller makes pods.

    ``selector`` finds its pods by labels where the objects in between are not known; None: nothing
    does. ``suspended``: the controller makes no pods until that is taken back. ``finished``: it has
    run to its end. ``scheduled``: a clock decides when it makes something.
    """

    kind: ClassVar = "object"
    api_version: str
    owner_kind: str
    identity: Identity = UNIDENTIFIED
    labels: Mapping[str, str] = NO_LABELS
    annotations: Mapping[str, str] = NO_LABELS
    created_ms: int = 0
    roles: tuple[Role, ...] = ()
    gang: Gang = Gang()
    pods: PodCounts = NO_PODS
    selector: LabelSelector | None = None
    suspended: bool = False
    finished: bool = False
    scheduled: bool = False

    @property
    def queued_ms(self) -> int | None:
        """When it was created, which is the age of what is made of it."""
        return self.created_ms

    @property
    def latest_ms(self) -> int:
        """When it was created."""
        return self.created_ms

    @property
    def group(self) -> str:
        """The API group; "" is the core one."""
        return self.api_version.rpartition("/")[0]

    @property
    def title(self) -> str:
        """The kind as kubectl names it: ``Job.batch``."""
        return kind_and_group(self.owner_kind, self.api_version)

    @property
    def uid(self) -> str:
        """The uid; a stable placeholder where the object says none."""
        return self.identity.uid or stable_uid(self.key())

    def key(self) -> str:
        """Return ``Job.batch/namespace/name``."""
        return f"{self.title}/{self.namespace}/{self.name}"

    def reference(self) -> Owner:
        """Return how what the owner makes refers to it."""
        return Owner(
            api_version=self.api_version,
            kind=self.owner_kind,
            name=self.name,
            uid=self.uid,
            is_controller=True,
        )

    @property
    def left(self) -> int:
        """How many pods its controller would have running now."""
        return sum(role.left for role in self.roles)


def kind_and_group(kind: str, api_version: str) -> str:
    """Name a kind as kubectl does, whatever its version."""
    group = api_version.rpartition("/")[0]
    return f"{kind}.{group}" if group else kind
