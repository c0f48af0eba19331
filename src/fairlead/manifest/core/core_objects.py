"""Kubernetes' own objects of one input by name, each name once: the same for all rule sets."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

import msgspec

from fairlead.manifest.collection import Collection
from fairlead.manifest.core.tree_checks import Sourced, place, refuse_duplicates
from fairlead.manifest.finding import Findings
from fairlead.manifest.objects import (
    BudgetObject,
    NamespaceObject,
    NodeObject,
    PodObject,
    PriorityClassObject,
)
from fairlead.manifest.text.path import quote
from fairlead.model.workload import PodId

S = TypeVar("S", bound=Sourced)


class Namespaced(Protocol):
    """An object that has its name within a namespace."""

    @property
    def namespace(self) -> str:
        """Where it is."""

    @property
    def name(self) -> str:
        """What it is called there."""


class CoreObjects(msgspec.Struct, frozen=True, kw_only=True):
    """What every rule set reads, sorted by name, so that no order of files matters.

    Pods and budgets go by ``namespace/name``.
    """

    nodes: dict[str, NodeObject]
    pods: dict[str, PodObject]
    namespaces: dict[str, NamespaceObject]
    priority_classes: dict[str, PriorityClassObject]
    budgets: dict[str, BudgetObject]


def full_name(each: Namespaced) -> str:
    """Return ``namespace/name``."""
    return f"{each.namespace}/{each.name}"


def pod_id(pod: PodObject) -> PodId:
    """Return what a pod is known by for as long as it exists."""
    return PodId(pod.identity.uid or full_name(pod))


def by_name(
    found: Iterable[S], kind: str, name_of: Callable[[S], str], findings: Findings
) -> dict[str, S]:
    """Return the objects by name, sorted; a name twice is an error."""
    kept = refuse_duplicates(found, name_of, kind, findings)
    return dict(sorted((name_of(each), each) for each in kept))


def core_objects(objects: Collection, findings: Findings) -> CoreObjects:
    """Return Kubernetes' own objects among *objects*. A name or a pod's uid twice is an error."""
    pods = by_name(objects.of(PodObject), "Pod", full_name, findings)
    _refuse_shared_ids(pods.values(), findings)
    classes = [each for each in objects.of(PriorityClassObject) if not each.for_workloads]
    return CoreObjects(
        nodes=by_name(objects.of(NodeObject), "Node", lambda each: each.name, findings),
        pods=pods,
        namespaces=by_name(
            objects.of(NamespaceObject), "Namespace", lambda each: each.name, findings
        ),
        priority_classes=by_name(classes, "PriorityClass", lambda each: each.name, findings),
        budgets=by_name(
            objects.of(BudgetObject),
            "PodDisruptionBudget",
            lambda each: f"{each.budget.namespace}/{each.budget.name}",
            findings,
        ),
    )


def _refuse_shared_ids(pods: Iterable[PodObject], findings: Findings) -> None:
    firsts: dict[PodId, PodObject] = {}
    for pod in pods:
        first = firsts.setdefault(pod_id(pod), pod)
        if first is not pod:
            pod.source.report(
                findings,
                "error",
                "duplicate-object",
                ("metadata", "uid"),
                f"found the uid {quote(pod_id(pod))} a second time, expected another for each pod; "
                f"the first is at {place(first.source, ('metadata', 'uid'))}",
                "remove the uid of a pod that was copied",
            )
