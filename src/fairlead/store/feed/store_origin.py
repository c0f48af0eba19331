"""Reads usage from a usage store, up to a moment."""

from pathlib import Path
from stat import S_ISDIR, S_ISREG

from fairlead.errors import FairleadError, StoreError
from fairlead.store.feed.reading import Act, Reading, without_decay
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Guarantee, Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import DAY_MS, StoreSource, UsageRules
from fairlead.usage.window import begins_at


class NoGuaranteesError(StoreError):
    """A store has no guarantees, which usage above them needs; opening it again does not help."""


class StoredOrigin:
    """Our own file, kept open from one reading to the next: only what is new is read.

    Writers are not blocked: nothing is locked between two readings.
    """

    def __init__(self, source: StoreSource, rules: UsageRules, *, keeps_plain: bool) -> None:
        """Open nothing yet."""
        self._path = Path(source.path)
        self._rules = rules
        self._keeps_plain = keeps_plain
        self._store: UsageStore | None = None
        self._which: tuple[int, ...] | None = None  # the file that was last read

    def read(self, now_ms: int) -> Reading:
        """Take the ledger of the file; entries later than *now_ms* do not count yet."""
        which = _which_file(self._path)
        if which != self._which:
            self.close()  # another file took its place
            self._which = which
        is_first = self._store is None
        if self._store is None:
            self._store = UsageStore.open(self._path, writes=False)
        try:
            return stored_reading(self._store, self._rules, now_ms, keeps_plain=self._keeps_plain)
        except NoGuaranteesError:
            raise
        except FairleadError:
            self.close()
            if is_first:
                raise
        return self.read(now_ms)  # what was open may be the problem

    def close(self) -> None:
        """Close the file."""
        if self._store is not None:
            self._store.close()
        self._store = None


def _which_file(path: Path) -> tuple[int, ...] | None:
    """Return what tells a file from another of the same name; None: there is none.

    Raises StoreError for anything but a file, before it is opened: opening a pipe would not end.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    if not S_ISREG(found.st_mode):
        what = "a folder" if S_ISDIR(found.st_mode) else "not a regular file"
        raise StoreError(f"usage store {path}: it is {what}; name a file")
    return found.st_dev, found.st_ino


def stored_reading(
    store: UsageStore, rules: UsageRules, until_ms: int, *, keeps_plain: bool = False
) -> Reading:
    """Return all that *store* has until *until_ms*; later entries are left out.

    All is known up to the last observation, or the last level: acts say nothing of what queues
    hold. With *keeps_plain* there is a ledger without decay, too. Cost: that of
    `UsageStore.ledger`. Raises StoreError or UsageError.
    """
    # Asked for first: what is written meanwhile is then known to be later.
    newest_ms = _looked_ms(store, until_ms)
    taken_ms = until_ms if newest_ms is None else newest_ms
    problems: tuple[str, ...] = ()
    if newest_ms is None:
        what = "is empty" if store.newest_ms is None else "has no entries of what queues hold"
        problems = (f"usage store {store.path} {what}",)
    ledger = store.ledger(rules, taken_ms)
    plain = store.ledger(without_decay(rules), taken_ms) if keeps_plain else None
    if rules.charge == "over-quota" and newest_ms is not None:
        problems = _guarantee_problems(store.path, rules, ledger, taken_ms)
    return Reading(
        ledger=ledger,
        plain=plain,
        acts=_acts(store, taken_ms, until_ms),
        rules=rules,
        newest_ms=newest_ms,
        problems=problems,
    )


def _guarantee_problems(
    path: Path, rules: UsageRules, ledger: Ledger, until_ms: int
) -> tuple[str, ...]:
    """Return the problems of guarantees in the window of *rules* that ends at *until_ms*.

    Of each resource that was used, some queue must have a guarantee, even of 0. Raises
    NoGuaranteesError if there is no guarantee at all: all usage would count as above them.
    """
    used = [use.all for use in ledger.usage(until_ms).queues.values()]
    guaranteed = ledger.guaranteed(begins_at(rules.window, until_ms))
    without = [
        name
        for place, name in enumerate(ledger.resources)
        if name not in guaranteed and any(each[place] > 0 for each in used)
    ]
    if without and not guaranteed:
        raise NoGuaranteesError(
            f"usage store {path}: it has no guarantee of any queue, which charge: over-quota "
            "needs; import entries of the type guarantee, let a scheduler record them, or use "
            "charge: all, which counts the same where nothing is guaranteed"
        )
    return tuple(
        f"usage store {path} has no queue with a guarantee of {name} in this window, so all usage "
        "of it counts as above that"
        for name in without
    )


def _looked_ms(store: UsageStore, until_ms: int) -> int | None:
    """Return until when it is known what queues hold: up to an observation nothing changed.

    A level soon after *until_ms* is an observation, too. One further ahead may be a wrong clock.
    """
    last_ms, next_ms = store.levels_around(until_ms)
    looks_ms = [each for each in (next_ms, store.observed_ms) if each is not None]
    if last_ms is None or any(until_ms < each <= until_ms + DAY_MS for each in looks_ms):
        return None if last_ms is None else until_ms
    return max([last_ms, *[each for each in looks_ms if each <= until_ms]])


def _acts(store: UsageStore, after_ms: int, until_ms: int) -> tuple[Act, ...]:
    if min(store.newest_ms or 0, until_ms) <= after_ms:
        return ()
    return tuple(
        entry
        for entry in store.entries(after_ms + 1)
        if not isinstance(entry, Held | Guarantee | Capacity) and entry.at_ms <= until_ms
    )
