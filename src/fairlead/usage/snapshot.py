"""A ledger as bytes, so that a start need not take every entry of the past again.

Offsets have hundreds of bits, more than a number in MessagePack may have: all those of one holder
are written together, by planes (`byte_planes`). Levels, and the moments at which buckets begin, are
the same again and again: each is written once, and told by its place after that.

What is read back was written by the same version with the same settings, and has not changed since:
anything else is refused, and the caller takes the entries themselves instead.
"""

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Generic, TypeAlias, TypeVar
from zlib import crc32

import msgspec

from fairlead.errors import UsageError
from fairlead.model.axes import QueueName
from fairlead.usage.account import AccountState
from fairlead.usage.entries import Gap, Granted
from fairlead.usage.lanes import Lanes
from fairlead.usage.ledger import Ledger, LedgerState
from fairlead.usage.running_sum import SumState
from fairlead.usage.settings import UsageRules

VERSION = 2
CHECK_BYTES = 4
LARGEST = 2**63  # numbers that are not smaller are written as bytes

Value = TypeVar("Value")
Number: TypeAlias = int | bytes


class _Head(msgspec.Struct, frozen=True, array_like=True):
    """What must fit before anything else is read."""

    version: int
    counts_by: str
    body: msgspec.Raw


class _Sum(msgspec.Struct, frozen=True, array_like=True):
    """One running sum; levels and the edges of buckets are told by their place."""

    at_ms: int
    mark: Number
    level: int
    edges: tuple[int, ...]
    old_levels: tuple[int, ...]
    offsets: tuple[bytes, ...]  # planes of the last one, then of the one for each edge


class _Grant(msgspec.Struct, frozen=True, array_like=True):
    at_ms: int
    queue: QueueName
    user: str
    resource_time: tuple[Number, ...]
    who: str
    reason: str


class _Account(msgspec.Struct, frozen=True, array_like=True):
    queue: QueueName
    sums: _Sum
    above: _Sum | None
    users: tuple[tuple[str, _Sum], ...]
    is_removed: bool
    held: tuple[tuple[str, tuple[Number, ...]], ...]
    guarantee: tuple[Number | None, ...]
    grants: tuple[_Grant, ...]


class _Body(msgspec.Struct, frozen=True, array_like=True):
    newest_ms: int | None
    base: int
    last_gap: Gap | None
    width: int
    edges_ms: tuple[int, ...]
    levels: tuple[Number, ...]
    capacity: _Sum | None
    accounts: tuple[_Account, ...]


def snapshot(ledger: Ledger) -> bytes:
    """All that *ledger* knows, to be `restored`. Cost: O(queues and users times buckets)."""
    state = ledger.state()
    written = _Written(Lanes(len(ledger.resources), state.width))
    capacity = None if state.capacity is None else written.sum(state.capacity)
    accounts = tuple(written.account(name, each) for name, each in state.accounts.items())
    body = _Body(
        newest_ms=state.newest_ms,
        base=state.base,
        last_gap=state.last_gap,
        width=state.width,
        edges_ms=tuple(written.edges_ms.values),
        levels=_numbers(written.levels.values),
        capacity=capacity,
        accounts=accounts,
    )
    raw = msgspec.Raw(msgspec.msgpack.encode(body))
    data = msgspec.msgpack.encode(_Head(VERSION, ledger.counts_by, raw))
    return crc32(data).to_bytes(CHECK_BYTES) + data


def restored(data: bytes, resources: tuple[str, ...], rules: UsageRules) -> Ledger:
    """The ledger of which *data* is the snapshot; it answers, and goes on, as that one would.

    Raises UsageError for data that is damaged, of another version, or of a ledger that counts
    otherwise than *resources* and *rules* say; `charge` and staleness are no part of a ledger.
    """
    ledger = Ledger.by(resources, rules)
    ledger.resume(_Read(_checked(data, ledger.counts_by), len(resources)).state())
    return ledger


def _checked(data: bytes, counts_by: str) -> _Body:
    check, rest = data[:CHECK_BYTES], data[CHECK_BYTES:]
    if check != crc32(rest).to_bytes(CHECK_BYTES):
        raise UsageError("a snapshot of use is damaged; it must be made again from the entries")
    try:
        head = msgspec.msgpack.decode(rest, type=_Head)
        if head.version != VERSION:
            raise UsageError(
                f"a snapshot of use is of version {head.version}; this program reads {VERSION}"
            )
        if head.counts_by != counts_by:
            raise UsageError(f"a snapshot of use is of {head.counts_by}, not of {counts_by}")
        return msgspec.msgpack.decode(head.body, type=_Body)
    except msgspec.DecodeError as problem:
        raise UsageError(f"this is no snapshot of use: {problem}") from problem


