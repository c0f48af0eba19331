"""What a scenario says of its nodes although Kueue does not look at any.

Kueue grants quota and leaves nodes to others. So a simulation of it lets a job run as soon as it
holds quota, on more than all nodes have if there is that much quota.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from fairlead.model.quantity import show_amount
from fairlead.model.state import ClusterState
from fairlead.sim.scenario.form.scenario_form import ClusterForm, SpecForm
from fairlead.sim.scenario.form.work_form import WorkForm, written_jobs
from fairlead.sim.scenario.rule_set import ScenarioWarning
from fairlead.sim.scenario.variant.nodes import node_groups
from fairlead.sim.scenario.variant.queue_tree import QueueTree

_WHATEVER: Final = "under kueue jobs hold quota and run whatever nodes there are"
_ABOVE_ALL: Final = f"{_WHATEVER}, so utilisation may exceed 100 %"
_FIX: Final = "remove it, or do not compare by it under kueue"


def unseen_by_kueue(spec: SpecForm, state: ClusterState) -> Iterator[ScenarioWarning]:
    """Yield what has less effect under Kueue than it says; *state* is that of the start.

    Each kind is reported once, at its first place.
    """
    if spec.cluster.changes:
        is_less = any(change.lose for change in spec.cluster.changes)
        message = f"found changes of nodes: {_ABOVE_ALL if is_less else _WHATEVER}"
        yield ScenarioWarning(("spec", "cluster", "changes"), "no-effect", message, _FIX)
    yield from _taints(spec.cluster)
    flavors = state.catalogue.flavors.values()
    yield from _labels(spec.work, {key for flavor in flavors for key, _ in flavor.node_labels})
    yield from _more_quota(spec, state)


def _taints(cluster: ClusterForm) -> Iterator[ScenarioWarning]:
    """Yield taints that would keep pods off; no pod of a scenario tolerates any."""
    paths = [
        (*path, "taints")
        for path, group in node_groups(cluster)
        if any(taint.effect != "PreferNoSchedule" for taint in group.taints)
    ]
    if paths:
        message = f"found taints, which keep no job off: {_WHATEVER}"
        yield ScenarioWarning(paths[0], "no-effect", message, _FIX)


def _labels(work: Sequence[WorkForm], of_flavors: Collection[str]) -> Iterator[ScenarioWarning]:
    """Yield labels that no flavor has: Kueue does look at those of flavors."""
    paths = [
        (*path, "nodeLabels")
        for path, job in written_jobs(work)
        if any(key not in of_flavors for key in job.node_labels)
    ]
    if paths:
        where = "nodeLabels" if len(paths) == 1 else f"nodeLabels in {len(paths):,} places"
        message = f"found {where}, which keep no job off other nodes: {_WHATEVER}"
        yield ScenarioWarning(paths[0], "no-effect", message, _FIX)


def _more_quota(spec: SpecForm, state: ClusterState) -> Iterator[ScenarioWarning]:
    """Yield resources whose quotas add up to more than the nodes of the start have."""
    there = dict(zip(state.resources, state.capacity, strict=True))
    counted = QueueTree(spec.queues, spec.cluster).shared if spec.queues else state.resources
    owned = {resource: _quota_of(resource, state) for resource in counted}
    # Of what no node has, something else is wrong.
    above = [name for name in counted if owned[name] > there.get(name, 0) > 0]
    if above:
        quotas = ", ".join(f"{name} {show_amount(name, owned[name])}" for name in above)
        nodes = ", ".join(f"{name} {show_amount(name, there[name])}" for name in above)
        message = f"found quotas of {quotas} together, where nodes have {nodes}: {_ABOVE_ALL}"
        path = ("spec", "queues" if spec.queues else "manifests")
        fix = "guarantee less, or add nodes, or do not compare what is used under kueue"
        yield ScenarioWarning(path, "overcommitted", message, fix)


def _quota_of(resource: str, state: ClusterState) -> int:
    places = [at for at, axis in enumerate(state.axes.axes) if axis.resource == resource]
    return sum(queue.guaranteed[at] or 0 for queue in state.queues.values() for at in places)
