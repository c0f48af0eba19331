"""Reads ``metadata``, which is the same in every kind."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.manifest.cursor import Cursor
from fairlead.manifest.path import quote

DEFAULT_NAMESPACE: Final = "default"

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_NAME_MAX_LENGTH: Final = 253
_IGNORED: Final = (
    "deletionGracePeriodSeconds",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """Name, labels and times of an object; ``is_leaving`` once its deletion was asked for."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    created_ms: int
    is_leaving: bool


def read_metadata(top: Cursor) -> Metadata | None:
    """Read the metadata of the object *top*; None if it has no name that could be its own.

    A name that Kubernetes would refuse is only warned about, except that a ``/`` is refused here
    too: it separates the namespace from the name.
    """
    metadata = top.mapping("metadata", required=True)
    metadata.ignore(*_IGNORED)
    found = Metadata(
        name=metadata.text("name"),
        namespace=metadata.text("namespace", "") or DEFAULT_NAMESPACE,
        labels=metadata.text_map("labels"),
        annotations=metadata.text_map("annotations"),
        created_ms=metadata.timestamp("creationTimestamp", 0),
        is_leaving=metadata.timestamp("deletionTimestamp", None) is not None,
    )
    is_usable = _check_name(metadata, "name", found.name)
    return found if _check_name(metadata, "namespace", found.namespace) and is_usable else None


def _check_name(metadata: Cursor, key: str, name: str) -> bool:
    """Tell whether *name* can be used; an empty one is reported already."""
    expected = "expected lower case letters, digits, - and ."
    if "/" in name:
        metadata.error(key, "bad-name", f"found {quote(name)}, {expected}", "remove the /")
        return False
    if name and not (len(name) <= _NAME_MAX_LENGTH and _NAME.fullmatch(name)):
        message = f"found {quote(name)}, which Kubernetes would refuse; {expected}"
        metadata.warn(key, "bad-name", message, "rename it")
    return name != ""
