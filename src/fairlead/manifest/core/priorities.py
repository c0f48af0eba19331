"""From a pod's priority class to its priority, as the API server fills it in."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from fairlead.manifest.core.objects import PodObject, PriorityClassObject
from fairlead.manifest.core.read_pod_spec import PreemptionPolicy
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.path import quote

BUILT_IN: Final[Mapping[str, int]] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


class Importance(msgspec.Struct, frozen=True, kw_only=True):
    """How important a pod is, and whether it may push others aside."""

    priority: int
    preemption_policy: PreemptionPolicy = "PreemptLowerPriority"


class Priorities:
    """The priority classes of a cluster."""

    def __init__(self, classes: Iterable[PriorityClassObject]) -> None:
        """Take the classes in; of several defaults the lowest counts, among equals the last."""
        self._by_name = {name: Importance(priority=priority) for name, priority in BUILT_IN.items()}
        default = Importance(priority=0)
        for each in sorted(classes, key=lambda each: (-each.value, each.name)):
            importance = Importance(priority=each.value, preemption_policy=each.preemption_policy)
            self._by_name[each.name] = importance
            if each.is_default:
                default = importance
        self._default = default

    def of(self, pod: PodObject, findings: Findings) -> Importance:
        """Return how important *pod* is; what it says itself comes before what its class says."""
        found = self._by_name.get(pod.priority_class) if pod.priority_class else self._default
        if found is None:
            found = Importance(priority=0)
            if pod.priority is None:
                _report_unknown(pod, findings)
        return Importance(
            priority=found.priority if pod.priority is None else pod.priority,
            preemption_policy=pod.preemption_policy or found.preemption_policy,
        )


def _report_unknown(pod: PodObject, findings: Findings) -> None:
    pod.source.warn(
        findings,
        "missing-reference",
        ("spec", "priorityClassName"),
        f"found {quote(pod.priority_class)}, which is not in the input; its priority is 0",
        "add the PriorityClass, or write spec.priority",
    )
