"""Reads label selectors, node affinity terms, taints and tolerations.

They are the same in every family, and Kubernetes refuses the same mistakes in all of them: a
condition with values that needs none, or without values that needs some.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from fairlead.manifest.text.cursor import REQUIRED, Cursor
from fairlead.manifest.text.fields import words
from fairlead.manifest.text.path import quote
from fairlead.model.selector import (
    Effect,
    LabelRequirement,
    LabelSelector,
    NodeTerm,
    Operator,
    PreferredNodes,
    Taint,
    Toleration,
)

_NODE_OPERATORS: Final[Mapping[str, Operator]] = words(Operator)
_LABEL_OPERATORS: Final[Mapping[str, Operator]] = words(
    Literal["In", "NotIn", "Exists", "DoesNotExist"]
)
_NAME_OPERATORS: Final[Mapping[str, Operator]] = words(Literal["In", "NotIn"])
_EFFECTS: Final[Mapping[str, Effect]] = words(Effect)
_ANY_OR_EFFECTS: Final[Mapping[str, Effect | None]] = {"": None, **_EFFECTS}
_NAME_FIELD = "metadata.name"
_MOST_WEIGHT: Final = 100


def read_label_selector(selector: Cursor) -> LabelSelector:
    """Read a LabelSelector at which *selector* stands; an empty one selects everything.

    The conditions are sorted, so that two ways of writing the same selector are equal.
    """
    plain = [
        LabelRequirement(key=key, operator="In", values=(value,))
        for key, value in selector.text_map("matchLabels").items()
    ]
    written = _requirements(selector, "matchExpressions", _LABEL_OPERATORS)
    return sorted_selector([*plain, *written])


def sorted_selector(conditions: Iterable[LabelRequirement]) -> LabelSelector:
    """Return the selector of *conditions*, each once, in an order of its own."""
    by_key = sorted(set(conditions), key=lambda one: (one.key, one.operator, one.values))
    return LabelSelector(requirements=tuple(by_key))


def read_node_terms(node_selector: Cursor) -> tuple[NodeTerm, ...]:
    """Read the alternatives of a required node affinity (a ``nodeSelectorTerms`` list).

    None of them at all selects no node, as in Kubernetes.
    """
    return tuple(map(_node_term, node_selector.items("nodeSelectorTerms")))


def read_preferred_nodes(affinity: Cursor, key: str) -> tuple[PreferredNodes, ...]:
    """Read the preferred terms of a node affinity at *key*; one without conditions has no effect.

    Kubernetes refuses a weight that is not from 1 to 100.
    """
    found = [
        PreferredNodes(
            weight=item.integer("weight", minimum=1, maximum=_MOST_WEIGHT),
            term=_node_term(item.mapping("preference")),
        )
        for item in affinity.items(key)
    ]
    return tuple([each for each in found if each.term.labels or each.term.names])


def _node_term(term: Cursor) -> NodeTerm:
    return NodeTerm(
        labels=tuple(_requirements(term, "matchExpressions", _NODE_OPERATORS)),
        names=tuple(_name_requirements(term)),
    )


def read_taints(parent: Cursor, key: str) -> tuple[Taint, ...]:
    """Read the list of taints at *key*."""
    taints = []
    for taint in parent.items(key):
        taint.ignore("timeAdded")
        taints.append(
            Taint(
                key=taint.text("key"),
                value=taint.text("value", ""),
                effect=taint.choice("effect", _EFFECTS),
            )
        )
    return tuple(taints)


def read_tolerations(parent: Cursor, key: str) -> tuple[Toleration, ...]:
    """Read the list of tolerations at *key*."""
    return tuple(_toleration(item) for item in parent.items(key))


def _toleration(item: Cursor) -> Toleration:
    item.ignore("tolerationSeconds")
    toleration = Toleration(
        key=item.text("key", ""),
        operator=item.choice(
            "operator", {"Equal": "Equal", "Exists": "Exists", "": "Equal"}, "Equal"
        ),
        value=item.text("value", ""),
        effect=item.choice("effect", _ANY_OR_EFFECTS, None),
    )
    if toleration.operator == "Exists" and toleration.value:
        item.error(
            "value",
            "contradiction",
            f"found the value {quote(toleration.value)}, expected none with operator Exists",
            "remove the value, or write operator: Equal",
        )
    elif toleration.operator == "Equal" and not toleration.key:
        item.error(
            "key",
            "missing-field",
            "found no key, expected one with operator Equal",
            "add the key of the taint, or write operator: Exists to tolerate every taint",
        )
    return toleration


def _requirements(
    parent: Cursor, key: str, operators: Mapping[str, Operator]
) -> list[LabelRequirement]:
    return [_requirement(item, operators) for item in parent.items(key)]


def _requirement(item: Cursor, operators: Mapping[str, Operator]) -> LabelRequirement:
    is_given = item.has("operator")
    operator = item.choice("operator", operators, None if is_given else REQUIRED)
    key, values = item.text("key"), item.texts("values")
    if not is_given or operator is None:  # reported, and the values have nothing to agree with
        return LabelRequirement(key=key, operator="In", values=values)
    requirement = LabelRequirement(key=key, operator=operator, values=values)
    if not item.is_refused("values"):
        _check_values(item, requirement)
    return requirement


def _check_values(item: Cursor, requirement: LabelRequirement) -> None:
    operator, values = requirement.operator, requirement.values
    match operator:
        case "Exists" | "DoesNotExist":
            if values:
                item.error(
                    "values",
                    "contradiction",
                    f"found {len(values)} values, expected none with operator {operator}",
                    "remove the values, or write operator: In or NotIn",
                )
        case "Gt" | "Lt":
            if len(values) != 1 or not _is_whole(values[0]):
                item.error(
                    "values",
                    "wrong-type",
                    f"found {_listed(values)}, expected one whole number with operator {operator}",
                    'write one whole number in quotes, such as ["3"]',
                )
        case _:
            if not values:
                item.error(
                    "values",
                    "missing-field",
                    f"found no values, expected at least one with operator {operator}",
                    "add values, or write operator: Exists or DoesNotExist",
                )


def _name_requirements(term: Cursor) -> list[LabelRequirement]:
    found = []
    for item in term.items("matchFields"):
        requirement = _requirement(item, _NAME_OPERATORS)
        if item.has("key") and requirement.key != _NAME_FIELD:
            item.error(
                "key",
                "bad-choice",
                f"found the field {quote(requirement.key)}, expected {_NAME_FIELD}",
                f"write key: {_NAME_FIELD}, the only field of a node that can be asked for",
            )
        found.append(requirement)
    return found


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    return digits.isascii() and digits.isdigit() and len(digits) <= 19


def _listed(values: tuple[str, ...]) -> str:
    return ", ".join(quote(value) for value in values[:3]) or "no values"
