"""A ledger as bytes, so that a start need not take every entry of the past again.

Weighted sums have about 150 bits, more than a number in MessagePack may have: all sums of one
holder are laid end to end, each as wide as the widest. Levels, and the moments at which buckets
begin, are the same again and again: each is written once, and told by its place after that.

What is read back was written by the same version with the same settings, and has not changed since:
anything else is refused, and the caller takes the entries themselves instead.
"""

from collections.abc import Sequence
from itertools import chain
from struct import unpack
from typing import Generic, TypeAlias, TypeVar
from zlib import crc32

import msgspec

from fairlead.errors import UsageError
from fairlead.model.axes import Amounts, QueueName
from fairlead.usage.account import AccountState
from fairlead.usage.entries import Gap, Granted
from fairlead.usage.ledger import Ledger, LedgerState
from fairlead.usage.running_sum import SumState
from fairlead.usage.settings import UsageRules

VERSION = 1
CHECK_BYTES = 4
LARGEST = 2**63  # numbers that are not smaller are written as bytes

Value = TypeVar("Value")
Number: TypeAlias = int | bytes
Instant: TypeAlias = tuple[int, int]  # milliseconds, and their mark on the timeline


class _Head(msgspec.Struct, frozen=True, array_like=True):
    """What must fit before anything else is read."""

    version: int
    counts_by: str
    body: msgspec.Raw


class _Sum(msgspec.Struct, frozen=True, array_like=True):
    """One running sum; instants and levels are told by their place."""

    instant: int  # of the last change
    level: int
    start_instants: tuple[int, ...]
    start_levels: tuple[int, ...]
    width: int  # of one sum, in bytes
    sums: bytes  # the last ones, then those at the beginning of each bucket


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
    users: tuple[tuple[str, _Sum], ...]
    is_removed: bool
    held: tuple[tuple[str, tuple[Number, ...]], ...]
    guarantee: tuple[Number | None, ...]
    grants: tuple[_Grant, ...]


class _Body(msgspec.Struct, frozen=True, array_like=True):
    newest_ms: int | None
    base: int
    last_gap: Gap | None
    instants: tuple[tuple[int, Number], ...]
    levels: tuple[tuple[Number, ...], ...]
    capacity: _Sum | None
    accounts: tuple[_Account, ...]


def snapshot(ledger: Ledger) -> bytes:
    """All that *ledger* knows, to be `restored`. Cost: O(queues and users times buckets)."""
    state = ledger.state()
    written = _Written()
    capacity = None if state.capacity is None else written.sum(state.capacity)
    accounts = tuple(written.account(name, each) for name, each in state.accounts.items())
    body = _Body(
        newest_ms=state.newest_ms,
        base=state.base,
        last_gap=state.last_gap,
        instants=tuple((at_ms, _number(mark)) for at_ms, mark in written.instants.values),
        levels=tuple(map(_numbers, written.levels.values)),
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
    ledger.resume(_Read(_checked(data, ledger.counts_by)).state())
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
    """Turns states into what is written, and collects instants and levels on the way."""

    def __init__(self) -> None:
        self.instants: _Places[Instant] = _Places()
        self.levels: _Places[Amounts] = _Places()

    def account(self, queue: QueueName, state: AccountState) -> _Account:
        return _Account(
            queue=queue,
            sums=self.sum(state.sums),
            users=tuple((user, self.sum(sums)) for user, sums in state.users.items()),
            is_removed=state.is_removed,
            held=tuple((user, _numbers(amounts)) for user, amounts in state.held.items()),
            guarantee=tuple(None if each is None else _number(each) for each in state.guarantee),
            grants=tuple(map(_grant, sorted(state.grants, key=msgspec.structs.astuple))),
        )

    def sum(self, state: SumState) -> _Sum:
        marks, start_sums, start_levels = zip(*state.starts, strict=True)
        sums = [*state.sums, *chain.from_iterable(start_sums)]
        widest = max(sums, key=abs, default=0)
        width = widest.bit_length() // 8 + 1  # one bit is the sign
        return _Sum(
            instant=self.instants.of((state.at_ms, state.mark)),
            level=self.levels.of(state.levels),
            start_instants=tuple(map(self.instants.of, zip(state.edges_ms, marks, strict=True))),
            start_levels=tuple(map(self.levels.of, start_levels)),
            width=width,
            sums=b"".join([each.to_bytes(width, "big", signed=True) for each in sums]),
        )


class _Read:
    """Turns what was written into states."""

    def __init__(self, body: _Body) -> None:
        self._body = body
        self._instants = [(at_ms, _whole(mark)) for at_ms, mark in body.instants]
        self._levels = [_wholes(levels) for levels in body.levels]

    def state(self) -> LedgerState:
        body = self._body
        return LedgerState(
            newest_ms=body.newest_ms,
            base=body.base,
            last_gap=body.last_gap,
            capacity=None if body.capacity is None else self._sum(body.capacity),
            accounts={each.queue: self._account(each) for each in body.accounts},
        )

    def _account(self, written: _Account) -> AccountState:
        return AccountState(
            sums=self._sum(written.sums),
            users={user: self._sum(sums) for user, sums in written.users},
            is_removed=written.is_removed,
            held={user: _wholes(amounts) for user, amounts in written.held},
            guarantee=tuple(None if each is None else _whole(each) for each in written.guarantee),
            grants=frozenset(map(_granted, written.grants)),
        )

    def _sum(self, written: _Sum) -> SumState:
        at_ms, mark = self._instants[written.instant]
        levels = self._levels[written.level]
        instants = [self._instants[place] for place in written.start_instants]
        start_levels = [self._levels[place] for place in written.start_levels]
        last, *rows = _rows(written, len(levels))
        starts = [
            (start_mark, sums, before)
            for (_, start_mark), sums, before in zip(instants, rows, start_levels, strict=True)
        ]
        return SumState(at_ms, mark, levels, last, [edge_ms for edge_ms, _ in instants], starts)


def _rows(written: _Sum, count: int) -> list[tuple[int, ...]]:
    """The sums, *count* to a row: the last ones, then those at the beginning of each bucket."""
    # Most of the time of a restore is spent here, on close to a million numbers.
    whole = int.from_bytes
    rows = 1 + len(written.start_instants)
    cells = unpack(f"{written.width}s" * (rows * count), written.sums)
    numbers = tuple([whole(cell, "big", signed=True) for cell in cells])
    return [numbers[row * count : (row + 1) * count] for row in range(rows)]


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
