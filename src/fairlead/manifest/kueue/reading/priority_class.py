"""Reads Kueue's ``WorkloadPriorityClass``."""

from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.core.read_priority_class import read_priority
from fairlead.manifest.kueue.objects import WorkloadPriorityClassObject
from fairlead.manifest.text.cursor import Cursor


def read_workload_priority_class(top: Cursor) -> WorkloadPriorityClassObject | None:
    """Read a workload priority class; None if it has no usable name."""
    top.ignore("apiVersion", "kind", "description")
    found = WorkloadPriorityClassObject(
        source=top.source, name=read_metadata(top).name, value=read_priority(top)
    )
    top.finish()
    return found if found.name else None
