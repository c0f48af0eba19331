"""Reads required pod affinity and anti-affinity, each term complete in itself.

What a term leaves open is filled in from its pod, as Kubernetes does: without namespaces it means
the pod's own, and the labels that it only names are to be like the pod's, or unlike them.
"""

from collections.abc import Mapping
from typing import Final, Literal

from fairlead.manifest.core.read_selector import read_label_selector, sorted_selector
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import quote
from fairlead.model.selector import LabelRequirement, LabelSelector, PodTerm

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_LIKE: Final = "matchLabelKeys"
_UNLIKE: Final = "mismatchLabelKeys"


def read_pod_terms(
    affinity: Cursor,
    kind: Literal["podAffinity", "podAntiAffinity"],
    *,
    namespace: str,
    labels: Mapping[str, str],
) -> tuple[PodTerm, ...]:
    """Read the required terms at *kind* of a pod with *labels* in *namespace*.

    Preferred ones are passed over.
    """
    rules = affinity.mapping(kind)
    rules.ignore(_PREFERRED)
    return tuple(_pod_term(term, namespace, labels) for term in rules.items(_REQUIRED))


def _pod_term(term: Cursor, namespace: str, labels: Mapping[str, str]) -> PodTerm:
    has_others = term.has("namespaceSelector")
    others = read_label_selector(term.mapping("namespaceSelector"))
    listed = tuple(sorted(set(term.texts("namespaces"))))
    return PodTerm(
        topology_key=term.text("topologyKey"),
        selector=_selector(term, labels),
        namespaces=listed if listed or has_others else (namespace,),
        namespace_selector=others if has_others else None,
    )


def _selector(term: Cursor, labels: Mapping[str, str]) -> LabelSelector | None:
    is_given = term.has("labelSelector")
    written = read_label_selector(term.mapping("labelSelector"))
    like, unlike = term.texts(_LIKE), term.texts(_UNLIKE)
    if not is_given:
        for field, keys in ((_LIKE, like), (_UNLIKE, unlike)):
            if keys:
                message = f"found {field} without a labelSelector, which selects no pod"
                term.error(field, "contradiction", message, "add the labelSelector")
        return None
    for key in sorted({*like} & {*unlike}):
        message = f"found {quote(key)} both here and in {_LIKE}, which no pod can meet"
        term.error(_UNLIKE, "contradiction", message, "remove it from one of the two")
    return sorted_selector(
        [
            *written.requirements,
            # The API server adds these itself, so a pod read from it has them already.
            *(_requirement(key, "In", labels) for key in like if key in labels),
            *(_requirement(key, "NotIn", labels) for key in unlike if key in labels),
        ]
    )


def _requirement(
    key: str, operator: Literal["In", "NotIn"], labels: Mapping[str, str]
) -> LabelRequirement:
    return LabelRequirement(key=key, operator=operator, values=(labels[key],))
