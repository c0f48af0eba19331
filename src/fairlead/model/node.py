"""A node of the cluster: what it has, where it is, whom it lets in."""

import msgspec

from fairlead.model.axes import Amounts
from fairlead.model.foreign_pod import ForeignPod
from fairlead.model.selector import Taint


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that runs pods; amounts are on the state's resources.

    ``occupied`` is what pods that are not ours to schedule hold there; ``foreign`` are those of
    them that matter otherwise too, mostly none.
    """

    name: str
    allocatable: Amounts
    occupied: Amounts
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    cordoned: bool = False
    gpu_memory_mib: int | None = None  # of one device; None: not known
    foreign: tuple[ForeignPod, ...] = ()

    def offered(self) -> Amounts:
        """Return what the node adds to the cluster: nothing while it is not ready."""
        if not self.ready:
            return (0,) * len(self.allocatable)
        return tuple(a - o for a, o in zip(self.allocatable, self.occupied, strict=True))
