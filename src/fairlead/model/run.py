"""What of a workload has a place."""

import msgspec

from fairlead.model.axes import Amounts
from fairlead.model.workload import PodId


class Placed(msgspec.Struct, frozen=True):
    """Where a pod runs and since when; leaving: told to stop, and still holding its node."""

    node: str | None
    started_ms: int
    leaving: bool = False


class Run(msgspec.Struct, kw_only=True):
    """The placed pods of a workload. ``charges`` is what one pod of each set costs its queue."""

    pods: dict[PodId, Placed]
    charges: tuple[Amounts, ...]
    flavors: tuple[dict[str, str], ...]  # per pod set, from resource to flavor

    def started_ms(self) -> int:
        """Return when the first of the pods that run now started."""
        return min(placed.started_ms for placed in self.pods.values())
