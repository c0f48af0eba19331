"""The three axes on which KAI's queues have quota, and the resources that stand for them."""

from collections.abc import Sequence
from typing import Final

from fairlead.model.axes import Axis, QuotaAxes

KAI_AXES: Final = ("cpu", "memory", "gpu")
GPU: Final = "nvidia.com/gpu"  # KAI shares no other vendor's devices
RESOURCE_OF: Final = {"cpu": "cpu", "memory": "memory", "gpu": GPU}


def kai_axes(resources: Sequence[str]) -> QuotaAxes:
    """Return the three axes of KAI; every vendor's GPU among *resources* counts as gpu."""
    vendors = {resource: "gpu" for resource in resources if resource.endswith("/gpu")}
    return QuotaAxes([Axis(axis) for axis in KAI_AXES], counted_as=vendors)
