"""Reads ``metadata``, which is the same in every kind."""

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Final, TypeVar

import msgspec

from fairlead.manifest.core.objects import UNIDENTIFIED, Identity, Owner
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.read_once import ReadOnce, json_key

T = TypeVar("T")

DEFAULT_NAMESPACE: Final = "default"

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_NAME_MAX_LENGTH: Final = 253
_OWNERS: Final = "ownerReferences"
_KNOWN_OWNERS: Final = ReadOnce[tuple[Owner, ...]]()
_IGNORED: Final = (
    "deletionGracePeriodSeconds",
    "finalizers",
    "generateName",
    "managedFields",
    "selfLink",
)


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """Name, labels and times of an object; ``is_leaving`` once its deletion was asked for.

    The name is "" where it is missing or cannot be used; then its reader returns no object.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    created_ms: int
    is_leaving: bool
    identity: Identity


def read_metadata(top: Cursor) -> Metadata:
    """Read the metadata of the object *top*; one without namespace is in the default one.

    A name that Kubernetes would refuse is only warned about, except that a ``/`` is refused here
    too: it separates the namespace from the name.
    """
    metadata = top.mapping("metadata", required=True)
    metadata.ignore(*_IGNORED)
    name = metadata.text("name")
    namespace = metadata.text("namespace", "") or DEFAULT_NAMESPACE
    is_usable = all(
        [_is_usable(metadata, "name", name), _is_usable(metadata, "namespace", namespace)]
    )
    return Metadata(
        name=name if is_usable else "",
        namespace=namespace,
        labels=metadata.text_map("labels"),
        annotations=metadata.text_map("annotations"),
        created_ms=metadata.timestamp("creationTimestamp", 0),
        is_leaving=metadata.timestamp("deletionTimestamp", None) is not None,
        identity=_read_identity(metadata),
    )


def reads_named(
    read: Callable[[Cursor, Metadata], T | None],
) -> Callable[[Cursor], T | None]:
    """Make a reader of whole objects of *read*, which is given an object and its metadata.

    It reads the metadata before, warns afterwards of what was not read, and gives no object if
    that has no usable name.
    """

    @wraps(read)
    def read_object(top: Cursor) -> T | None:
        top.ignore("apiVersion", "kind")
        metadata = read_metadata(top)
        found = read(top, metadata)
        top.finish()
        return found if metadata.name else None

    return read_object


def _read_identity(metadata: Cursor) -> Identity:
    """Read what an API server writes; an object in a file may have none or part of it."""
    identity = Identity(
        uid=metadata.text("uid", ""),
        resource_version=metadata.text("resourceVersion", ""),
        generation=metadata.integer("generation", None, minimum=0),
        owners=_read_owners(metadata),
    )
    return UNIDENTIFIED if identity == UNIDENTIFIED else identity


def _read_owners(metadata: Cursor) -> tuple[Owner, ...]:
    """Read the owners, which are the same for all that a controller made: worth a short way."""
    given = metadata.value.get(_OWNERS)
    # What is no mapping is a finding on the metadata, not on the reference: it must not be kept.
    are_mappings = isinstance(given, list) and all(isinstance(each, dict) for each in given)
    key = json_key(given) if are_mappings else None
    known = _KNOWN_OWNERS.get(key)
    if known is not None:
        metadata.ignore(_OWNERS)
        return known
    references = metadata.items(_OWNERS)
    owners = tuple([_read_owner(each) for each in references])
    if all(each.is_clean() for each in references):
        _KNOWN_OWNERS.keep(key, owners)
    return owners


def _read_owner(reference: Cursor) -> Owner:
    reference.ignore("blockOwnerDeletion")
    return Owner(
        api_version=reference.text("apiVersion", ""),
        kind=reference.text("kind", ""),
        name=reference.text("name", ""),
        uid=reference.text("uid", ""),
        is_controller=reference.boolean("controller", False),
    )


def _is_usable(metadata: Cursor, key: str, name: str) -> bool:
    if _NAME.fullmatch(name) and len(name) <= _NAME_MAX_LENGTH:
        return True
    expected = "expected lower case letters, digits, - and ."
    if "/" in name:
        metadata.error(key, "bad-name", f"found {quote(name)}, {expected}", "remove the /")
        return False
    if name:
        message = f"found {quote(name)}, which Kubernetes would refuse; {expected}"
        metadata.warn(key, "bad-name", message, "rename it")
    return name != ""
