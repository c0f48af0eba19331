"""From a priority class to a job's priority, and whether the job may be pushed aside."""

from collections.abc import Iterable, Sequence, Set
from typing import Final

from fairlead.manifest.core.objects import PodObject, PriorityClassObject
from fairlead.manifest.core.priorities import BUILT_IN
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.objects import KaiPodGroupObject
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

    def __init__(self, classes: Iterable[PriorityClassObject]) -> None:
        """Take in the classes of Kubernetes; of several defaults the lowest counts."""
        own = list(classes)
        self._by_name = {**BUILT_IN, **KAI_CLASSES, **{each.name: each.value for each in own}}
        defaults = [each.value for each in own if each.is_default]
        self._default = min(defaults, default=DEFAULT_JOB_PRIORITY)

    def names(self) -> Set[str]:
        """Return the classes that there are."""
        return self._by_name.keys()

    def of_group(
        self, group: KaiPodGroupObject, pods: Sequence[PodObject], findings: Findings
    ) -> int:
        """Return the priority of a group with its *pods*: that of its class, "" is the default."""
        place = ("spec", "priorityClassName")
        return self._of(group.priority_class, pods, group.source, place, findings)

    def of_pod(self, pod: PodObject, findings: Findings) -> int:
        """Return the priority of a pod that is a job of its own: its label names the class.

        Without the label its spec does.
        """
        if label := pod.labels.get(CLASS_LABEL):
            place: Path = ("metadata", "labels", CLASS_LABEL)
            return self._of(label, [pod], pod.source, place, findings)
        place = ("spec", "priorityClassName")
        return self._of(pod.priority_class, [pod], pod.source, place, findings)

    def _of(
        self,
        name: str,
        pods: Sequence[PodObject],
        source: Source,
        path: Path,
        findings: Findings,
    ) -> int:
        """Return the priority of a class; for one that is not in the input, its pods' highest."""
        if not name:
            return self._default
        if name in self._by_name:
            return self._by_name[name]
        # The API server writes the number of their class into pods, and 0 where they have none.
        written = [pod.priority for pod in pods if pod.priority_class or pod.priority]
        known = [priority for priority in written if priority is not None]
        if known:
            return max(known)
        listed = ", ".join(sorted(self._by_name))
        source.warn(
            findings,
            "missing-reference",
            path,
            f"found the priority class {quote(name)}, expected one of: {listed}; "
            f"the priority is {self._default}, as without a class",
            did_you_mean(name, self._by_name) or "add the PriorityClass, or correct its name",
        )
        return self._default


def is_preemptible(priority: int, preemptibility: str) -> bool:
    """Return whether a job may be preempted: as it says, else by its priority."""
    if preemptibility:
        return preemptibility == "preemptible"
    return priority < NON_PREEMPTIBLE_FROM
