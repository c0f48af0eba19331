"""Whether a store has guarantees in the window, which charging usage above guarantees needs.

Without any, all usage would silently count as above the guarantee, so that is refused, as for a
server without such a series. An entry has an amount of every resource, and 0 may mean that none was
set: where it stands beside other amounts, all usage counts as above, and a problem says so.
"""

from collections.abc import Iterable
from itertools import takewhile

from fairlead.errors import StoreError
from fairlead.model.axes import Limits, QueueName
from fairlead.store.file.problems import problem
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry, Guarantee, Removed, Renamed
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import begins_at


class UntoldGuaranteesError(StoreError):
    """A file tells nothing of guarantees; to open it again would not help."""


class GuaranteesTold:
    """What was found out about one file, by one set of rules: nothing is looked through twice."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._ledger: Ledger | None = None
        self._begin_ms = 0  # from where on entries were read
        self._levels = _GuaranteeLevels()

    def check(
        self, store: UsageStore, rules: UsageRules, ledger: Ledger, until_ms: int
    ) -> tuple[str, ...]:
        """Return the problems of guarantees in the window of *rules* that ends at *until_ms*.

        Of each resource that was used, some queue must have a guarantee, even of 0. Raises
        UntoldGuaranteesError if there is no guarantee at all. Law: following a file gives the same
        answer as reading it from its begin. Cost: O(queues) where the *ledger* shows that
        guarantees counted; else O(entries of the window), or of new entries for the same ledger.
        """
        doubtful = _all_above(ledger, until_ms)
        if not doubtful:
            return ()
        begin_ms = begins_at(rules.window, until_ms)
        self._follow(store, ledger, begin_ms, until_ms)
        told = self._levels.told_since(begin_ms)
        if not told:
            found = problem(
                store.path,
                "it has no guarantee of any queue, which charge: over-quota needs",
                "import entries of the type guarantee, let a scheduler record them, or use "
                "charge: all, which counts the same where nothing is guaranteed",
            )
            raise UntoldGuaranteesError(str(found))
        return tuple(
            f"usage store {store.path} tells of no queue that any {ledger.resources[place]} was "
            "guaranteed to it in this window, so all use of it counts as above that"
            for place in doubtful
            if place not in told
        )

    def _follow(self, store: UsageStore, ledger: Ledger, begin_ms: int, until_ms: int) -> None:
        """Take what is new, or all that is needed if the ledger is another one.

        A store goes on with the same one exactly while nothing is written before what that took.
        """
        newest_ms = self._levels.newest_ms
        # At the begin itself all may be levels of before, of which no moment is known.
        has_entries = newest_ms is not None and newest_ms > self._begin_ms
        if ledger is self._ledger and has_entries:
            # Taken again, what is of that very moment changes nothing.
            self._levels.take_all(_until(store.entries(newest_ms), until_ms))
            return
        self._ledger, self._begin_ms = ledger, begin_ms
        self._levels = _GuaranteeLevels()
        self._levels.take_all(store.levels_before(begin_ms))
        self._levels.take_all(_until(store.entries(begin_ms), until_ms))


class _GuaranteeLevels:
    """Which guarantees are in force, and until when others were."""

    def __init__(self) -> None:
        self.newest_ms: int | None = None  # of all that was taken
        self._levels: dict[QueueName, Limits] = {}
        self._ended_ms: dict[int, int] = {}  # by the place of a resource

    def take_all(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            match entry:
                case Guarantee():
                    self._end(entry.queue, entry.at_ms)
                    self._levels[entry.queue] = entry.amounts
                case Removed():
                    self._end(entry.queue, entry.at_ms)
                case Renamed() if entry.queue in self._levels:
                    self._levels[entry.name] = self._levels.pop(entry.queue)
            self.newest_ms = entry.at_ms

    def told_since(self, begin_ms: int) -> set[int]:
        """The places of resources of which a guarantee was in force after *begin_ms*."""
        told = {place for place, end_ms in self._ended_ms.items() if end_ms > begin_ms}
        return told.union(*map(_places_told, self._levels.values()))

    def _end(self, queue: QueueName, at_ms: int) -> None:
        amounts = self._levels.pop(queue, None)
        if amounts is not None:
            self._ended_ms.update(dict.fromkeys(_places_told(amounts), at_ms))


def _all_above(ledger: Ledger, until_ms: int) -> list[int]:
    """The places of resources that were used, with no use at all below a guarantee."""
    queues = ledger.usage(until_ms).queues.values()
    return [
        place
        for place in range(len(ledger.resources))
        if any(use.all[place] > 0 for use in queues)
        and all(use.all[place] == use.above_guarantee[place] for use in queues)
    ]


def _places_told(amounts: Limits) -> set[int]:
    """Of which resources *amounts* tell something: if of none, that there is none of any."""
    some = {place for place, amount in enumerate(amounts) if amount != 0}
    return some or set(range(len(amounts)))


def _until(entries: Iterable[Entry], until_ms: int) -> Iterable[Entry]:
    return takewhile(lambda entry: entry.at_ms <= until_ms, entries)
