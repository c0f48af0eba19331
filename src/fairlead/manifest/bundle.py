"""What a rule set brings to the reading of manifests: its kinds, its settings, its translation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from fairlead.manifest.core.objects import Object
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.values import Value
from fairlead.manifest.translate.family import Family
from fairlead.policy.contract import PolicyName

Reader: TypeAlias = Callable[[Cursor], Object | None]
DocumentReader: TypeAlias = Callable[[Document, Findings], Sequence[Object]]
GroupAndKind: TypeAlias = tuple[str, str]


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """How one kind of object is read. ``policy`` is None for what several rule sets use.

    ``is_queue``: an object of this kind shows which rule set the input is for.
    """

    read: DocumentReader
    versions: tuple[str, ...]
    policy: PolicyName | None = None
    is_queue: bool = False


def one_object(read: Reader, *versions: str, is_queue: bool = False) -> Kind:
    """Return a kind of which *read* makes one object per document, or none if it is unusable."""

    def read_document(document: Document, findings: Findings) -> Sequence[Object]:
        found = read(Cursor.of(document, findings))
        return () if found is None else (found,)

    return Kind(read=read_document, versions=versions, is_queue=is_queue)


class UntypedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document without apiVersion and kind, which is known by its shape."""

    title: str
    matches: Callable[[Value], bool]
    kind: Kind


class SettingsSection(msgspec.Struct, frozen=True, kw_only=True):
    """A section of Fairlead's ``Settings``; *read* is given the spec that has it or not."""

    name: str
    title: str  # what it is about
    read: Callable[[Cursor], Any]


def no_shards(_: Iterable[Object]) -> Sequence[str]:
    """Return no shard: every input is one state."""
    return ()


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """All that is special to one rule set when manifests are read.

    ``queue_label`` is that with which an object names its queue; "": none does.
    ``shards`` returns the names of the shards among objects, each of which is a state of its own.
    """

    policy: PolicyName
    queues: str  # which objects are its queues, for people
    queue_label: str = ""
    kinds: Mapping[GroupAndKind, Kind]
    untyped: UntypedDocument | None = None
    section: SettingsSection
    family: type[Family[Any]]
    shards: Callable[[Iterable[Object]], Sequence[str]] = no_shards
