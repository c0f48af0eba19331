"""What is to be done on the API server for an order, and what became of it, as data.

Each act is about one pod, carries what must still be true when it is carried out, and ends in
exactly one outcome.
"""

from typing import Literal, TypeAlias

import msgspec

from fairlead.model.execution.executor import Order
from fairlead.model.workload import PodId


class PodName(msgspec.Struct, frozen=True):
    """Which pod is meant: another one may come to have its name, but never its uid."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Bind(msgspec.Struct, frozen=True, kw_only=True):
    """Bind a pod to a node, if it is still the same pod and has none."""

    order: Order
    pod: PodId
    target: PodName
    node: str
    is_cordoned: bool = False  # as the node was when that was decided


class Evict(msgspec.Struct, frozen=True, kw_only=True):
    """Evict a pod, if it is still in the version that the decision was about."""

    order: Order
    pod: PodId
    target: PodName
    resource_version: str


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """See what became of a pod of which no outcome, or no fact, has come."""

    order: Order
    pod: PodId
    target: PodName


Act: TypeAlias = Bind | Evict | Look

Result: TypeAlias = Literal["done", "overtaken", "refused"]
"""Done: the server did it, or the pod is as it was to be. Overtaken: it was not done, because
something else came first or it may not be begun any more; nothing speaks against another plan.
Refused: the server would not do it; the same is not to be tried again at once."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an act."""

    act: Act
    result: Result
    why: str = ""  # for people; "" if done
    retry_after_ms: int = 0  # how long the server wants not to be asked for it again
    is_on_any_node: bool = False  # a refused bind would be refused for every other node, too
