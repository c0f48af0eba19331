"""Amounts of extended resources: what a device plugin or an administrator adds to nodes.

Kubernetes has these in whole numbers only, in what nodes have and in what pods ask for. Quotas may
be finer.
"""

from typing import Final

from fairlead.manifest.text.fields import FieldError, quantity_of
from fairlead.manifest.text.values import Value, describe

_OF_KUBERNETES: Final = "kubernetes.io/"


def refuse_part(resource: str, value: Value) -> None:
    """Refuse an amount of *resource* that Kubernetes would refuse: a part of an extended one."""
    if "/" not in resource or _OF_KUBERNETES in resource or quantity_of(value).denominator == 1:
        return
    fix = "write a whole number"
    if resource.endswith("/gpu"):
        fix += "; a part of a GPU is asked for with the annotation gpu-fraction of a pod"
    message = f"found {describe(value)}, expected a whole number: Kubernetes divides no {resource}"
    raise FieldError("bad-quantity", message, fix)
