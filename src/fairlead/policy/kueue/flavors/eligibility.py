"""Which flavors of a resource group the pods of a set could run on, and why not on the others.

A flavor stands for nodes with its labels and taints, so it is judged as such a node would be. Two
things differ. A flavor does not list all labels of its nodes, so a condition on a label that counts
for no flavor is left to placement. And pods that are given a flavor are given its tolerations too.

Quota is not looked at here, nor is the topology of a flavor.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from fairlead.model.catalogue import ResourceFlavor
from fairlead.model.node import Node
from fairlead.model.queue import ResourceGroup
from fairlead.model.selector import LabelRequirement, Taint
from fairlead.model.workload import PodConstraints
from fairlead.placement.node_filters import node_defect

CountedKeys: TypeAlias = Literal["group", "own"]
"""Which keys of labels count for a flavor: those of its group, or its own alone."""


class UnknownFlavor(msgspec.Struct, frozen=True, kw_only=True, tag="unknown-flavor"):
    """A queue has quota on a flavor that does not exist."""

    flavor: str


class UntoleratedTaint(msgspec.Struct, frozen=True, kw_only=True, tag="untolerated-taint"):
    """A taint of the flavor that neither the pods nor the flavor itself tolerate."""

    flavor: str
    taint: Taint


class UnmetLabels(msgspec.Struct, frozen=True, kw_only=True, tag="unmet-labels"):
    """Conditions of the pods of which at least one would have to hold for the flavor's labels.

    A node selector is one condition. Of a node affinity it is the first unmet one of each term.
    """

    flavor: str
    labels: tuple[tuple[str, str], ...]
    unmet: tuple[LabelRequirement, ...]


FlavorMismatch: TypeAlias = UnknownFlavor | UntoleratedTaint | UnmetLabels


class Eligibility(msgspec.Struct, frozen=True, kw_only=True):
    """On which flavors of a group pods could run, and why not on the others."""

    flavors: tuple[str, ...]
    mismatches: tuple[FlavorMismatch, ...]


def eligible_flavors(
    group: ResourceGroup,
    flavors: Mapping[str, ResourceFlavor],
    constraints: PodConstraints,
    *,
    counted_keys: CountedKeys = "group",
) -> Eligibility:
    """Return on which flavors of *group* pods with *constraints* could run.

    Only conditions on labels whose key counts are judged. A term of a node affinity that has none
    leaves every flavor open, and so does the whole affinity, since its terms are alternatives. Of
    several mismatches a taint is reported first, then the node selector, then the affinity.
    """
    known = [flavors[name] for name in group.flavors if name in flavors]
    keys_of_group = {key for flavor in known for key, _ in flavor.node_labels}
    eligible: list[str] = []
    mismatches: list[FlavorMismatch] = []
    for name in group.flavors:
        mismatch: FlavorMismatch | None = UnknownFlavor(flavor=name)
        if name in flavors:
            own_keys = dict(flavors[name].node_labels)
            keys = keys_of_group if counted_keys == "group" else own_keys
            mismatch = _mismatch(flavors[name], constraints, keys)
        if mismatch is None:
            eligible.append(name)
        else:
            mismatches.append(mismatch)
    return Eligibility(flavors=tuple(eligible), mismatches=tuple(mismatches))


def _mismatch(
    flavor: ResourceFlavor, constraints: PodConstraints, keys: Collection[str]
) -> FlavorMismatch | None:
    tolerant = PodConstraints(tolerations=constraints.tolerations + flavor.tolerations)
    for taint in flavor.node_taints:
        node = Node(name=flavor.name, allocatable=(), taints=(taint,))
        if node_defect(node, tolerant) is not None:
            return UntoleratedTaint(flavor=flavor.name, taint=taint)
    choices: list[list[tuple[LabelRequirement, ...]]] = [
        [(LabelRequirement(key=key, operator="In", values=(value,)),)]
        for key, value in constraints.node_selector
    ]
    choices.append([term.labels for term in constraints.node_terms or ()])
    for alternatives in choices:
        unmet = _first_unmet(flavor, alternatives, keys)
        if unmet:
            return UnmetLabels(flavor=flavor.name, labels=flavor.node_labels, unmet=unmet)
    return None


def _first_unmet(
    flavor: ResourceFlavor,
    alternatives: Sequence[Sequence[LabelRequirement]],
    keys: Collection[str],
) -> tuple[LabelRequirement, ...]:
    """Return the first unmet condition of each alternative; none if one of them is met."""
    labels = dict(flavor.node_labels)
    found: list[LabelRequirement] = []
    for conditions in alternatives:
        counted = [one for one in conditions if one.key in keys]
        unmet = next((one for one in counted if not one.matches(labels)), None)
        if unmet is None:
            return ()
        found.append(unmet)
    return tuple(found)


def flavor_mismatch_text(mismatch: FlavorMismatch) -> str:
    """Return in a few words why a flavor does not suit, for a reason."""
    match mismatch:
        case UnknownFlavor():
            return f"{mismatch.flavor} does not exist"
        case UntoleratedTaint():
            taint = mismatch.taint
            return f"{mismatch.flavor} has the taint {taint.key}={taint.value}:{taint.effect}"
        case UnmetLabels():
            return f"{mismatch.flavor} lacks {' or '.join(map(_condition, mismatch.unmet))}"


def _condition(condition: LabelRequirement) -> str:
    values = ", ".join(condition.values)
    match condition.operator:
        case "In" if len(condition.values) == 1:
            return f"{condition.key}={values}"
        case "In":
            return f"{condition.key} in ({values})"
        case "NotIn":
            return f"{condition.key} not in ({values})"
        case "Exists":
            return condition.key
        case "DoesNotExist":
            return f"no {condition.key}"
        case "Gt":
            return f"{condition.key} > {values}"
        case "Lt":
            return f"{condition.key} < {values}"
