"""Pods that ask for quota by themselves, and for which no Workload is there to hold it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from fairlead.manifest.core.objects import PodObject, full_name, is_live
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.tree_checks import MAX_SHOWN_NAMES
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.jobs.managed import QUEUE_LABEL
from fairlead.manifest.kueue.objects import KueueWorkloadObject

_WORKLOAD: Final = "kueue.x-k8s.io/workload"
_GROUP: Final = "kueue.x-k8s.io/pod-group-name"


def warn_of_bare_pods(
    pods: Mapping[str, PodObject],
    workloads: Mapping[str, KueueWorkloadObject],
    owners: Iterable[OwnerObject],
    findings: Findings,
) -> None:
    """Report all pods that name a queue and have no Workload, in one remark.

    Of a pod of one of the *owners*, the owner says it. Pods and Workloads go by
    ``namespace/name``. Cost: the pods, the Workloads and the owners.
    """
    held = {
        (each.namespace, owner.kind, owner.name)
        for each in workloads.values()
        for owner in each.identity.owners
    }
    held.update((each.namespace, each.owner_kind, each.name) for each in owners)
    found = [
        pod
        for _, pod in sorted(pods.items())
        if QUEUE_LABEL in pod.labels
        and is_live(pod)
        and (pod.namespace, pod.kind, pod.name) not in held
        and not any((pod.namespace, one.kind, one.name) in held for one in pod.identity.owners)
        and not any(f"{pod.namespace}/{name}" in workloads for name in _named_workloads(pod))
    ]
    if not found:
        return
    shown = [full_name(pod) for pod in found[:MAX_SHOWN_NAMES]]
    if len(found) > MAX_SHOWN_NAMES:
        shown.append(f"{len(found) - MAX_SHOWN_NAMES} more")
    found[0].source.warn(
        findings,
        "pods-missing",
        ("metadata", "labels", QUEUE_LABEL),
        f"{len(found)} Pod ({', '.join(shown)}): found a queue, and no Workload in the input to "
        "which the pods are charged; they are not counted",
        "add the Workloads, as kubectl get workloads -A -o yaml writes them; of pods that are not "
        "created yet, write a Job",
    )


def _named_workloads(pod: PodObject) -> Iterator[str]:
    """Yield what the pod says about its Workload: its name, or that of the group of pods."""
    for marks in (pod.annotations, pod.labels):
        for key in (_WORKLOAD, _GROUP):
            if key in marks:
                yield marks[key]
