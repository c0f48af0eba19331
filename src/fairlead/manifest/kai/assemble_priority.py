"""From a priority class to a job's priority, and whether the job may be pushed aside."""

from collections.abc import Iterable
from typing import Final

from fairlead.manifest.core.priorities import BUILT_IN
from fairlead.manifest.finding import Findings
from fairlead.manifest.objects import PodObject, PriorityClassObject
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean

KAI_CLASSES: Final = {
    "train": 50,
    "build-preemptible": 75,
    "interactive-preemptible": 75,  # another name of build-preemptible
    "build": 100,
    "inference": 125,
}
DEFAULT_JOB_PRIORITY: Final = KAI_CLASSES["train"]  # where no class is the cluster's default
NON_PREEMPTIBLE_FROM: Final = 100
CLASS_LABEL: Final = "priorityClassName"


class KaiPriorities:
    """The priority classes of a cluster, those that KAI brings along included."""

    def __init__(self, classes: Iterable[PriorityClassObject], findings: Findings) -> None:
        """Take in the classes of Kubernetes; of several defaults the lowest counts."""
        own = list(classes)
        self._findings = findings
        self._by_name = {**BUILT_IN, **KAI_CLASSES, **{each.name: each.value for each in own}}
        defaults = [each.value for each in own if each.is_default]
        self._default = min(defaults, default=DEFAULT_JOB_PRIORITY)

    def of_class(self, name: str, source: Source, path: Path) -> int:
        """Return the priority of a class; "" is the default, an unknown one is an error."""
        if not name:
            return self._default
        if name not in self._by_name:
            known = ", ".join(sorted(self._by_name))
            source.report(
                self._findings,
                "error",
                "missing-reference",
                path,
                f"found the priority class {quote(name)}, expected one of: {known}",
                did_you_mean(name, self._by_name) or "add the PriorityClass, or correct its name",
            )
        return self._by_name.get(name, self._default)

    def of_pod(self, pod: PodObject) -> int:
        """Return the priority of a pod that is a job of its own: its label names the class.

        Without the label its spec does; where that class is not in the input, the number that
        the API server wrote into the spec stands for it.
        """
        if label := pod.labels.get(CLASS_LABEL):
            return self.of_class(label, pod.source, ("metadata", "labels", CLASS_LABEL))
        if pod.priority is not None and pod.priority_class not in ("", *self._by_name):
            return pod.priority
        return self.of_class(pod.priority_class, pod.source, ("spec", "priorityClassName"))


def is_preemptible(priority: int, preemptibility: str) -> bool:
    """Tell whether a job may be pushed aside: as it says, else by its priority."""
    if preemptibility:
        return preemptibility == "preemptible"
    return priority < NON_PREEMPTIBLE_FROM
