"""From what a cluster shows of one workload to the events that bring the state in line with it.

It is a comparison of what should be with what is, never a forwarding of changes. So facts may
repeat, overtake each other or be missed, a complete list needs no way of its own, and a state that
is empty is filled by the same code that follows a live cluster.

What we decided and the cluster does not show yet stays as it was assumed: a pod that is binding is
not taken from its node because an older object shows it without one, and a pod that is evicted to
leave is leaving until it is gone. What becomes of such orders is the executor's to know.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from fairlead.model.axes import WorkloadName
from fairlead.model.device_share import DeviceShare
from fairlead.model.events import (
    Event,
    MemoryChanged,
    Placement,
    WorkloadAdded,
    WorkloadChanged,
    WorkloadConfirmed,
    WorkloadLeaving,
    WorkloadRemoved,
    WorkloadStarted,
    WorkloadStays,
    WorkloadStopped,
)
from fairlead.model.memory import Memory
from fairlead.model.run import Placed, Run
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, Workload


class ObservedPlace(msgspec.Struct, frozen=True):
    """Where a pod is, since when, and whether it is being deleted there."""

    node: str | None
    started_ms: int
    share: DeviceShare | None = None
    leaving: bool = False


class ObservedWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster shows of a workload.

    ``memory`` is what its objects record of earlier decisions. It counts when the workload is seen
    for the first time; after that the state remembers by itself.
    """

    workload: Workload
    places: Mapping[PodId, ObservedPlace] = {}  # of the pods that have one
    flavors: tuple[dict[str, str], ...] = ()
    memory: Memory | None = None


def bring_in_line(
    state: ClusterState, name: WorkloadName, observed: ObservedWorkload | None
) -> None:
    """Let *state* know of a workload what is *observed*; None: that it is gone."""
    for event in reconcile(state, name, observed):
        state.apply(event)


def reconcile(
    state: ClusterState, name: WorkloadName, observed: ObservedWorkload | None
) -> Iterator[Event]:
    """Yield what to apply to *state* so that it knows of a workload what is *observed*.

    None: the workload is gone. Each event must be applied before the next is asked for. Law: once
    they are applied there are none. Cost: the pods of the workload.
    """
    known = state.workloads.get(name)
    if observed is None:
        if known is not None:
            yield WorkloadRemoved(name)
        return
    if known is None:
        yield WorkloadAdded(observed.workload)
        if observed.memory is not None:
            yield MemoryChanged(name, observed.memory)
    elif known != observed.workload:
        yield WorkloadChanged(observed.workload)
    yield from _places(state, name, observed)


def _places(state: ClusterState, name: WorkloadName, observed: ObservedWorkload) -> Iterator[Event]:
    """Yield what makes the places of pods the observed ones: stops, starts, then evictions."""
    run = state.runs.get(name)
    ended = _ended(run, observed)
    evicted = _still_leaving(run, ended, observed)
    if ended:
        yield WorkloadStopped(workload=name, pods=ended)
    yield from _seen(state.runs.get(name), name, observed)
    yield from _started(state.runs.get(name), name, observed)
    run = state.runs.get(name)
    leaving = tuple(
        [
            pod
            for pod, place in observed.places.items()
            if (place.leaving or pod in evicted) and run is not None and run.pods[pod].is_running()
        ]
    )
    if leaving:
        yield WorkloadLeaving(workload=name, pods=leaving)


def _has_other_quota(run: Run, observed: ObservedWorkload) -> bool:
    """Return whether quota was granted anew, so that nothing of the former run is true any more."""
    flavors = observed.flavors or ({},) * len(observed.workload.pod_sets)
    return bool(observed.places) and run.flavors != flavors


def _ended(run: Run | None, observed: ObservedWorkload) -> tuple[PodId, ...]:
    """Return the pods that do not have the place any more that the state knows."""
    if run is None:
        return ()
    if _has_other_quota(run, observed):
        return tuple(run.pods)
    found = []
    for pod, placed in run.pods.items():
        place = observed.places.get(pod)
        if place is None:
            is_assumed = placed.phase in ("binding", "reserved")
            found += [] if is_assumed else [pod]
        elif placed.phase == "reserved" or not _is_at(placed, place):
            found.append(pod)
        elif placed.phase == "leaving" and place.node is None and not place.leaving:
            found += [pod] if placed.started_ms != place.started_ms else []  # quota granted anew
    return tuple(found)


def _still_leaving(
    run: Run | None, ended: Iterable[PodId], observed: ObservedWorkload
) -> frozenset[PodId]:
    """Return the pods that were evicted from their node and are on other devices of it now.

    Devices are numbered anew when other pods come or go. The order to leave stands.
    """
    if run is None or _has_other_quota(run, observed):
        return frozenset()
    return frozenset(
        pod
        for pod in ended
        if run.pods[pod].phase == "leaving"
        and run.pods[pod].node is not None
        and pod in observed.places
        and run.pods[pod].node == observed.places[pod].node
    )


def _seen(run: Run | None, name: WorkloadName, observed: ObservedWorkload) -> Iterator[Event]:
    """Yield that pods are where they were thought to be, where that or the time is news.

    Those that are leaving go on leaving. The order to leave may be refused, and then the time
    counts again.
    """
    since: dict[tuple[bool, int], list[PodId]] = {}
    for pod, placed in run.pods.items() if run is not None else ():
        place = observed.places.get(pod)
        if place is None or placed.phase == "reserved":
            continue
        if placed.phase == "binding" or placed.started_ms != place.started_ms:
            since.setdefault((placed.phase == "leaving", place.started_ms), []).append(pod)
    for (are_leaving, at_ms), found in sorted(since.items()):
        pods = tuple(found)
        if are_leaving:
            yield WorkloadStays(workload=name, pods=pods)
        yield WorkloadConfirmed(workload=name, pods=pods, at_ms=at_ms)
        if are_leaving:
            yield WorkloadLeaving(workload=name, pods=pods)


def _started(run: Run | None, name: WorkloadName, observed: ObservedWorkload) -> Iterator[Event]:
    """Yield the starts of pods that have no place yet, earliest first, those of a time together."""
    starts: dict[int, list[Placement]] = {}
    for pod, place in observed.places.items():
        if run is None or pod not in run.pods:
            placement = Placement(pod, place.node, place.share)
            starts.setdefault(place.started_ms, []).append(placement)
    for at_ms, placements in sorted(starts.items()):
        yield WorkloadStarted(
            workload=name, placements=tuple(placements), flavors=observed.flavors, at_ms=at_ms
        )


def _is_at(placed: Placed, place: ObservedPlace) -> bool:
    return (placed.node, placed.share) == (place.node, place.share)
