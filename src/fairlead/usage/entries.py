"""The entries of a usage journal: one for each change, none for the time in between.

A level holds from its entry on until the next one for the same holder. Amounts are whole base units
on fixed resources; resource-time is amount times milliseconds.
"""

from typing import TypeAlias

import msgspec

from fairlead.model.axes import Amounts, Limits, QueueName


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Holds from *at_ms* on, a time in milliseconds."""

    at_ms: int


class Held(_Entry, frozen=True, kw_only=True, tag="held"):
    """From now on *user* holds these amounts in a queue; "": the queue without a user."""

    queue: QueueName
    user: str = ""
    amounts: Amounts


class Capacity(_Entry, frozen=True, kw_only=True, tag="capacity"):
    """From now on the cluster has this capacity."""

    amounts: Amounts


class Guarantee(_Entry, frozen=True, kw_only=True, tag="guarantee"):
    """From now on a queue has this guarantee; None is no limit."""

    queue: QueueName
    amounts: Limits


class Granted(_Entry, frozen=True, kw_only=True, tag="granted"):
    """An administrator charged a queue with resource-time, or credited it (negative)."""

    queue: QueueName
    user: str = ""
    resource_time: tuple[int, ...]  # added to what it used; negative for a grant
    who: str
    reason: str


class Forgiven(_Entry, frozen=True, kw_only=True, tag="forgiven"):
    """An administrator reset the recorded usage of a queue, or (None) of all queues."""

    queue: QueueName | None
    who: str
    reason: str


class Renamed(_Entry, frozen=True, kw_only=True, tag="renamed"):
    """A queue was renamed, and keeps its usage."""

    queue: QueueName
    name: QueueName


class Removed(_Entry, frozen=True, kw_only=True, tag="removed"):
    """A queue was removed and holds nothing; its usage counts until it has decayed."""

    queue: QueueName


class Gap(_Entry, frozen=True, kw_only=True, tag="gap"):
    """Nothing is known since *since_ms*: neither usage nor capacity counts there."""

    since_ms: int


Entry: TypeAlias = Held | Capacity | Guarantee | Granted | Forgiven | Renamed | Removed | Gap
