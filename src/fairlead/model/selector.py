"""Label selectors, terms on nodes and pods, taints and tolerations, as Kubernetes defines them."""

from collections.abc import Mapping
from typing import Literal

import msgspec

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class LabelRequirement(msgspec.Struct, frozen=True, kw_only=True):
    """One condition on the labels of a thing."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether *labels* meet the condition; a number that is none meets no order."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._in_order(value)

    def _in_order(self, value: str | None) -> bool:
        try:
            found, bound = int(value or ""), int(self.values[0])
        except (ValueError, IndexError):
            return False
        return found > bound if self.operator == "Gt" else found < bound


class LabelSelector(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that must all hold; none at all selects everything."""

    requirements: tuple[LabelRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether *labels* meet every condition."""
        return all(requirement.matches(labels) for requirement in self.requirements)


class NodeTerm(msgspec.Struct, frozen=True, kw_only=True):
    """One alternative of a required node affinity: conditions on labels and on the name."""

    labels: tuple[LabelRequirement, ...] = ()
    names: tuple[LabelRequirement, ...] = ()  # on metadata.name, the only field there is

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether a node meets all conditions; an empty term selects no node."""
        if not self.labels and not self.names:
            return False
        own_name = {"metadata.name": name}
        return all(one.matches(labels) for one in self.labels) and all(
            one.matches(own_name) for one in self.names
        )


class PreferredNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that a pod prefers, with a weight among its preferences."""

    weight: int  # from 1 to 100
    term: NodeTerm


class PodTerm(msgspec.Struct, frozen=True, kw_only=True):
    """Pods to be near, or not near: those that a selector finds in some namespaces.

    Near is what has the same value of the node label ``topology_key``. A term knows its namespaces
    in full: where a manifest names none, its reader puts in the pod's own.
    """

    topology_key: str
    selector: LabelSelector | None  # None selects nothing, an empty one everything
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None  # adds the namespaces with such labels

    def matches(
        self, namespace: str, namespace_labels: Mapping[str, str], labels: Mapping[str, str]
    ) -> bool:
        """Return whether the term means a pod with *labels* in *namespace*, wherever it runs."""
        if self.selector is None or not self.selector.matches(labels):
            return False
        if namespace in self.namespaces:
            return True
        others = self.namespace_selector
        return others is not None and others.matches(namespace_labels)


class PodSpread(msgspec.Struct, frozen=True, kw_only=True):
    """A topology spread constraint: matching pods are to be spread over the values of a node label.

    It counts pods of the pod's own namespace.
    """

    topology_key: str
    max_skew: int
    selector: LabelSelector | None  # None selects nothing, and so does an empty one
    min_domains: int = 1
    honors_affinity: bool = True  # whether nodes that node affinity rules out are left out
    honors_taints: bool = False  # the same for nodes with taints that the pod does not tolerate

    def counts(self, labels: Mapping[str, str]) -> bool:
        """Return whether a pod with *labels* in the pod's namespace is counted."""
        selector = self.selector
        return selector is not None and bool(selector.requirements) and selector.matches(labels)


class Taint(msgspec.Struct, frozen=True, kw_only=True):
    """A mark on a node that keeps pods off unless they tolerate it."""

    key: str
    value: str = ""
    effect: Effect


class Toleration(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's consent to a taint; no key and ``Exists`` tolerates every taint."""

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: Effect | None = None  # None: every effect

    def tolerates(self, taint: Taint) -> bool:
        """Return whether this consent covers *taint*."""
        if self.effect is not None and self.effect != taint.effect:
            return False
        if self.key == "":
            return self.operator == "Exists"
        return self.key == taint.key and (self.operator == "Exists" or self.value == taint.value)
