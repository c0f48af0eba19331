"""How a KAI queue writes its amounts, so that a finding can quote them in the units of its object.

A ``Queue`` has cpu in millicores, memory in megabytes of 10^6 bytes and gpu in devices. What the
share simulator is sent has memory in bytes, and other names for the fields.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import msgspec

from fairlead.manifest.kai.objects import KaiQueueObject
from fairlead.manifest.text.fields import exact_decimal
from fairlead.manifest.text.path import Path
from fairlead.model.axes import Axis, QuotaAxes
from fairlead.model.quantity import scale_of

KAI_AXES: Final = ("cpu", "memory", "gpu")
GPU: Final = "nvidia.com/gpu"  # KAI shares no other vendor's devices
RESOURCE_OF: Final = {"cpu": "cpu", "memory": "memory", "gpu": GPU}


MIG: Final = "nvidia.com/mig-"  # a slice of a GPU
CLAIMED_GPUS: Final = "resourceclaims"  # of which no node says how many it has
_SLICE: Final = re.compile(r"nvidia\.com/mig-([1-9][0-9]?)g\.[0-9]+gb(?:[.+].*)?")


def mig_devices(resource: str) -> int | None:
    """Return for how many GPUs a slice counts: the number before ``g``; None: it has none.

    KAI charges that number as it is, so seven ``1g`` slices of one device count as seven GPUs.
    """
    found = _SLICE.fullmatch(resource)
    return None if found is None else int(found[1])


def kai_axes(resources: Sequence[str]) -> QuotaAxes:
    """Return the three axes of KAI; every vendor's GPU among *resources* counts as gpu.

    So do slices of GPUs, and GPUs that pods have by claims for devices. A slice whose name says no
    size is charged to no axis.
    """
    vendors = {resource: "gpu" for resource in resources if resource.endswith("/gpu")}
    slices = {each: devices for each in resources if (devices := mig_devices(each)) is not None}
    if CLAIMED_GPUS in resources:
        slices[CLAIMED_GPUS] = 1
    return QuotaAxes(
        [Axis(axis) for axis in KAI_AXES],
        counted_as=vendors | dict.fromkeys(slices, "gpu"),
        worth={each: devices * scale_of("gpu") for each, devices in slices.items()},
    )


class Notation(msgspec.Struct, frozen=True, kw_only=True):
    """Names of the fields and sizes of the units, in base units, of one way of writing."""

    resources: Path  # where the resources stand in the object
    guaranteed: str
    ceiling: str
    no_ceiling: str  # how to write that there is no limit
    base_units: dict[str, int]
    unit_names: dict[str, str]

    def amount(self, axis: str, amount: int) -> str:
        """Write base units as the object would, with the unit: ``1500 millicores``."""
        number = f"{exact_decimal(Fraction(amount, self.base_units[axis])):f}"
        return f"{number} {self.unit_names[axis]}".rstrip()


QUEUE: Final = Notation(
    resources=("spec", "resources"),
    guaranteed="quota",
    ceiling="limit",
    no_ceiling="-1: none; one that is left out is 0",
    base_units={"cpu": 1, "memory": 10**6, "gpu": 1000},
    unit_names={"cpu": "millicores", "memory": "megabytes", "gpu": ""},
)
SIMULATOR: Final = Notation(
    resources=("resourceShare",),
    guaranteed="deserved",
    ceiling="maxAllowed",
    no_ceiling="-1: none",
    base_units={"cpu": 1, "memory": 1, "gpu": 1000},
    unit_names={"cpu": "millicores", "memory": "bytes", "gpu": ""},
)


def notation_of(queue: KaiQueueObject) -> Notation:
    """Return how *queue* was written."""
    return QUEUE if queue.simulated is None else SIMULATOR
