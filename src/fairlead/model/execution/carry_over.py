"""What only an old state knows, for a new state of the same cluster.

The resources and quota axes of a state are fixed. When a cluster comes to have more of them, a new
state is filled from all objects. Objects do not say everything: what a rule set remembers, which
pods were given a place or evicted that the cluster does not show yet, and what queues used
lately. That is carried over here. Whatever objects do say, the new state has from them.

Reserved places, departures and what is held back exist only while a plan is made. States are not
exchanged then, so there are none to carry over.
"""

from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    MemoryChanged,
    Placement,
    UsageChanged,
    WorkloadBinding,
    WorkloadLeaving,
)
from fairlead.model.memory import part_about
from fairlead.model.run import Placed, Run
from fairlead.model.state import ClusterState


def carry_over(old: ClusterState, new: ClusterState) -> None:
    """Let *new* know what *old* knows and objects do not say.

    *new* was filled from the objects that *old* was, or from later versions of them. Law: it then
    is what *old* becomes when it is brought in line with the same objects, on other axes; only the
    start time of a pod that leaves is that of the later object. Cost: each workload, and each pod
    with a place in *old*.
    """
    for name in old.workloads:
        if name in new.workloads:
            _carry_memory(old, new, name)
            run = old.runs.get(name)
            if run is not None:
                _carry_places(run, new, name)
    _carry_usage(old, new)


def _carry_memory(old: ClusterState, new: ClusterState, name: WorkloadName) -> None:
    """Remember what *old* does, be it nothing: objects may record what is over."""
    memory = old.memories.get(name)
    left = None if memory is None else part_about(new.workloads[name], memory)
    if left != new.memories.get(name):
        new.apply(MemoryChanged(name, left))


def _carry_places(run: Run, new: ClusterState, name: WorkloadName) -> None:
    """Let pods be binding or leaving as in *run*, except where *new* shows something else."""
    workload, shown = new.workloads[name], new.runs.get(name)
    flavors = run.flavors_for(workload.pod_sets)
    if shown is not None and shown.flavors != flavors:
        return  # quota was granted anew, so nothing of the former run is true any more
    places = shown.pods if shown is not None else {}
    leaving = []
    binding: dict[tuple[int, int | None], list[Placement]] = {}
    for pod, placed in run.pods.items():
        if placed.phase == "leaving" and pod in places and _is_same(placed, places[pod]):
            leaving.append(pod)
        elif placed.phase == "binding" and pod not in places and workload.has_pod(pod):
            moments = placed.started_ms, placed.until_ms
            binding.setdefault(moments, []).append(Placement(pod, placed.node, placed.share))
    if leaving:
        new.apply(WorkloadLeaving(workload=name, pods=tuple(leaving)))
    for (at_ms, until_ms), placements in binding.items():
        new.apply(
            WorkloadBinding(
                workload=name,
                placements=tuple(placements),
                flavors=flavors,
                at_ms=at_ms,
                until_ms=until_ms,
            )
        )


def _is_same(evicted: Placed, shown: Placed) -> bool:
    """Return whether a pod that was *evicted* runs on where it is *shown*.

    Without a node, another start time means that quota was granted anew. Other devices mean only
    that they have other numbers: a pod does not change its devices.
    """
    is_one_run = evicted.node is not None or evicted.started_ms == shown.started_ms
    return shown.is_running() and evicted.node == shown.node and is_one_run


def _carry_usage(old: ClusterState, new: ClusterState) -> None:
    """Let *new* have the usage of *old* on the axes that both have, and none on the others."""
    places = {axis: at for at, axis in enumerate(old.axes.axes)}
    found = [places.get(axis) for axis in new.axes.axes]
    usage = {
        queue: tuple([0 if at is None else used[at] for at in found])
        for queue, used in old.usage.items()
    }
    if usage != new.usage:
        new.apply(UsageChanged(usage))
