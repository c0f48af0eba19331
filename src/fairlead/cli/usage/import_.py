"""``fairlead usage import``: adds an export, or the output of sacct, to the usage store."""

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click
import msgspec
import yaml

from fairlead.cli.input.options import read_standard_input
from fairlead.cli.output.progress import announce, counted
from fairlead.cli.usage.amounts import read_capacity
from fairlead.cli.usage.record import (
    Record,
    audited,
    dated,
    find_record,
    names_record,
    opened,
    read_reason,
    read_who,
)
from fairlead.errors import FairleadError, StoreError
from fairlead.explain.text.names import printable
from fairlead.model.axes import QueueName
from fairlead.model.duration import moment_text
from fairlead.model.quantity import is_gpu
from fairlead.store.file.entry_amounts import fit_resources
from fairlead.store.file.file_notes import ImportNote
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.text.sacct import (
    ONE_LEFT_OUT,
    RESOURCES,
    SacctHistory,
    held_entries,
    read_sacct,
)
from fairlead.store.text.usage_text import TextHead, UsageText, read_usage
from fairlead.usage.entries import Capacity, Entry, Forgiven, Gap, Granted, Held
from fairlead.usage.settings import DAY_MS

MAX_BYTES = 2**20
_ACTS: Final = (Granted, Forgiven)


class QueueMap:
    """Knows the queue of an account, and which accounts were asked for or named, but not both."""

    def __init__(self, queues: dict[str, str | None]) -> None:
        """Fix the queues; None leaves an account out."""
        self.unmapped: set[str] = set()
        self.unused = set(queues)
        self._queues = queues

    def queue_of(self, account: str) -> QueueName | None:
        """Return the queue of *account*, which is that of its own name if nothing else is said."""
        if account not in self._queues:
            if not account:
                raise FairleadError(
                    'sacct has jobs without an account: say their queue with a line "": QUEUE in '
                    "the file of --queue-map"
                )
            self.unmapped.add(account)
            return QueueName(account)
        self.unused.discard(account)
        queue = self._queues[account]
        return None if queue is None else QueueName(queue)


def read_queue_map(file: str) -> QueueMap:
    """Read the file; raises FairleadError that says what is expected."""
    expected = "expected lines such as physics: team-physics"
    try:
        with Path(file).open("rb") as data:
            text = data.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise FairleadError(f"cannot read {file}: found more than 1 MiB, {expected}")
        found = yaml.load(text, Loader=yaml.CSafeLoader)
    except OSError as wrong:
        raise FairleadError(f"cannot read {file}: {wrong.strerror or wrong}") from wrong
    except (yaml.YAMLError, RecursionError, ValueError) as wrong:
        # The last is of what looks like a number or a date, and is none.
        raise FairleadError(f"cannot read {file}: found no YAML, {expected}") from wrong
    if not isinstance(found, dict) or not all(
        isinstance(account, str) and (queue is None or (isinstance(queue, str) and queue))
        for account, queue in found.items()
    ):
        raise FairleadError(
            f"cannot read {file}: found something else than names, {expected}; put names that look "
            "like numbers in quotes"
        )
    return QueueMap(found)


EPILOG = """\b
Examples:
  fairlead usage import usage.jsonl --store usage.db
  fairlead usage import sacct.txt --time-zone Europe/Berlin --capacity gpu=64,cpu=2048
  sacct -aP -S 2026-11-01 -o JobID,Account,User,Start,End,ElapsedRaw,State,AllocTRES |
    fairlead usage import - --queue-map accounts.yaml
"""


def _read_zone(
    _context: click.Context, _option: click.Parameter, name: str | None
) -> ZoneInfo | None:
    try:
        return None if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as wrong:
        raise click.BadParameter(
            f"found {name!r}, expected a zone such as Europe/Berlin"
        ) from wrong


@dated("The current time, to refuse entries of a later day; by default now.")
@click.command("import", epilog=EPILOG)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--queue-map",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="sacct: YAML with a line ACCOUNT: QUEUE for each account; by default the same name.",
)
@click.option(
    "--time-zone",
    callback=_read_zone,
    metavar="ZONE",
    help="sacct: the time zone of its times; by default UTC.",
)
@click.option(
    "--capacity",
    metavar="gpu=N,cpu=N,memory=N",
    help="sacct: the capacity of the cluster, which sacct does not list.",
)
@audited("import")
@names_record
def import_(
    file: str,
    queue_map: str | None,
    time_zone: ZoneInfo | None,
    capacity: str | None,
    reason: str,
    who: str | None,
    store: str | None,
    files: tuple[str, ...],
    now: int,
) -> None:
    """Add an export, or the output of sacct, to the usage store.

    All of it is added, or nothing; entries that the store has are not added again. Older entries
    are inserted at their time, and entries of the future are refused. A missing store is created.
    The log shows the import.
    """
    signed = _Signed(file, now, read_who(who), read_reason(reason))
    found = find_record(store, files)
    until_ms = now + DAY_MS + 1
    with _lines(file) as (name, lines):
        first = next(lines, "")
        if not first:
            raise FairleadError(
                f"{name} is empty: expected what fairlead usage export or sacct --parsable2 writes"
            )
        is_sacct = _is_sacct(first, name)
        rest = counted(chain([first], lines), "lines read")
        if is_sacct:
            accounts = QueueMap({}) if queue_map is None else read_queue_map(queue_map)
            amounts = None if capacity is None else read_capacity(capacity, RESOURCES)
            history = read_sacct(rest, name, time_zone or ZoneInfo("UTC"), until_ms=until_ms)
            text = _of_queues(history, accounts, amounts)
        else:
            if (queue_map, time_zone, capacity) != (None, None, None):
                raise click.UsageError("--queue-map, --time-zone and --capacity are for sacct only")
            text = read_usage(rest, name, until_ms=until_ms)
    if not text.entries:
        click.echo("nothing to import: the file has no entries")
        return
    with _added_to(found) as record:
        if is_sacct:
            text = _in_words_of(record, text)
        added = _add(record, text, signed, is_partial=is_sacct)
    _tell(added, len(text.entries))


