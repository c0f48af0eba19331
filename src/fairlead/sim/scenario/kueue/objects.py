"""Inline queues as the objects of Kueue: a ClusterQueue for each leaf, a Cohort for the others.

Kueue lends only quota that some queue or cohort has. So capacity that no queue is guaranteed
becomes quota of a cohort above all others, from which every queue may borrow.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fairlead.model.quantity import format_amount
from fairlead.sim.scenario.form.scenario_form import QueueForm
from fairlead.sim.scenario.variant.objects import MadeObject
from fairlead.sim.scenario.variant.queue_tree import QueueTree

_API: Final = "kueue.x-k8s.io/v1beta2"
_FLAVOR: Final = "default"
_FAIR_SHARING: Final[dict[str, Any]] = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "fairSharing": {},
}


def kueue_objects(tree: QueueTree) -> Iterator[MadeObject]:
    """Yield the objects: one flavor, the cohorts, and the queues with a LocalQueue each."""
    top = tree.own_name("cluster")
    yield MadeObject(_object("ResourceFlavor", _FLAVOR, {}), None)
    yield MadeObject(_object("Cohort", top, _groups(_quotas(tree.left_over(), {}, {}))), None)
    for queue in tree.queues:
        origin, above = tree.path(queue), queue.parent or top
        if tree.is_leaf(queue):
            yield MadeObject(_cluster_queue(tree, queue, above), origin)
            local = _object("LocalQueue", queue.name, {"clusterQueue": queue.name})
            local["metadata"]["namespace"] = "default"
            yield MadeObject(local, origin)
        else:
            yield MadeObject(_cohort(tree, queue, above), origin)


def fair_sharing_object() -> MadeObject:
    """Return the configuration that turns fair sharing on."""
    return MadeObject(_FAIR_SHARING, ("spec", "queues"))


def _cluster_queue(tree: QueueTree, queue: QueueForm, above: str) -> dict[str, Any]:
    quotas = _quotas(
        tree.guaranteed(queue),
        _borrowed(tree.ceiling(queue), tree.guaranteed(queue)),
        queue.lend_limit or {},
    )
    # A resource without quotas must be covered all the same, or Kueue would admit no use of it.
    for resource, amount in tree.most.items():
        if resource not in tree.shared:
            quotas.append(_quota(resource, amount, None, 0))
    spec = {
        "cohortName": above,
        "namespaceSelector": {},
        "fairSharing": {"weight": queue.weight},
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        **_groups(quotas),
    }
    return _object("ClusterQueue", queue.name, spec)


def _cohort(tree: QueueTree, queue: QueueForm, above: str) -> dict[str, Any]:
    whole, below = tree.guaranteed(queue), tree.guaranteed_below(queue.name)
    own = {name: max(0, amount - below.get(name, 0)) for name, amount in whole.items()}
    known = {name: max(amount, below.get(name, 0)) for name, amount in whole.items()}
    quotas = _quotas(own, _borrowed(tree.ceiling(queue), known), queue.lend_limit or {})
    spec = {"parentName": above, "fairSharing": {"weight": queue.weight}, **_groups(quotas)}
    return _object("Cohort", queue.name, spec)


def _borrowed(ceiling: Mapping[str, int], guaranteed: Mapping[str, int]) -> dict[str, int]:
    return {name: max(0, most - guaranteed.get(name, 0)) for name, most in ceiling.items()}


def _quotas(
    guaranteed: Mapping[str, int], borrow: Mapping[str, int], lend: Mapping[str, int]
) -> list[dict[str, Any]]:
    return [
        _quota(resource, amount, borrow.get(resource), lend.get(resource))
        for resource, amount in guaranteed.items()
    ]


def _quota(resource: str, amount: int, borrow: int | None, lend: int | None) -> dict[str, Any]:
    quota = {"name": resource, "nominalQuota": format_amount(resource, amount)}
    if borrow is not None:
        quota["borrowingLimit"] = format_amount(resource, borrow)
    if lend is not None:
        quota["lendingLimit"] = format_amount(resource, lend)
    return quota


def _groups(quotas: list[dict[str, Any]]) -> dict[str, Any]:
    if not quotas:
        return {}
    flavor = {"name": _FLAVOR, "resources": quotas}
    covered = [quota["name"] for quota in quotas]
    return {"resourceGroups": [{"coveredResources": covered, "flavors": [flavor]}]}


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": name}, "spec": spec}
