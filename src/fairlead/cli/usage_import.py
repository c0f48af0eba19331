"""``fairlead usage import``: a record from text, all of it or nothing."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click
import msgspec

from fairlead.cli.input.options import read_standard_input
from fairlead.cli.output.progress import announce, counted
from fairlead.cli.usage_amounts import read_capacity
from fairlead.cli.usage_audit import audited, read_reason, read_who
from fairlead.cli.usage_known import unknown_entries
from fairlead.cli.usage_new_record import added_to
from fairlead.cli.usage_queue_map import QueueMap, read_queue_map
from fairlead.cli.usage_record import find_record, names_record
from fairlead.cli.usage_when import dated
from fairlead.errors import FairleadError
from fairlead.explain.text.names import printable
from fairlead.model.axes import QueueName
from fairlead.model.duration import moment_text
from fairlead.model.quantity import is_gpu
from fairlead.store.file.entry_amounts import fit_resources
from fairlead.store.file.file_notes import ImportNote
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.text.sacct import ONE_LEFT_OUT, SacctHistory, held_entries, read_sacct
from fairlead.store.text.sacct_fields import RESOURCES
from fairlead.store.text.text_head import TextHead
from fairlead.store.text.usage_text import UsageText, read_usage
from fairlead.usage.entries import Capacity, Entry, Held
from fairlead.usage.settings import DAY_MS

ImportForm: TypeAlias = Literal["jsonl", "csv", "sacct"]
FORMS: tuple[ImportForm, ...] = get_args(ImportForm)

EPILOG = """\b
Examples:
  fairlead usage import usage.jsonl --store usage.db
  fairlead usage import sacct.txt --time-zone Europe/Berlin --capacity gpu=64,cpu=2048
  sacct -aP -S 2026-11-01 -o JobID,Account,User,Start,End,ElapsedRaw,State,AllocTRES |
    fairlead usage import - --format sacct --queue-map accounts.yaml
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


@dated("What time it is, to refuse entries of a later day; by default now.")
@click.command("import", epilog=EPILOG)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="What the file holds; by default its first line tells.",
)
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
    help="sacct: where its times are from; by default UTC.",
)
@click.option(
    "--capacity",
    metavar="gpu=N,cpu=N,memory=N",
    help="sacct: what the cluster had, which sacct does not tell.",
)
@audited("import")
@names_record
def import_(
    file: str,
    form: ImportForm | None,
    queue_map: str | None,
    time_zone: ZoneInfo | None,
    capacity: str | None,
    reason: str,
    who: str | None,
    store: str | None,
    files: tuple[str, ...],
    now: int,
) -> None:
    """Add an export, or what sacct prints, to the record.

    All of it is added, or nothing; what the record knows is not written again. Older entries take
    their place in time, and entries of the future are refused. The record is made if there is none.
    The log tells who did it.
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
        told = form or _form_of(first, name)
        rest = counted(_chained(first, lines), "lines read")
        if told == "sacct":
            accounts = QueueMap({}) if queue_map is None else read_queue_map(queue_map)
            amounts = None if capacity is None else read_capacity(capacity, RESOURCES)
            history = read_sacct(rest, name, time_zone or ZoneInfo("UTC"), until_ms=until_ms)
            text = _of_queues(history, accounts, amounts)
        else:
            if (queue_map, time_zone, capacity) != (None, None, None):
                raise click.UsageError("--queue-map, --time-zone and --capacity are for sacct only")
            text = read_usage(told, rest, name, until_ms=until_ms)
    if not text.entries:
        click.echo("nothing to import: the file tells of no use")
        return
    with added_to(found) as record:
        if told == "sacct":
            text = _in_words_of(record, text)
        added = _add(record, text, signed, is_partial=told == "sacct")
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


def _tell(added: Sequence[Entry], count: int) -> None:
    """Say how many of the entries of a file were new to the record."""
    if not added:
        click.echo("imported no entries: the record has them all")
        return
    begin, end = map(moment_text, _span_ms(added))
    known = count - len(added)
    rest = f"; the record had {known} more of the file" if known else ""
    click.echo(f"imported {_tally(len(added), 'entry', 'entries')}, from {begin} to {end}{rest}")


def _span_ms(entries: Sequence[Entry]) -> tuple[int, int]:
    """The first and the last moment: only the entries of one queue must be in the order of time."""
    moments_ms = [entry.at_ms for entry in entries]
    return min(moments_ms), max(moments_ms)


def _tally(count: int, one: str, many: str) -> str:
    return f"1 {one}" if count == 1 else f"{count} {many}"


def _in_words_of(record: UsageStore, text: UsageText) -> UsageText:
    """Call GPUs as the record does, which may know them as gpu, whoever made them."""
    known = record.resources
    names = [
        "gpu" if is_gpu(name) and name not in known and "gpu" in known else name
        for name in text.head.resources
    ]
    return msgspec.structs.replace(text, head=TextHead(resources=tuple(names)))


def _refuse_overlap(record: UsageStore, entries: Sequence[Entry]) -> None:
    """Refuse to tell anew of a time that is known: a list of jobs has no levels of other jobs."""
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
            whose = f"{known.user or 'nobody in particular'} in queue {known.queue}"
            raise FairleadError(
                f"nothing was imported: the record knows what {whose} held at "
                f"{moment_text(known.at_ms)}, and the file tells of jobs since "
                f"{moment_text(begin_ms)}; jobs of one time are added up only within one file: "
                "import all of them together into a new record"
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
            f"note: the record has entries up to {moment_text(newest_ms)}, and what is new in the "
            f"file begins at {moment_text(first_ms)}: where both tell of the same queue, the later "
            "entry holds",
            err=True,
        )
    announce(len(entries), "entries are written")
    looks_ms = [each for each in (record.observed_ms, text.head.observed_ms) if each is not None]
    observed_ms = max(looks_ms, default=None)
    record.append(entries, observed_ms=observed_ms, note=signed.note(entries))
    return entries


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
        click.echo(printable(f"sacct: queues of the same name as their account: {names}"))
    if accounts.unused:
        names = ", ".join(name or '""' for name in sorted(accounts.unused))
        text = f"note: no job is of these accounts of the queue map: {names}"
        click.echo(printable(text), err=True)
    if capacity is None:
        click.echo(
            "note: without --capacity it is not known which part of the cluster was used", err=True
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
        raise FairleadError(f"cannot read {file}: it is no UTF-8 text") from wrong
    except OSError as wrong:
        raise FairleadError(f"cannot read {file}: {wrong.strerror or wrong}") from wrong


def _chained(first: str, rest: Iterator[str]) -> Iterator[str]:
    if first:
        yield first
    yield from rest


def _form_of(first: str, name: str) -> ImportForm:
    if first.startswith("{"):
        return "jsonl"
    if first.startswith("type,"):
        return "csv"
    if "JobID" in first.strip().split("|"):
        return "sacct"
    raise click.UsageError(
        f"the first line of {name} tells no form that is known: say it with --format"
    )
