"""A node of the cluster: what it has, where it is, which pods it accepts."""

import msgspec

from fairlead.model.axes import Amounts
from fairlead.model.selector import Taint


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that runs pods; amounts are on the state's resources."""

    name: str
    allocatable: Amounts
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    cordoned: bool = False
    gpu_memory_mib: int | None = None  # of one device; None: not known
