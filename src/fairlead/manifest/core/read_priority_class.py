"""Reads ``PriorityClass``."""

from fairlead.manifest.core.objects import PriorityClassObject
from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.core.read_pod_spec import PREEMPTION_POLICIES
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.limits import MAX_COUNT


def read_priority_class(top: Cursor) -> PriorityClassObject | None:
    """Read a Kubernetes priority class; None if it has no usable name."""
    top.ignore("apiVersion", "kind", "description")
    metadata = read_metadata(top)
    found = PriorityClassObject(
        source=top.source,
        name=metadata.name,
        value=read_priority(top),
        is_default=bool(top.boolean("globalDefault", False)),
        preemption_policy=top.choice(
            "preemptionPolicy", PREEMPTION_POLICIES, PREEMPTION_POLICIES["PreemptLowerPriority"]
        ),
    )
    top.finish()
    return found if found.name else None


def read_priority(top: Cursor) -> int:
    """Read the value of a priority class."""
    return top.integer("value", minimum=-MAX_COUNT - 1, maximum=MAX_COUNT)
