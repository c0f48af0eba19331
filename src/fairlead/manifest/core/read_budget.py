"""Reads a ``PodDisruptionBudget``: how many of which pods may be disturbed at present."""

from typing import Final

from fairlead.manifest.core.objects import BudgetObject
from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.core.read_selector import read_label_selector
from fairlead.manifest.text.cursor import Cursor
from fairlead.model.catalogue import DisruptionBudget

_IGNORED_SPEC: Final = ("maxUnavailable", "minAvailable", "unhealthyPodEvictionPolicy")
_IGNORED_STATUS: Final = (
    "conditions",
    "currentHealthy",
    "desiredHealthy",
    "expectedPods",
    "observedGeneration",
)


def read_budget(top: Cursor) -> BudgetObject | None:
    """Read a budget; None if it has no usable name or selects nothing.

    How much it allows is taken from its status, which a controller writes; without, it is 0.
    """
    top.ignore("apiVersion", "kind")
    metadata = read_metadata(top)
    spec, status = top.mapping("spec", required=True), top.mapping("status")
    spec.ignore(*_IGNORED_SPEC)
    status.ignore(*_IGNORED_STATUS)
    has_selector = spec.has("selector")
    selector = read_label_selector(spec.mapping("selector"))
    allowed = status.integer("disruptionsAllowed", None, minimum=0)
    disrupted_pods = tuple(sorted(status.text_map("disruptedPods")))
    if not has_selector:
        message = "found a budget without a selector, which protects no pod; it is left out"
        top.warn(("spec", "selector"), "no-effect", message, "add a selector")
    elif allowed is None:
        message = "found no count of allowed disruptions; taken as 0, so all its pods are protected"
        top.advise(("status", "disruptionsAllowed"), "missing-field", message, "add the status")
    top.finish()
    if not (metadata.name and has_selector):
        return None
    return BudgetObject(
        source=top.source,
        budget=DisruptionBudget(
            namespace=metadata.namespace,
            name=metadata.name,
            selector=selector,
            disruptions_allowed=allowed or 0,
            disrupted_pods=disrupted_pods,
        ),
    )