class _Signed(NamedTuple):
    """Who imports which file, when and why."""

    file: str
    at_ms: int
    who: str
    reason: str

    def note(self, added: Sequence[Entry]) -> ImportNote | None:
        """What the log tells; None if nothing was new."""
        if not added:
            return None
        begin_ms, end_ms = _span_ms(added)
        return ImportNote(
            at_ms=self.at_ms,
            file="standard input" if self.file == "-" else Path(self.file).name,
            entries=len(added),
            begin_ms=begin_ms,
            end_ms=end_ms,
            who=self.who,
            reason=self.reason,
        )


@contextmanager
def _added_to(found: Record) -> Iterator[UsageStore]:
    """Open the store, or create one that gets its name only if nothing is raised inside.

    A new store is written in a folder beside its place, so a failed import leaves nothing behind.
    Raises StoreError, also if another program creates the same file meanwhile.
    """
    if found.path.exists():
        with opened(found, writes=True, makes=True) as record:
            yield record
        return
    path = Path(os.path.realpath(found.path))  # a link may lead to where nothing is yet
    try:
        with TemporaryDirectory(prefix=".fairlead-import-", dir=path.parent) as folder:
            new = Path(folder) / path.name
            try:
                staged = msgspec.structs.replace(found, path=new)
                with opened(staged, writes=True, makes=True) as record:
                    yield record
                _put_in_place(new, path)
            except StoreError as wrong:
                raise StoreError(str(wrong).replace(str(new), str(found.path))) from wrong
    except OSError as wrong:
        raise StoreError(
            f"usage store {found.path}: it cannot be created ({wrong.strerror or wrong}); make "
            "sure that its folder exists and that this user may write there"
        ) from wrong


def _put_in_place(new: Path, path: Path) -> None:
    if new.with_name(f"{new.name}-wal").exists():  # SQLite removes it once all is in the file
        raise StoreError(
            f"usage store {new}: it could not be finished; free some space on its disk and try "
            "again"
        )
    if path.exists():
        raise StoreError(
            f"usage store {new}: another program created it meanwhile, so nothing was imported; "
            "import it again"
        )
    new.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # else the name may be gone after a loss of power
    finally:
        os.close(folder)


def _tell(added: Sequence[Entry], count: int) -> None:
    """Say how many of the entries of a file were new to the record."""
    if not added:
        click.echo("imported no entries: the store has them all")
        return
    begin, end = map(moment_text, _span_ms(added))
    known = count - len(added)
    rest = f"; the store already had {known} more of the file" if known else ""
    click.echo(f"imported {_tally(len(added), 'entry', 'entries')}, from {begin} to {end}{rest}")


def _span_ms(entries: Sequence[Entry]) -> tuple[int, int]:
    """The first and the last moment: only the entries of one queue must be in the order of time."""
    moments_ms = [entry.at_ms for entry in entries]
    return min(moments_ms), max(moments_ms)


def _tally(count: int, one: str, many: str) -> str:
    return f"1 {one}" if count == 1 else f"{count} {many}"


def _in_words_of(record: UsageStore, text: UsageText) -> UsageText:
    """Name GPUs as the store does, which may call those of any vendor gpu."""
    known = record.resources
    names = [
        "gpu" if is_gpu(name) and name not in known and "gpu" in known else name
        for name in text.head.resources
    ]
    return msgspec.structs.replace(text, head=TextHead(resources=tuple(names)))


def _refuse_overlap(record: UsageStore, entries: Sequence[Entry]) -> None:
    """Refuse jobs of a time that is known: a list of jobs has no levels of other jobs."""
    held = [entry for entry in entries if isinstance(entry, Held)]
    told = {(entry.queue, entry.user, entry.at_ms) for entry in held}  # the same file again is fine
    first_ms: dict[tuple[QueueName, str], int] = {}
    for entry in held:
        first_ms.setdefault((entry.queue, entry.user), entry.at_ms)
    for known in record.entries(min(first_ms.values(), default=0)):
        if not isinstance(known, Held) or (known.queue, known.user, known.at_ms) in told:
            continue
        begin_ms = first_ms.get((known.queue, known.user))
        if begin_ms is not None and (known.at_ms > begin_ms or any(known.amounts)):
            whose = f"{known.user or 'no user'} in queue {known.queue}"
            raise FairleadError(
                f"nothing was imported: the store has a level of {whose} at "
                f"{moment_text(known.at_ms)}, and the file has jobs since "
                f"{moment_text(begin_ms)}; levels are summed only within one file: import all jobs "
                "in one file into a new store"
            )


