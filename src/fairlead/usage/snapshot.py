"""A ledger as bytes, so that a start need not take every entry of the past again.

Sums have hundreds of bits, more than a number in MessagePack may have, so all numbers of a running
sum are written as one block of bytes. Most of those bytes repeat, and compression removes them.

What is read back was written by the same version with the same settings. Anything else is refused,
and the caller takes the entries themselves instead.
"""

import zlib
from typing import Final

import msgspec

from fairlead.errors import UsageError
from fairlead.model.axes import QueueName
from fairlead.usage.account import Account
from fairlead.usage.entries import Gap, Granted
from fairlead.usage.lanes import Lanes
from fairlead.usage.ledger import Ledger, LedgerState
from fairlead.usage.running_sum import RunningSum, SumState
from fairlead.usage.settings import UsageRules

VERSION: Final = 6
_LEVEL: Final = 1  # of compression: three times as fast as the default, and a tenth larger


class _Sum(msgspec.Struct, frozen=True, array_like=True):
    """One running sum."""

    at_ms: int
    edges_ms: tuple[int, ...]
    now: bytes  # the mark, the levels and the offset
    old_lines: bytes


class _Account(msgspec.Struct, frozen=True, array_like=True):
    sums: _Sum
    above: _Sum | None
    users: dict[str, _Sum]
    is_removed: bool
    held: bytes  # JSON, as all amounts that may be longer than 64 bits
    guarantee: bytes
    grants: bytes


class _Written(msgspec.Struct, frozen=True, array_like=True):
    newest_ms: int | None
    base: int
    last_gap: Gap | None
    guaranteed_until_ms: dict[int, int]
    capacity: _Sum | None
    accounts: dict[QueueName, _Account]


class _Head(msgspec.Struct, frozen=True, array_like=True):
    """What must fit before anything else is read."""

    version: int
    counts_by: str
    body: bytes


_json: Final = msgspec.json.encode
_held: Final = msgspec.json.Decoder(dict[str, tuple[int, ...]]).decode
_guarantee: Final = msgspec.json.Decoder(tuple[int | None, ...] | None).decode
_grants: Final = msgspec.json.Decoder(frozenset[Granted]).decode


def snapshot(ledger: Ledger) -> bytes:
    """Return all that *ledger* knows, to be `restored`. Cost: O(changes that lie in a window)."""
    state, lanes = ledger.state(), Lanes(len(ledger.resources))
    written = _Written(
        newest_ms=state.newest_ms,
        base=state.base,
        last_gap=state.last_gap,
        guaranteed_until_ms=dict(state.guaranteed_until_ms),
        capacity=None if state.capacity is None else _written_sum(state.capacity, lanes),
        accounts={name: _written_account(each, lanes) for name, each in state.accounts.items()},
    )
    body = zlib.compress(msgspec.msgpack.encode(written), _LEVEL)
    return msgspec.msgpack.encode(_Head(VERSION, ledger.counts_by, body))


def restored(data: bytes, resources: tuple[str, ...], rules: UsageRules) -> Ledger:
    """Return the ledger of which *data* is the snapshot; it answers and continues as that one.

    Raises UsageError for data of another version, or of a ledger that counts otherwise than
    *resources* and *rules* say; `charge` and staleness are no part of a ledger. That *data* is what
    was written is for the caller to check.
    """
    ledger = Ledger.by(resources, rules)
    try:
        head = msgspec.msgpack.decode(data, type=_Head)
        if head.version != VERSION:
            raise UsageError(
                f"a snapshot of usage has version {head.version}; this program reads {VERSION}"
            )
        if head.counts_by != ledger.counts_by:
            raise UsageError(f"a snapshot of usage is of {head.counts_by}, not {ledger.counts_by}")
        written = msgspec.msgpack.decode(zlib.decompress(head.body), type=_Written)
    except (msgspec.DecodeError, zlib.error) as problem:
        raise UsageError(f"this is no snapshot of usage: {problem}") from problem
    lanes = Lanes(len(resources))
    ledger.resume(
        LedgerState(
            newest_ms=written.newest_ms,
            base=written.base,
            last_gap=written.last_gap,
            guaranteed_until_ms=written.guaranteed_until_ms,
            capacity=None if written.capacity is None else _sum(written.capacity, lanes).state(),
            accounts={
                name: _account(each, lanes, len(resources))
                for name, each in written.accounts.items()
            },
        )
    )
    return ledger


def _written_sum(state: SumState, lanes: Lanes) -> _Sum:
    now = lanes.to_bytes((state.mark, state.levels, state.offset))
    return _Sum(state.at_ms, tuple(state.edges_ms), now, bytes(state.old_lines))


def _sum(written: _Sum, lanes: Lanes) -> RunningSum:
    mark, levels, offset = lanes.from_bytes(written.now)
    state = SumState(
        at_ms=written.at_ms,
        mark=mark,
        offset=offset,
        levels=levels,
        edges_ms=written.edges_ms,
        old_lines=written.old_lines,
    )
    return RunningSum.resumed(state, lanes)


def _written_account(account: Account, lanes: Lanes) -> _Account:
    has_above = account.above is not account.sums
    return _Account(
        sums=_written_sum(account.sums.state(), lanes),
        above=_written_sum(account.above.state(), lanes) if has_above else None,
        users={user: _written_sum(sums.state(), lanes) for user, sums in account.users.items()},
        is_removed=account.is_removed,
        held=_json(account.held),
        guarantee=_json(account.guarantee),
        grants=_json(sorted(account.grants, key=msgspec.structs.astuple)),
    )


def _account(written: _Account, lanes: Lanes, count: int) -> Account:
    account = Account(_sum(written.sums, lanes), count)
    if written.above is not None:
        account.above = _sum(written.above, lanes)
    for user, sums in written.users.items():
        account.users[user] = _sum(sums, lanes)
    account.is_removed = written.is_removed
    account.held = _held(written.held)
    account.guarantee = _guarantee(written.guarantee)
    account.grants = _grants(written.grants)
    return account
