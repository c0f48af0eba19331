"""Reads ``PriorityClass`` and Kueue's ``WorkloadPriorityClass``, which have a value in common."""

from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.core.read_pod_spec import PREEMPTION_POLICIES
from fairlead.manifest.objects import PriorityClassObject, WorkloadPriorityClassObject
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.limits import MAX_COUNT


def read_priority_class(top: Cursor) -> PriorityClassObject | None:
    """Read a Kubernetes priority class; None if it has no usable name."""
    top.ignore("apiVersion", "kind", "description")
    metadata = read_metadata(top)
    found = PriorityClassObject(
        source=top.source,
        name=metadata.name,
        value=_value(top),
        is_default=bool(top.boolean("globalDefault", False)),
        preemption_policy=top.choice(
            "preemptionPolicy", PREEMPTION_POLICIES, PREEMPTION_POLICIES["PreemptLowerPriority"]
        ),
    )
    top.finish()
    return found if found.name else None


def read_workload_priority_class(top: Cursor) -> WorkloadPriorityClassObject | None:
    """Read a Kueue workload priority class; None if it has no usable name."""
    top.ignore("apiVersion", "kind", "description")
    found = WorkloadPriorityClassObject(
        source=top.source, name=read_metadata(top).name, value=_value(top)
    )
    top.finish()
    return found if found.name else None


def _value(top: Cursor) -> int:
    return top.integer("value", minimum=-MAX_COUNT - 1, maximum=MAX_COUNT)
