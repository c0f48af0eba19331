"""Brings a store that an older program wrote up to date: by itself, because it takes its time."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from fairlead.store.file.file_version import migrate, version_of
from fairlead.store.file.migrations import MIGRATIONS, Step
from fairlead.store.file.one_moment import one_moment, told
from fairlead.store.file.saved_ledger import saved_rules
from fairlead.store.file.schema import opened, refuse_missing, write_safely
from fairlead.store.file.shown import Shown, unshown
from fairlead.store.file.store_problem import problem
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.settings import UsageRules


class Upgraded(msgspec.Struct, frozen=True, kw_only=True):
    """What an upgrade came to."""

    old_version: int
    version: int
    has_snapshot: bool  # whether a ledger was saved before, and is again


def upgrade(
    path: Path, *, shown: Shown = unshown, migrations: Sequence[Step] = MIGRATIONS
) -> Upgraded | None:
    """Bring the store at *path* to the newest version; None if it is of that already.

    All of it or nothing: who stops it leaves the file as it was. Raises StoreError for what is
    missing, damaged or not ours. Cost: O(entries), and as much room on the disk as the file takes.
    """
    refuse_missing(path)
    with closing(opened(path, "rw")) as connection, told(path):
        with one_moment(path, connection, None):
            version = version_of(connection, path, migrations)
            if version == len(migrations):
                return None
            if version == 0:
                raise problem(path, "it is empty", "name one that a scheduler writes")
            rules = saved_rules(connection)
        write_safely(connection, path)
        version = migrate(connection, path, migrations, shown)
    if rules is not None:
        _save_anew(path, rules)
    return Upgraded(old_version=version, version=len(migrations), has_snapshot=rules is not None)


def _save_anew(path: Path, rules: UsageRules) -> None:
    """Make the ledger again that was saved: of the old one nobody knows if it is sound.

    It may be lost, so it need not be within the transaction of all that may not.
    """
    with UsageStore.open(path) as store:
        newest_ms = store.newest_ms
        if newest_ms is not None:
            store.save_snapshot(store.ledger(rules, newest_ms), rules)
