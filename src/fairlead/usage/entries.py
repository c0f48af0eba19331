"""What is written down about use: one entry for each change, none for the time in between.

A level holds from its entry on until the next one for the same holder. Amounts are whole base units
on fixed resources; resource-time is amount times milliseconds.
"""

from typing import TypeAlias

import msgspec

from fairlead.model.axes import Amounts, Limits, QueueName


class Held(msgspec.Struct, frozen=True, kw_only=True, tag="held"):
    """From now on *user* holds so much in a queue; "" is nobody in particular."""

    at_ms: int
    queue: QueueName
    user: str = ""
    amounts: Amounts


class Capacity(msgspec.Struct, frozen=True, kw_only=True, tag="capacity"):
    """From now on the cluster has so much."""

    at_ms: int
    amounts: Amounts


class Guarantee(msgspec.Struct, frozen=True, kw_only=True, tag="guarantee"):
    """From now on so much is guaranteed to a queue; None is everything there is."""

    at_ms: int
    queue: QueueName
    amounts: Limits


class Granted(msgspec.Struct, frozen=True, kw_only=True, tag="granted"):
    """An administrator changed what a queue is charged with, by resource-time; less is a gift."""

    at_ms: int
    queue: QueueName
    user: str = ""
    resource_time: tuple[int, ...]  # added to what it used; negative for a grant
    who: str
    reason: str


class Forgiven(msgspec.Struct, frozen=True, kw_only=True, tag="forgiven"):
    """An administrator let all past use of a queue, or (None) of everybody, be as if never."""

    at_ms: int
    queue: QueueName | None
    who: str
    reason: str


class Renamed(msgspec.Struct, frozen=True, kw_only=True, tag="renamed"):
    """A queue has another name from now on, and takes its past along."""

    at_ms: int
    queue: QueueName
    name: QueueName


class Removed(msgspec.Struct, frozen=True, kw_only=True, tag="removed"):
    """A queue is gone: it holds nothing any more. Its past counts until it fades."""

    at_ms: int
    queue: QueueName


class Gap(msgspec.Struct, frozen=True, kw_only=True, tag="gap"):
    """Nothing is known from one moment to another: neither use nor capacity counts there."""

    at_ms: int  # where it ends
    since_ms: int


Entry: TypeAlias = Held | Capacity | Guarantee | Granted | Forgiven | Renamed | Removed | Gap
