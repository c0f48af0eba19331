"""Pods that form one workload, in sets of alike ones: the same way for every rule set."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from fairlead.manifest.core.objects import PodObject, full_name, is_gated, is_placed, pod_id
from fairlead.model.device_share import DeviceShare
from fairlead.model.execution.reconcile import ObservedPlace
from fairlead.model.workload import PodId

AlikePods = Sequence[Sequence[PodObject]]
Labels = tuple[tuple[str, str], ...]


def alike(
    pods: Iterable[PodObject],
    also: Callable[[PodObject], object],
    *,
    labels: frozenset[str] = frozenset(),
) -> list[list[PodObject]]:
    """Return *pods* in sets of those that differ in nothing that scheduling looks at.

    Of the labels only *labels* are compared, because jobs number their pods in them; *also* says
    what else is to be alike. Sets and pods keep the order of *pods*. Cost: one look at each pod.
    """
    compared = sorted(labels)
    sets: dict[object, list[PodObject]] = {}
    for pod in pods:
        likeness = (
            tuple(sorted(pod.requests.items())),
            pod.constraints,
            pod.gpu_share,
            is_gated(pod),
            tuple([pod.labels.get(label) for label in compared]),
            also(pod),
        )
        sets.setdefault(likeness, []).append(pod)
    return list(sets.values())


def common_labels(pods: Sequence[PodObject]) -> Labels:
    """Return the labels that all *pods* have with the same value, sorted."""
    common = set(pods[0].labels.items())
    for pod in pods[1:]:
        common &= pod.labels.items()
    return tuple(sorted(common))


def pods_by_id(sets: AlikePods) -> Iterator[tuple[PodId, PodObject]]:
    """Yield every pod of *sets* with its id."""
    for pods in sets:
        for pod in pods:
            yield pod_id(pod), pod


def observed_places(
    sets: AlikePods,
    started_ms: Callable[[PodObject], int],
    shares: Mapping[str, DeviceShare] = MappingProxyType({}),
) -> dict[PodId, ObservedPlace]:
    """Return where the pods of *sets* are that have a place, since when *started_ms* says.

    *shares* are the devices of the pods that share some, by full name.
    """
    return {
        pod: ObservedPlace(own.node, started_ms(own), shares.get(full_name(own)), own.terminating)
        for pod, own in pods_by_id(sets)
        if is_placed(own)
    }


def own_start_ms(pod: PodObject) -> int:
    """Return when a pod started; where that is not known, got its node, or was created.

    A kubelet reports the start a moment after the bind. Creation may be hours before that,
    so that a protected run time would be over before it began.
    """
    known = (pod.started_ms, pod.scheduled_ms)
    return next((each for each in known if each is not None), pod.created_ms)