class _Places(Generic[Value]):
    """Values that are written once, and the place of each."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._places: dict[Value, int] = {}

    def of(self, value: Value) -> int:
        place = self._places.setdefault(value, len(self.values))
        if place == len(self.values):
            self.values.append(value)
        return place


class _Written:
    """Turns states into what is written, and collects edges and levels on the way."""

    def __init__(self, lanes: Lanes) -> None:
        self.edges_ms: _Places[int] = _Places()
        self.levels: _Places[int] = _Places()
        self._lanes = lanes

    def account(self, queue: QueueName, state: AccountState) -> _Account:
        return _Account(
            queue=queue,
            sums=self.sum(state.sums),
            above=None if state.above is None else self.sum(state.above),
            users=tuple((user, self.sum(sums)) for user, sums in state.users.items()),
            is_removed=state.is_removed,
            held=tuple((user, _numbers(amounts)) for user, amounts in state.held.items()),
            guarantee=tuple(None if each is None else _number(each) for each in state.guarantee),
            grants=tuple(map(_grant, sorted(state.grants, key=msgspec.structs.astuple))),
        )

    def sum(self, state: SumState) -> _Sum:
        offsets = self._lanes.to_bytes([state.offset, *state.old_offsets])
        return _Sum(
            at_ms=state.at_ms,
            mark=_number(state.mark),
            level=self.levels.of(state.levels),
            edges=tuple(map(self.edges_ms.of, state.edges_ms)),
            old_levels=tuple(map(self.levels.of, state.old_levels)),
            offsets=tuple(planes_of(offsets, self._lanes.width // 8)),
        )


class _Read:
    """Turns what was written into states."""

    def __init__(self, body: _Body, count: int) -> None:
        self._body = body
        self._lanes = Lanes(count, body.width)
        self._levels = _wholes(body.levels)

    def state(self) -> LedgerState:
        body = self._body
        return LedgerState(
            newest_ms=body.newest_ms,
            base=body.base,
            width=body.width,
            last_gap=body.last_gap,
            capacity=None if body.capacity is None else self._sum(body.capacity),
            accounts={each.queue: self._account(each) for each in body.accounts},
        )

    def _account(self, written: _Account) -> AccountState:
        return AccountState(
            sums=self._sum(written.sums),
            above=None if written.above is None else self._sum(written.above),
            users={user: self._sum(sums) for user, sums in written.users},
            is_removed=written.is_removed,
            held={user: _wholes(amounts) for user, amounts in written.held},
            guarantee=tuple(None if each is None else _whole(each) for each in written.guarantee),
            grants=frozenset(map(_granted, written.grants)),
        )

    def _sum(self, written: _Sum) -> SumState:
        data = of_planes(written.offsets, self._lanes.width // 8)
        offset, *old_offsets = self._lanes.from_bytes(data)
        return SumState(
            at_ms=written.at_ms,
            mark=_whole(written.mark),
            offset=offset,
            levels=self._levels[written.level],
            edges_ms=[self._body.edges_ms[place] for place in written.edges],
            old_offsets=old_offsets,
            old_levels=[self._levels[place] for place in written.old_levels],
        )


def _grant(grant: Granted) -> _Grant:
    return _Grant(
        at_ms=grant.at_ms,
        queue=grant.queue,
        user=grant.user,
        resource_time=_numbers(grant.resource_time),
        who=grant.who,
        reason=grant.reason,
    )


def _granted(written: _Grant) -> Granted:
    return Granted(
        at_ms=written.at_ms,
        queue=written.queue,
        user=written.user,
        resource_time=_wholes(written.resource_time),
        who=written.who,
        reason=written.reason,
    )


def _numbers(values: Sequence[int]) -> tuple[Number, ...]:
    return tuple(map(_number, values))


def _wholes(written: Sequence[Number]) -> tuple[int, ...]:
    return tuple(map(_whole, written))


def _number(value: int) -> Number:
    if -LARGEST <= value < LARGEST:
        return value
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _whole(written: Number) -> int:
    return written if isinstance(written, int) else int.from_bytes(written, "big", signed=True)


def planes_of(data: bytes, width: int) -> list[bytes]:
    """The planes of numbers of *width* bytes each, lowest byte first; equal last ones are one."""
    planes = [data[place::width] for place in range(width)]
    while len(planes) > 1 and planes[-1] == planes[-2]:
        planes.pop()
    return planes


def of_planes(planes: Sequence[bytes], width: int) -> bytearray:
    """The data of which these are the *planes*."""
    data = bytearray(len(planes[0]) * width)
    for place, plane in enumerate(chain(planes, repeat(planes[-1], width - len(planes)))):
        data[place::width] = plane
    return data
