"""What a cluster is asked to do for a decision."""

from typing import Literal, TypeAlias

import msgspec

from fairlead.model.axes import WorkloadName
from fairlead.model.device_share import DeviceShare
from fairlead.model.events import Placement
from fairlead.model.memory import Memory
from fairlead.model.plan import Evict, Move, Start
from fairlead.model.workload import PodId

Verb: TypeAlias = Literal["bind", "evict"]


class PromisedPlace(msgspec.Struct, frozen=True):
    """A place for the next pod of a workload that is of one pod set, whichever pod that is.

    Where evicted pods come back, they come under other names as other pods.
    """

    pod_set: str
    node: str | None
    share: DeviceShare | None = None


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done with some pods of a workload; each pod has one outcome.

    To bind pods is to give them the places in ``placements``; to evict them, to take those away.
    ``promised`` is where the next pods of the workload are to start instead.
    """

    number: int  # of all orders of an executor, in their order
    verb: Verb
    decision: Start | Evict | Move
    placements: tuple[Placement, ...]
    promised: tuple[PromisedPlace, ...] = ()
    memory_before: Memory | None = None  # what was remembered of the workload
    memory_after: Memory | None = None  # and is, because of the decision
    until_ms: int  # by when an outcome is expected

    @property
    def workload(self) -> WorkloadName:
        """The workload of the pods."""
        return self.decision.workload

    def pods(self) -> tuple[PodId, ...]:
        """Return the pods that it is about."""
        return tuple([each.pod for each in self.placements])
