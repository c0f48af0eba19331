"""The record that an import adds to. A new one gets its name only when all of it is written.

An import that fails, as on a full disk, so leaves nothing behind that looks like a record.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

import msgspec

from fairlead.cli.usage.record import Record, opened
from fairlead.errors import StoreError
from fairlead.model.axes import Limits
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Entry, Forgiven, Gap, Granted, Guarantee, Held


@contextmanager
def added_to(record: Record) -> Iterator[UsageStore]:
    """Open the record for writing, or make one that is there only if nothing is raised inside.

    Raises StoreError for whatever fails, and where another program makes the same file meanwhile.
    """
    if record.path.exists():
        with opened(record, writes=True) as store:
            yield store
        return
    path = Path(os.path.realpath(record.path))  # a link may lead to where nothing is yet
    with _folder_beside(path) as folder:
        new = Path(folder) / path.name
        try:
            with opened(
                msgspec.structs.replace(record, path=new), writes=True, makes=True
            ) as store:
                yield store
            _give_name(new, path)
        except StoreError as wrong:
            raise StoreError(str(wrong).replace(str(new), str(record.path))) from wrong


def _folder_beside(path: Path) -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix=".fairlead-import-", dir=path.parent)
    except OSError as wrong:
        raise _not_made(path, wrong) from wrong


def _give_name(new: Path, path: Path) -> None:
    if new.with_name(f"{new.name}-wal").exists():
        raise StoreError(
            f"usage store {new}: it could not be finished; free some space on its disk and try "
            "again"
        )
    if path.exists():
        raise StoreError(
            f"usage store {new}: another program created it meanwhile, so nothing was imported; "
            "import it again"
        )
    try:
        new.rename(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # else the name may be gone after a loss of power
        finally:
            os.close(folder)
    except OSError as wrong:
        raise _not_made(path, wrong) from wrong


def _not_made(path: Path, wrong: OSError) -> StoreError:
    return StoreError(
        f"usage store {path}: it cannot be created ({wrong.strerror or wrong}); make sure that its "
        "folder exists and that this user may write there"
    )


_ACTS: Final = (Granted, Forgiven)
_Moments: TypeAlias = Mapping[int, Sequence[Entry]]
_LevelKey: TypeAlias = tuple[int, type[Entry], str, str]


def unknown_entries(record: UsageStore, entries: Sequence[Entry]) -> list[Entry]:
    """Return those of *entries* that the record lacks, in their order.

    What an administrator did is known if the same is in the log, and a level if the same holds for
    the same holder since the same moment. Of a moment with a queue that was renamed or removed, or
    a gap, the order tells, so all is known or nothing. Law: the record answers the same, whether
    these or all are written. Cost: a walk from the first of them to the newest of the record.
    """
    newest_ms = record.newest_ms
    first_ms = min(map(_begins_ms, entries), default=0)
    if newest_ms is None or first_ms > newest_ms:
        return list(entries)
    told = _by_moment(entries)
    # From a moment earlier: there, the answer has no entries but what held then, and part of a gap.
    known = _by_moment(
        entry for entry in record.entries(first_ms - 1 if first_ms else None) if entry.at_ms in told
    )
    repeated = {at_ms for at_ms, each in told.items() if _ends_with(known.get(at_ms, ()), each)}
    levels_known, levels_told = _last_levels(known), _last_levels(told)
    acts = set(record.audit())

    def is_known(entry: Entry) -> bool:
        if isinstance(entry, _ACTS):
            return entry in acts
        if entry.at_ms in repeated:
            return True
        key = _level_key(entry)
        return key in levels_known and levels_known[key] == levels_told.get(key)

    return [entry for entry in entries if not is_known(entry)]


def _by_moment(entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Entries by their moment, without what administrators did."""
    found: dict[int, list[Entry]] = {}
    for entry in entries:
        if not isinstance(entry, _ACTS):
            found.setdefault(entry.at_ms, []).append(entry)
    return found


def _begins_ms(entry: Entry) -> int:
    return entry.since_ms if isinstance(entry, Gap) else entry.at_ms


def _ends_with(known: Sequence[Entry], told: Sequence[Entry]) -> bool:
    return list(known[-len(told) :]) == list(told)


def _last_levels(moments: _Moments) -> dict[_LevelKey | None, Limits]:
    """The level of each holder with which a moment ends, of moments that have nothing else."""
    found: dict[_LevelKey | None, Limits] = {}
    for entries in moments.values():
        if all(isinstance(entry, Held | Guarantee | Capacity) for entry in entries):
            for entry in entries:
                if isinstance(entry, Held | Guarantee | Capacity):
                    found[_level_key(entry)] = entry.amounts
    return found


def _level_key(entry: Entry) -> _LevelKey | None:
    match entry:
        case Held():
            return entry.at_ms, Held, entry.queue, entry.user
        case Guarantee():
            return entry.at_ms, Guarantee, entry.queue, ""
        case Capacity():
            return entry.at_ms, Capacity, "", ""
        case _:
            return None
