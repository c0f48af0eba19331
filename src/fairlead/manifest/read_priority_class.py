"""Reads ``PriorityClass`` and Kueue's ``WorkloadPriorityClass``."""

from typing import Final

from fairlead.manifest.cursor import Cursor
from fairlead.manifest.objects import PriorityClassObject
from fairlead.manifest.read_metadata import read_metadata
from fairlead.manifest.read_pod_spec import PREEMPTION_POLICIES

INT32_MAX: Final = 2**31 - 1


def read_priority_class(top: Cursor) -> PriorityClassObject | None:
    """Read a Kubernetes priority class; None if it has no usable name."""
    return _read(top, for_workloads=False)


def read_workload_priority_class(top: Cursor) -> PriorityClassObject | None:
    """Read a Kueue workload priority class; None if it has no usable name."""
    return _read(top, for_workloads=True)


def _read(top: Cursor, *, for_workloads: bool) -> PriorityClassObject | None:
    top.ignore("apiVersion", "kind", "description")
    metadata = read_metadata(top)
    value = top.integer("value", minimum=-INT32_MAX - 1, maximum=INT32_MAX)
    is_default = not for_workloads and bool(top.boolean("globalDefault", False))
    policy = PREEMPTION_POLICIES["PreemptLowerPriority"]
    if not for_workloads:
        policy = top.choice("preemptionPolicy", PREEMPTION_POLICIES, policy)
    top.finish()
    if not metadata.name:
        return None
    return PriorityClassObject(
        source=top.source,
        name=metadata.name,
        value=value,
        is_default=is_default,
        for_workloads=for_workloads,
        preemption_policy=policy,
    )
