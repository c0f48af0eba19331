"""What happened in a cluster, as an API server told it, in its order.

The resourceVersion of every object is the revision of the one etcd behind the API server. So the
facts of several watches, which arrive in any order, have one true order.
"""

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from tests.live.api import Object

Change = Literal["listed", "added", "modified", "deleted"]

PODS: Final = "/api/v1/pods"
NODES: Final = "/api/v1/nodes"
QUOTAS: Final = "/apis/scheduling.x-k8s.io/v1alpha1/elasticquotas"
GANGS: Final = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
BUDGETS: Final = "/apis/policy/v1/poddisruptionbudgets"
KINDS: Final = (PODS, NODES, QUOTAS, GANGS, BUDGETS)


class Fact(msgspec.Struct, frozen=True):
    """One object was in one state."""

    kind: str  # the path of its collection
    change: Change
    object: Object

    @property
    def version(self) -> int:
        """When, as a revision of etcd."""
        return int(self.object["metadata"]["resourceVersion"])

    @property
    def key(self) -> tuple[str, str]:
        """Which object: another one of the same name has another uid."""
        return self.kind, self.object["metadata"]["uid"]


class History(msgspec.Struct):
    """The facts of one run."""

    facts: list[Fact] = []
    gaps: int = 0  # how often facts may have been missed

    def in_order(self) -> list[Fact]:
        """Return the facts as they happened."""
        return sorted(self.facts, key=lambda fact: fact.version)


class Picture:
    """The objects of a cluster at one moment of its history."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        """Begin with what *facts* amount to."""
        self.objects: dict[str, dict[str, Object]] = {kind: {} for kind in KINDS}
        for fact in facts:
            self.take(fact)

    def take(self, fact: Fact) -> None:
        """Go on to the moment of *fact*."""
        kind, uid = fact.key
        if fact.change == "deleted":
            self.objects[kind].pop(uid, None)
        else:
            self.objects[kind][uid] = fact.object

    def of(self, kind: str) -> list[Object]:
        """Return the objects of one kind."""
        return list(self.objects[kind].values())

    def before(self, fact: Fact) -> Object | None:
        """Return the object of *fact* as it was."""
        kind, uid = fact.key
        return self.objects[kind].get(uid)