def _add(
    record: UsageStore, text: UsageText, signed: _Signed, *, is_partial: bool
) -> Sequence[Entry]:
    """Add what the record does not know yet, and return it."""
    if is_partial:
        _refuse_overlap(record, text.entries)
    resources = text.head.resources
    record.ensure_resources(resources)
    fitted = list(fit_resources(text.entries, resources, record.resources))
    entries = unknown_entries(record, fitted)
    newest_ms = record.newest_ms
    if entries and newest_ms is not None and (first_ms := _span_ms(entries)[0]) <= newest_ms:
        click.echo(
            f"note: the store has entries up to {moment_text(newest_ms)}, and what is new in the "
            f"file begins at {moment_text(first_ms)}: for the same queue, the later "
            "entry holds",
            err=True,
        )
    announce(len(entries), "entries are written")
    looks_ms = [each for each in (record.observed_ms, text.head.observed_ms) if each is not None]
    observed_ms = max(looks_ms, default=None)
    record.append(entries, observed_ms=observed_ms, note=signed.note(entries))
    return entries


def unknown_entries(record: UsageStore, entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries that the store lacks, in their order.

    What an administrator did is known if the log has it. The other entries of one moment depend on
    their order, so they are known if that moment ends with all of them in the store, or new. Law:
    the store answers the same, whether these or all are written. Cost: a walk through the store
    from the first entry on.
    """
    newest_ms = record.newest_ms
    first_ms = min(map(_begins_ms, entries), default=0)
    if newest_ms is None or first_ms > newest_ms:
        return list(entries)
    # From a moment earlier: reading begins with the levels in force then, and with part of a gap.
    known = _by_moment(record.entries(first_ms - 1 if first_ms else None))
    acts = set(record.audit())
    new = {
        at_ms
        for at_ms, told in _by_moment(entries).items()
        if known.get(at_ms, [])[-len(told) :] != told
    }
    return [
        entry
        for entry in entries
        if (entry not in acts if isinstance(entry, _ACTS) else entry.at_ms in new)
    ]


def _by_moment(entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Return entries by their moment, without what administrators did."""
    found: dict[int, list[Entry]] = {}
    for entry in entries:
        if not isinstance(entry, _ACTS):
            found.setdefault(entry.at_ms, []).append(entry)
    return found


def _begins_ms(entry: Entry) -> int:
    return entry.since_ms if isinstance(entry, Gap) else entry.at_ms


def _of_queues(
    history: SacctHistory, accounts: QueueMap, capacity: tuple[int, ...] | None
) -> UsageText:
    held = held_entries(history.jobs, accounts.queue_of)
    entries: list[Entry] = list(held)
    if held and capacity is not None:
        entries.insert(0, Capacity(at_ms=held[0].at_ms, amounts=capacity))
    left_out = "".join(
        f", {_tally(count, ONE_LEFT_OUT.get(why, why), why)}"
        for why, count in sorted(history.left_out.items())
    )
    click.echo(printable(f"sacct: {_tally(len(history.jobs), 'job', 'jobs')}{left_out}"))
    if accounts.unmapped:
        names = ", ".join(sorted(accounts.unmapped))
        click.echo(
            printable(f"sacct: accounts without a mapping keep their name as queue: {names}")
        )
    if accounts.unused:
        names = ", ".join(name or '""' for name in sorted(accounts.unused))
        text = f"note: the queue map has accounts without jobs: {names}"
        click.echo(printable(text), err=True)
    if capacity is None:
        click.echo(
            "note: without --capacity the part of the cluster that was used is unknown", err=True
        )
    return UsageText(head=TextHead(resources=RESOURCES), entries=entries)


@contextmanager
def _lines(file: str) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the name and the lines of a file, with their ends, or of standard input."""
    try:
        if file == "-":
            data = read_standard_input([file])
            yield "<stdin>", iter(io.StringIO(data.decode("utf-8-sig"), newline=""))
            return
        with Path(file).open(encoding="utf-8-sig", newline="") as lines:
            yield file, lines
    except UnicodeDecodeError as wrong:
        raise FairleadError(f"cannot read {file}: it is not UTF-8 text") from wrong
    except OSError as wrong:
        raise FairleadError(f"cannot read {file}: {wrong.strerror or wrong}") from wrong


def _is_sacct(first: str, name: str) -> bool:
    """Return whether the first line is that of sacct; else it is that of an export."""
    if first.startswith("{"):
        return False
    if "JobID" in first.strip().split("|"):
        return True
    raise click.UsageError(
        f"the first line of {name} shows no known format: expected what fairlead usage export or "
        "sacct --parsable2 writes"
    )
