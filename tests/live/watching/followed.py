"""Objects followed by reflectors beside a test: the facts, and what they add up to."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from fairlead.cluster.kubernetes.acting.requests import PODS
from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.watching.facts import Gone, Listed, ObjectFact, Seen
from fairlead.cluster.kubernetes.watching.freshness import Freshness
from fairlead.cluster.kubernetes.watching.reflector import Reflector
from tests.live.open_session import open_session
from tools.k8s.cluster import Cluster

POD: GroupKind = ("", "Pod")
NODE: GroupKind = ("", "Node")
NODES = Resource(group="", version="v1", plural="nodes", is_namespaced=False)
NODES_AND_PODS = {NODE: NODES, POD: PODS}


class Followed:
    """What reflectors have said of a cluster."""

    def __init__(self) -> None:
        self.facts: list[tuple[GroupKind, ObjectFact]] = []
        self.freshness = Freshness(time.monotonic)
        self.freshness.require(frozenset())
        self._versions: defaultdict[GroupKind, dict[str, str]] = defaultdict(dict)

    def take(self, kind: GroupKind, fact: ObjectFact) -> None:
        """Apply a fact, as a reader of facts has to."""
        self.facts.append((kind, fact))
        versions = self._versions[kind]
        match fact:
            case Listed(objects=objects):
                versions.clear()
                versions.update({_name(each): _version(each) for each in objects})
            case Seen(object=found):
                versions[_name(found)] = _version(found)
            case Gone(object=found):
                versions.pop(_name(found), None)

    def versions(self, kind: GroupKind) -> dict[str, str]:
        """Return the resourceVersion of each object, as the facts add up."""
        return dict(self._versions[kind])

    def lists_of(self, kind: GroupKind) -> int:
        """Return how often all objects of a kind were listed."""
        return sum(each == kind and isinstance(fact, Listed) for each, fact in self.facts)


@asynccontextmanager
async def following(
    cluster: Cluster, resources: Mapping[GroupKind, Resource] = NODES_AND_PODS
) -> AsyncIterator[Followed]:
    """Follow these kinds for the time of the block; no reflector may end before it."""
    followed = Followed()
    async with open_session(cluster) as session:
        tasks = [
            asyncio.create_task(
                Reflector(
                    session,
                    kind,
                    resource,
                    take=followed.take,
                    freshness=followed.freshness,
                    random=lambda: 0.5,
                ).run()
            )
            for kind, resource in resources.items()
        ]
        try:
            yield followed
            assert not any(each.done() for each in tasks)
        finally:
            for each in tasks:
                each.cancel()
                with suppress(asyncio.CancelledError):
                    await each


def _name(found: Any) -> str:
    metadata = found["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _version(found: Any) -> str:
    return str(found["metadata"]["resourceVersion"])
