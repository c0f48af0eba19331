"""What is wrong, for people, and what tells one problem from another.

How old something is, and when it was seen, is another number each time and tells of nothing new. A
text that is said once, and not in every cycle, is known again by what is left without those.
"""

import re
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from fairlead.model.axes import QueueName
from fairlead.usage.entries import Forgiven, Gap, Granted, Held, Removed, Renamed
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import UsageRules

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d+ ms\b")


class Problem(NamedTuple):
    """Something to tell of once."""

    text: str
    turn: str  # the same as long as it is the same problem


def problem_of(text: str) -> Problem:
    """The problem that *text* tells of; moments in it are no other problem."""
    return Problem(text, _MOMENT.sub("...", text))


Act: TypeAlias = Granted | Forgiven | Renamed | Removed | Gap
Onward: TypeAlias = Literal["as before", "hold", "decay"]
"""What holds after the last observation: the same levels, no time passes, or nothing is held."""


class Books(NamedTuple):
    """A ledger, and the same without fading, which may be the very same one."""

    ledger: Ledger
    plain: Ledger | None  # None: it was not asked for


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What is known at one moment, by the clock of the caller."""

    ledger: Ledger  # has taken all until newest_ms, and maybe half of what was later
    plain: Ledger | None = None  # the same without fading; None: it was not asked for
    settled: Books | None = None  # both as they were at newest_ms; None: they still are
    acts: tuple[Act, ...] = ()  # of after newest_ms
    rules: UsageRules  # those that the ledger counts by
    newest_ms: int | None  # until when all is told; None: nothing is
    ahead_ms: int = 0  # how far the clock behind the ledger is ahead of the caller's
    whole: frozenset[QueueName] = frozenset()  # queues told with all that is below them
    problems: tuple[Problem, ...] = ()


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Ledgers to ask, and about which moment."""

    ledger: Ledger
    plain: Ledger | None
    since_ms: int  # until when all is known
    stands_still: bool  # from then on

    def as_of_ms(self, now_ms: int) -> int:
        """The moment to ask about at *now_ms*, by the clock behind the ledger."""
        # Acts are later than what is known, and so may be what a reading took before it failed.
        first_ms = max(self.since_ms, self.ledger.newest_ms or 0)
        return first_ms if self.stands_still else max(now_ms, first_ms)


def standing(reading: Reading, onward: Onward) -> Standing:
    """What counts of *reading*, if it goes on as *onward* says.

    Cost: that of copying the ledgers, where anything has to be taken into them; else none.
    """
    assert reading.newest_ms is not None, "nothing is known that could go on"
    books = Books(reading.ledger, reading.plain)
    if onward != "as before":
        books = reading.settled or books
    since_ms = max(reading.newest_ms + reading.ahead_ms, books.ledger.newest_ms or 0)
    ledger = _going_on(books.ledger, reading.rules, reading.acts, since_ms, onward)
    plain: Ledger | None = ledger
    if books.plain is None:
        plain = None
    elif books.plain is not books.ledger:
        rules = without_fading(reading.rules)
        plain = _going_on(books.plain, rules, reading.acts, since_ms, onward)
    return Standing(
        ledger=ledger,
        plain=plain,
        since_ms=since_ms,
        stands_still=onward == "hold",
    )


def detached(reading: Reading) -> Reading:
    """The same with ledgers of its own, which stay as they are while the source is read again.

    Cost: O(queues times buckets), 15 ms for 1,000 queues that changed in all buckets of a week.
    """
    books = copied(Books(reading.ledger, reading.plain), reading.rules)
    return msgspec.structs.replace(reading, ledger=books.ledger, plain=books.plain)


def copied(books: Books, rules: UsageRules) -> Books:
    """The same with ledgers of its own, which count by *rules*; cost as above."""
    ledger = _copy(books.ledger, rules)
    if books.plain is None or books.plain is books.ledger:
        return Books(ledger, None if books.plain is None else ledger)
    return Books(ledger, _copy(books.plain, without_fading(rules)))


def without_fading(rules: UsageRules) -> UsageRules:
    """The same rules without a half-life."""
    return msgspec.structs.replace(rules, half_life_ms=None)


def _going_on(
    ledger: Ledger, rules: UsageRules, acts: tuple[Act, ...], since_ms: int, onward: Onward
) -> Ledger:
    if not acts and onward != "decay":
        return ledger
    copy = _copy(ledger, rules)
    if onward == "decay":
        _let_go_of_all(copy, since_ms)
    for act in acts:
        if onward != "hold":
            copy.take(act)
        elif not isinstance(act, Gap):  # where time stands still, none of it is unknown
            copy.take(_moved(act, since_ms))
    return copy


def _copy(ledger: Ledger, rules: UsageRules) -> Ledger:
    copy = Ledger.by(ledger.resources, rules)
    copy.resume(ledger.state())
    return copy


def _let_go_of_all(ledger: Ledger, since_ms: int) -> None:
    """Return entries that end all held levels at *since_ms*; the capacity stays."""
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
