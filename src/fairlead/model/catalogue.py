"""Things that rules look up by name and that no sum runs over."""

from decimal import Decimal
from typing import Final

import msgspec

from fairlead.model.axes import QueueName
from fairlead.model.selector import LabelSelector, Taint, Toleration

NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"


class ResourceFlavor(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of node that a Kueue quota can be on."""

    name: str
    node_labels: tuple[tuple[str, str], ...] = ()
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology_name: str = ""


class LocalQueue(msgspec.Struct, frozen=True, kw_only=True):
    """By which a namespace submits to a ClusterQueue."""

    namespace: str
    name: str
    cluster_queue: QueueName
    stopped: bool = False
    drained: bool = False
    weight: Decimal = Decimal(1)  # divides its past use where that orders what waits
    # What it had used of each resource, in billionths of a core, byte or device, when Kueue last
    # wrote it down; None: never.
    consumed_billionths: tuple[tuple[str, int], ...] = ()
    consumed_at_ms: int | None = None


class DisruptionBudget(msgspec.Struct, frozen=True, kw_only=True):
    """How many of some pods may be disturbed at present."""

    namespace: str
    name: str
    selector: LabelSelector
    disruptions_allowed: int
    disrupted_pods: tuple[str, ...] = ()


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """All such things of one cluster, by name (namespaced ones by ``namespace/name``)."""

    flavors: dict[str, ResourceFlavor] = msgspec.field(default_factory=dict)
    local_queues: dict[str, LocalQueue] = msgspec.field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)  # their labels
    budgets: dict[str, DisruptionBudget] = msgspec.field(default_factory=dict)

    def namespace_labels(self, name: str) -> dict[str, str]:
        """Return the labels of a namespace; of one that is not known, what the server adds."""
        known = self.namespaces.get(name)
        return {NAMESPACE_NAME_LABEL: name} if known is None else known
