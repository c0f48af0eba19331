"""Reads a core ``Namespace``, whose labels decide which queues it may use."""

from fairlead.manifest.core.objects import NamespaceObject
from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.text.cursor import Cursor
from fairlead.model.catalogue import NAMESPACE_NAME_LABEL


def read_namespace(top: Cursor) -> NamespaceObject | None:
    """Read a namespace; None if it has no usable name. Like the API server, label it with it."""
    top.ignore("apiVersion", "kind", "spec", "status")
    metadata = read_metadata(top)
    top.finish()
    if not metadata.name:
        return None
    labels = {**metadata.labels, NAMESPACE_NAME_LABEL: metadata.name}
    return NamespaceObject(source=top.source, name=metadata.name, labels=labels)
