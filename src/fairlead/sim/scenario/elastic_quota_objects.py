"""Inline queues as ElasticQuotas: one for each leaf, in a namespace of the same name.

What may be borrowed is what is guaranteed to somebody. So what is guaranteed to nobody becomes the
min of a namespace in which nothing ever runs.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fairlead.manifest.text.path import Path
from fairlead.model.quantity import format_amount
from fairlead.sim.scenario.variant.objects import MadeObject
from fairlead.sim.scenario.variant.queue_tree import QueueTree


def elastic_quota_objects(tree: QueueTree) -> Iterator[MadeObject]:
    """Yield a quota for each leaf, and one for what is guaranteed to nobody, if anything is."""
    free = {name: amount for name, amount in tree.most.items() if name not in tree.shared}
    for queue in filter(tree.is_leaf, tree.queues):
        least = {**tree.guaranteed(queue), **free}
        spec = {"min": _written(least)}
        ceiling = tree.ceiling(queue)
        if ceiling:
            # The plugin takes what a max leaves out for 0, so nothing is left out.
            unbounded = {name: max(tree.most[name], least.get(name, 0)) for name in tree.most}
            spec["max"] = _written({**unbounded, **ceiling})
        unwritten: tuple[Path, ...] = tuple(("spec", "min", name) for name in free)
        yield MadeObject(_quota(queue.name, spec), tree.path(queue), unwritten=unwritten)
    promised: dict[str, int] = {}
    for queue in filter(tree.is_leaf, tree.queues):
        for name, amount in tree.guaranteed(queue).items():
            promised[name] = promised.get(name, 0) + amount
    rest = {
        name: tree.capacity.get(name, 0) - promised.get(name, 0)
        for name in tree.shared
        if tree.capacity.get(name, 0) > promised.get(name, 0)
    }
    if rest:
        yield MadeObject(_quota(tree.own_name("left-over"), {"min": _written(rest)}), None)


def _written(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: format_amount(name, amount) for name, amount in amounts.items()}


def _quota(namespace: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "quota", "namespace": namespace},
        "spec": spec,
    }
