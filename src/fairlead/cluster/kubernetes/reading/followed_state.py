"""The states that a cluster's objects describe, kept in line while the objects change.

One state for each shard. It starts from a complete reading, so nothing is listed twice.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.cluster.kubernetes.reading.read_cluster import ClusterObjects
from fairlead.cluster.kubernetes.watching.facts import Gone, Listed, ObjectFact, Seen
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.registry import BUNDLES
from fairlead.manifest.text.documents import Document, cluster_document
from fairlead.manifest.translate.assemble import as_assembled, with_name
from fairlead.manifest.translate.family import AssemblyRules
from fairlead.manifest.translate.inbox import key_of
from fairlead.manifest.translate.translator import Translator
from fairlead.policy.contract import PolicyName


class FollowedState:
    """What is known of a cluster under one rule set, by shard."""

    def __init__(
        self,
        policy: PolicyName,
        rules: AssemblyRules,
        shards: Sequence[str | None],
        *,
        objects: ClusterObjects,
        added: Iterable[Document] = (),
    ) -> None:
        """Begin with the *objects* that were read, and those that files *added*.

        What is added stays, although the cluster does not have it.
        """
        self.is_changed = True  # since it was settled last
        self._policy = policy
        self._shards = shards
        self._translators = [Translator(policy, replace(rules, shard=each)) for each in shards]
        self._added = [with_name(each) for each in added]
        self._known_shards: Sequence[str] | None = None
        for kind, each in objects.kinds.items():
            listing = each.listing
            self.take(kind, Listed(kind, listing.objects, listing.resource_version))
        self._add_again(None)

    def take(self, kind: GroupKind, fact: ObjectFact) -> None:
        """Take in what a watch says about an object of *kind*, or about all of them."""
        self.is_changed = True
        for translator in self._translators:
            match fact:
                case Seen(found):
                    translator.changed(cluster_document(found))
                case Gone(found):
                    translator.removed(cluster_document(found))
                case Listed((group, name), is_served=False):
                    translator.unserved(group, name)
                case Listed((group, name), objects, version):
                    documents = map(cluster_document, objects)
                    translator.listed(group, name, documents, version)
        if isinstance(fact, Listed):
            self._add_again(kind)

    def settle(self) -> list[Assembled]:
        """Return the state of each shard as of now. Cost: what changed since the last time."""
        self.is_changed = False
        for translator in self._translators:
            translator.settle()
        return [
            as_assembled(translator, shard)
            for translator, shard in zip(self._translators, self._shards, strict=True)
        ]

    def has_other_shards(self) -> bool:
        """Return whether the cluster has other shards than when this was asked first.

        Cost: one look at each object.
        """
        mirror = self._translators[0].mirror
        shards = BUNDLES[self._policy].shards(mirror.objects())
        before, self._known_shards = self._known_shards, shards
        return before is not None and list(before) != list(shards)

    def _add_again(self, kind: GroupKind | None) -> None:
        """Add what files add, of one kind or all: a complete list of the cluster lacks it."""
        for each in self._added:
            key = key_of(each.value)
            if key is not None and kind in (None, (key.group, key.kind)):
                for translator in self._translators:
                    translator.changed(each)
