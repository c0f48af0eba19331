"""Past usage as of one moment, and how it continues until the moment that is asked about."""

from typing import Literal, Protocol, TypeAlias

import msgspec

from fairlead.model.axes import QueueName
from fairlead.usage.entries import Forgiven, Gap, Granted, Held, Removed, Renamed
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import UsageRules

Act: TypeAlias = Granted | Forgiven | Renamed | Removed | Gap
Onward: TypeAlias = Literal["as before", "hold", "decay"]
"""What holds after the last observation: the same levels, no time passes, or nothing is held."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What is known at one moment."""

    ledger: Ledger  # has taken all until newest_ms, and the entries of a silence since then
    plain: Ledger | None = None  # the same without decay; None: it was not asked for
    acts: tuple[Act, ...] = ()  # of after newest_ms
    rules: UsageRules  # those that the ledger counts by
    newest_ms: int | None  # until when all is known; None: nothing is
    whole: frozenset[QueueName] = frozenset()  # queues reported with all that is below them
    problems: tuple[str, ...] = ()
    before_silence: "Reading | None" = None  # as of newest_ms, if the ledger has taken more


class UsageOrigin(Protocol):
    """A source of past usage."""

    def read(self, now_ms: int) -> Reading:
        """Return all that is known until *now_ms*. Raises StoreError or UsageError."""

    def close(self) -> None:
        """Close what is open; another reading opens it again."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Ledgers to ask, and about which moment."""

    ledger: Ledger
    plain: Ledger | None
    since_ms: int  # until when all is known
    stands_still: bool  # from then on

    def as_of_ms(self, now_ms: int) -> int:
        """Return the moment to ask about at *now_ms*."""
        # Acts are later than what is known, and so may be what a reading took before it failed.
        first_ms = max(self.since_ms, self.ledger.newest_ms or 0)
        return first_ms if self.stands_still else max(now_ms, first_ms)


def standing(reading: Reading, onward: Onward) -> Standing:
    """Return what counts of *reading*, if it continues as *onward* says.

    Cost: that of copying the ledgers, where anything has to be taken into them; else none.
    """
    if onward != "as before" and reading.before_silence is not None:
        return standing(reading.before_silence, onward)
    assert reading.newest_ms is not None, "nothing is known that could continue"
    since_ms = max(reading.newest_ms, reading.ledger.newest_ms or 0)
    ledger = _continued(reading.ledger, reading.acts, since_ms, onward)
    plain = reading.plain
    if plain is reading.ledger:
        plain = ledger
    elif plain is not None:
        plain = _continued(plain, reading.acts, since_ms, onward)
    return Standing(ledger=ledger, plain=plain, since_ms=since_ms, stands_still=onward == "hold")


def detached(reading: Reading) -> Reading:
    """Return the same with its own ledgers, which do not change while the source is read again.

    Cost: O(changes in the window), 15 ms for 1,000 queues of 336 changes each.
    """
    ledger = reading.ledger.copy()
    plain = reading.plain
    if plain is not None:
        plain = ledger if plain is reading.ledger else plain.copy()
    return msgspec.structs.replace(reading, ledger=ledger, plain=plain)


def without_decay(rules: UsageRules) -> UsageRules:
    """Return the same rules without a half-life."""
    return msgspec.structs.replace(rules, half_life_ms=None)


def _continued(ledger: Ledger, acts: tuple[Act, ...], since_ms: int, onward: Onward) -> Ledger:
    if not acts and onward != "decay":
        return ledger
    copy = ledger.copy()
    if onward == "decay":
        _release_all(copy, since_ms)
    for act in acts:
        if onward != "hold":
            copy.take(act)
        elif not isinstance(act, Gap):  # where time stands still, none of it is unknown
            copy.take(_moved(act, since_ms))
    return copy


def _release_all(ledger: Ledger, since_ms: int) -> None:
    """End all held levels at *since_ms*; the capacity stays."""
    at_ms = since_ms + 1  # a sample at that very moment still saw what was held
    usage = ledger.usage(at_ms)
    nothing = (0,) * len(ledger.resources)
    for queue in usage.queues:
        ledger.take(Held(at_ms=at_ms, queue=queue, amounts=nothing))
    for queue, user in usage.users:
        ledger.take(Held(at_ms=at_ms, queue=queue, user=user, amounts=nothing))


def _moved(act: Granted | Forgiven | Renamed | Removed, at_ms: int) -> Act:
    if isinstance(act, Granted):
        # Equal grants of one moment are one; those of two moments stay two.
        act = msgspec.structs.replace(act, reason=f"{act.at_ms}: {act.reason}")
    return msgspec.structs.replace(act, at_ms=at_ms)
