"""Reads a recorded case of capacity scheduling into amounts, for the plain rule of the tests."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from fairlead.model.quantity import parse_quantity
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings

Json: TypeAlias = Mapping[str, Any]
Amounts: TypeAlias = dict[str, int]

CORE = frozenset({"cpu", "memory", "ephemeral-storage"})


class PlainPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, with what its quota and its node are charged; a name asked with 0 is kept."""

    name: str
    namespace: str
    priority: int
    quota_charge: Amounts
    node_charge: Amounts
    node: str | None  # where it is, or where it is nominated to
    start: int | None  # None: it counts as started now
    labels: dict[str, str]
    is_leaving: bool
    never_preempts: bool

    @property
    def full_name(self) -> str:
        """The namespace and the name, as the answers call a pod."""
        return f"{self.namespace}/{self.name}"


class PlainQuota(msgspec.Struct, frozen=True, kw_only=True):
    """A quota; a max of None does not limit anything."""

    min: Amounts
    max: Amounts | None
    used_fixed: Amounts | None


class PlainBudget(msgspec.Struct, frozen=True, kw_only=True):
    """A disruption budget."""

    namespace: str
    selector: dict[str, str]
    allowed: int
    disrupted: frozenset[str]  # names of pods


class PlainCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case, and the settings under which it is answered."""

    nodes: dict[str, Amounts]
    quotas: dict[str, PlainQuota]
    pods: tuple[PlainPod, ...]
    nominated: tuple[PlainPod, ...]
    budgets: tuple[PlainBudget, ...]
    incoming: PlainPod
    settings: ElasticQuotaSettings


def read_case(case: Json, settings: ElasticQuotaSettings) -> PlainCase:
    """Return what a case tells, apart from its answer."""
    own_charge = settings.quirks.own_charge
    incoming = case["incoming"]
    return PlainCase(
        nodes={node["name"]: _amounts(node["allocatable"]) for node in case["nodes"]},
        quotas={quota["namespace"]: _quota(quota) for quota in case["quotas"]},
        pods=tuple(_pod(pod, pod["node"], own_charge) for pod in case["pods"]),
        nominated=tuple(_pod(pod, pod["nominatedNode"], own_charge) for pod in case["nominated"]),
        budgets=tuple(_budget(budget) for budget in case["pdbs"]),
        incoming=_pod(incoming, incoming.get("nominatedNode"), own_charge),
        settings=settings,
    )


def total(parts: Iterable[Amounts]) -> Amounts:
    """Return the sum, resource by resource; a name is kept even at 0."""
    result: Amounts = {}
    for part in parts:
        for resource, amount in part.items():
            result[resource] = result.get(resource, 0) + amount
    return result


def highest(first: Amounts, second: Amounts) -> Amounts:
    """Return the larger amount of each resource."""
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}


def without_zeros(amounts: Amounts) -> Amounts:
    """Return the amounts as the answers write them."""
    return {resource: amount for resource, amount in amounts.items() if amount}


def _quota(quota: Json) -> PlainQuota:
    return PlainQuota(
        min=_amounts(quota.get("min") or {}),
        max=None if quota.get("max") is None else _amounts(quota["max"]),
        used_fixed=_amounts(quota["usedFixed"]) if "usedFixed" in quota else None,
    )


def _budget(budget: Json) -> PlainBudget:
    return PlainBudget(
        namespace=budget["namespace"],
        selector=dict(budget.get("selector") or {}),
        allowed=budget["disruptionsAllowed"],
        disrupted=frozenset(budget.get("disruptedPods") or ()),
    )


def _pod(pod: Json, node: str | None, own_charge: bool) -> PlainPod:
    node_charge = _node_charge(pod)
    return PlainPod(
        name=pod["name"],
        namespace=pod["namespace"],
        priority=pod["priority"],
        quota_charge=_sidecars_as_init(pod) if own_charge else node_charge,
        node_charge=node_charge,
        node=node,
        start=pod.get("startTime"),
        labels=dict(pod.get("labels") or {}),
        is_leaving=bool(pod.get("terminating")),
        never_preempts=pod.get("preemptionPolicy") == "Never",
    )


def _containers(pod: Json) -> Amounts:
    listed = pod.get("containers") or [{"requests": pod.get("requests") or {}}]
    return total(_amounts(container["requests"]) for container in listed)


def _sidecars_as_init(pod: Json) -> Amounts:
    charge = _containers(pod)
    for container in pod.get("initContainers") or ():
        charge = highest(charge, _amounts(container["requests"]))
    return total([charge, _amounts(pod.get("overhead") or {})])


def _node_charge(pod: Json) -> Amounts:
    """Sidecars stay: beside the containers, and beside the init containers that come later."""
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.get("initContainers") or ():
        requests = _amounts(container["requests"])
        running = total([sidecars, requests])
        peak = highest(peak, running)
        if container.get("sidecar"):
            sidecars = running
    charge = highest(total([_containers(pod), sidecars]), peak)
    return total([charge, _amounts(pod.get("overhead") or {})])


def _amounts(quantities: Mapping[str, str]) -> Amounts:
    return {
        resource: _whole(resource, text)
        for resource, text in quantities.items()
        if _is_counted(resource)
    }


def _is_counted(resource: str) -> bool:
    """Whether a resource counts; ``pods`` does on nodes, and nobody asks for it."""
    volumes = ("hugepages-", "attachable-volumes-")
    return resource in CORE | {"pods"} or "/" in resource or resource.startswith(volumes)


def _whole(resource: str, text: str) -> int:
    value = parse_quantity(text) * (1000 if resource == "cpu" else 1)
    return -(-value.numerator // value.denominator)
