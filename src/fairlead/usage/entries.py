"""The entries of a usage journal: one for each change, none for the time in between.

A level holds from its entry on until the next one for the same holder. Amounts are whole base units
on fixed resources; resource-time is amount times milliseconds.
"""

from typing import TypeAlias

import msgspec

from fairlead.model.axes import Amounts, Limits, QueueName


class Held(msgspec.Struct, frozen=True, kw_only=True, tag="held"):
    """From now on *user* holds these amounts in a queue; "": the queue without a user."""

    at_ms: int
    queue: QueueName
    user: str = ""
    amounts: Amounts


class Capacity(msgspec.Struct, frozen=True, kw_only=True, tag="capacity"):
    """From now on the cluster has this capacity."""

    at_ms: int
    amounts: Amounts


class Guarantee(msgspec.Struct, frozen=True, kw_only=True, tag="guarantee"):
    """From now on a queue has this guarantee; None is no limit."""

    at_ms: int
    queue: QueueName
    amounts: Limits


class Granted(msgspec.Struct, frozen=True, kw_only=True, tag="granted"):
    """An administrator charged a queue with resource-time, or credited it (negative)."""

    at_ms: int
    queue: QueueName
    user: str = ""
    resource_time: tuple[int, ...]  # added to what it used; negative for a grant
    who: str
    reason: str


class Forgiven(msgspec.Struct, frozen=True, kw_only=True, tag="forgiven"):
    """An administrator reset the recorded usage of a queue, or (None) of all queues."""

    at_ms: int
    queue: QueueName | None
    who: str
    reason: str


class Renamed(msgspec.Struct, frozen=True, kw_only=True, tag="renamed"):
    """A queue was renamed, and keeps its usage."""

    at_ms: int
    queue: QueueName
    name: QueueName


class Removed(msgspec.Struct, frozen=True, kw_only=True, tag="removed"):
    """A queue was removed and holds nothing; its usage counts until it has decayed."""

    at_ms: int
    queue: QueueName


class Gap(msgspec.Struct, frozen=True, kw_only=True, tag="gap"):
    """Nothing is known between two moments: neither usage nor capacity counts there."""

    at_ms: int  # where it ends
    since_ms: int


Entry: TypeAlias = Held | Capacity | Guarantee | Granted | Forgiven | Renamed | Removed | Gap
