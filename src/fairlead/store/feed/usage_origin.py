"""Where a feed reads usage from: a usage store, or a Prometheus server (`prometheus_origin`)."""

from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Protocol

from fairlead.errors import FairleadError, StoreError
from fairlead.store.feed.guarantees_told import GuaranteesTold, UntoldGuaranteesError
from fairlead.store.feed.reading import Reading
from fairlead.store.feed.stored_reading import stored_reading
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.settings import StoreSource, UsageRules


class UsageOrigin(Protocol):
    """Something that knows past use."""

    def read(self, now_ms: int) -> Reading:
        """All that is known until *now_ms*; StoreError or UsageError if it cannot be read."""

    def close(self) -> None:
        """Let go of what is open; another reading opens it again."""


class StoredOrigin:
    """Our own file, kept open from one reading to the next: only what is new is read.

    Whoever writes is not kept from it: nothing is locked between two readings.
    """

    def __init__(self, source: StoreSource, rules: UsageRules, *, keeps_plain: bool) -> None:
        """Open nothing yet."""
        self._path = Path(source.path)
        self._rules = rules
        self._keeps_plain = keeps_plain
        self._store: UsageStore | None = None
        self._which: tuple[int, ...] | None = None  # the file that was last read
        self._guarantees = GuaranteesTold()

    def read(self, now_ms: int) -> Reading:
        """Take the ledger of the file; entries later than *now_ms* do not count yet."""
        which = _which_file(self._path)
        if which != self._which:
            self.close()  # somebody put another file in its place
            self._which = which
            self._guarantees = GuaranteesTold()
        is_first = self._store is None
        try:
            return stored_reading(
                self._opened(),
                self._rules,
                now_ms,
                keeps_plain=self._keeps_plain,
                guarantees=self._guarantees,
            )
        except UntoldGuaranteesError:
            raise
        except FairleadError:
            self.close()
            if is_first:
                raise
        return self.read(now_ms)  # what was open may be the problem

    def close(self) -> None:
        """Let go of the file."""
        if self._store is not None:
            self._store.close()
        self._store = None

    def _opened(self) -> UsageStore:
        if self._store is None:
            self._store = UsageStore.open(self._path, writes=False)
        return self._store


def _which_file(path: Path) -> tuple[int, ...] | None:
    """What tells a file from another of the same name; None: there is none.

    StoreError for what is no file, before it is opened: nobody may ever write into a pipe.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    if not S_ISREG(found.st_mode):
        what = "a folder" if S_ISDIR(found.st_mode) else "no regular file"
        raise StoreError(f"usage store {path}: it is {what}; name a file")
    return found.st_dev, found.st_ino
