"""``fairlead usage import``: a record from text, all of it or nothing."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click
import msgspec

from fairlead.cli.progress import announce, counted
from fairlead.cli.standard_input import read_standard_input
from fairlead.cli.usage_amounts import read_amount, resource_name
from fairlead.cli.usage_queue_map import QueueMap, read_queue_map
from fairlead.cli.usage_record import find_record, names_record, opened
from fairlead.errors import FairleadError, QuantityError
from fairlead.explain.moment_text import moment_text
from fairlead.explain.printable import printable
from fairlead.model.axes import QueueName
from fairlead.model.quantity import is_gpu
from fairlead.store.file.fit_resources import fit_resources
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.text.sacct import ONE_LEFT_OUT, held_entries, read_sacct
from fairlead.store.text.sacct_fields import RESOURCES
from fairlead.store.text.text_head import TextHead
from fairlead.store.text.usage_text import UsageText, read_usage
from fairlead.usage.entries import Capacity, Entry, Held

ImportForm: TypeAlias = Literal["jsonl", "csv", "sacct"]
FORMS: tuple[ImportForm, ...] = get_args(ImportForm)

EPILOG = """\b
Examples:
  fairlead usage import usage.jsonl --store usage.db
  fairlead usage import sacct.txt --time-zone Europe/Berlin --capacity gpu=64,cpu=2048
  sacct -aP -S 2026-11-01 -o JobID,Account,User,Start,End,ElapsedRaw,State,AllocTRES |
    fairlead usage import - --format sacct --queue-map accounts.yaml
"""


def _read_zone(_context: click.Context, _option: click.Parameter, name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as wrong:
        raise click.BadParameter(
            f"found {name!r}, expected a zone such as Europe/Berlin"
        ) from wrong


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
    default="UTC",
    show_default=True,
    metavar="ZONE",
    help="sacct: where its times are from.",
)
@click.option(
    "--capacity",
    metavar="gpu=N,cpu=N,memory=N",
    help="sacct: what the cluster had, which sacct does not tell.",
)
@names_record
def import_(
    file: str,
    form: ImportForm | None,
    queue_map: str | None,
    time_zone: ZoneInfo,
    capacity: str | None,
    store: str | None,
    files: tuple[str, ...],
) -> None:
    """Add an export, or what sacct prints, to the record.

    All of it is added, or nothing. Older entries take their place in time. The record is made if
    there is none.
    """
    found = find_record(store, files)
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
            text = _from_sacct(rest, name, time_zone, accounts, capacity)
        else:
            if queue_map is not None or capacity is not None:
                raise click.UsageError("--queue-map and --capacity are for sacct only")
            text = read_usage(told, rest, name)
    if not text.entries:
        click.echo("nothing to import: the file tells of no use")
        return
    with opened(found, writes=True, makes=True) as record:
        if told == "sacct":
            text = _in_words_of(record, text)
        _add(record, text, is_partial=told == "sacct")
    begin, end = map(moment_text, _span_ms(text.entries))
    click.echo(f"imported {_tally(len(text.entries), 'entry', 'entries')}, from {begin} to {end}")


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


def _add(record: UsageStore, text: UsageText, *, is_partial: bool) -> None:
    (first_ms, _), newest_ms = _span_ms(text.entries), record.newest_ms
    if newest_ms is not None and first_ms <= newest_ms:
        if is_partial:
            _refuse_overlap(record, text.entries)
        click.echo(
            f"note: the record has entries up to {moment_text(newest_ms)}, and the file begins at "
            f"{moment_text(first_ms)}: where both tell of the same queue, the later entry holds",
            err=True,
        )
    announce(len(text.entries), "entries are written")
    resources = text.head.resources
    record.ensure_resources(resources)
    known = set(record.audit())  # an export that comes back must not fill the log again
    fitted = fit_resources(text.entries, resources, record.resources)
    entries = [entry for entry in fitted if entry not in known]
    looks_ms = [each for each in (record.observed_ms, text.head.observed_ms) if each is not None]
    record.append(entries, observed_ms=max(looks_ms, default=None))


def _from_sacct(
    lines: Iterator[str], name: str, time_zone: ZoneInfo, accounts: QueueMap, capacity: str | None
) -> UsageText:
    amounts = None if capacity is None else _capacity(capacity)
    history = read_sacct(lines, name, time_zone)
    held = held_entries(history.jobs, accounts.queue_of)
    entries: list[Entry] = list(held)
    if held and amounts is not None:
        entries.insert(0, Capacity(at_ms=held[0].at_ms, amounts=amounts))
    left_out = "".join(
        f", {_tally(count, ONE_LEFT_OUT.get(why, why), why)}"
        for why, count in sorted(history.left_out.items())
    )
    click.echo(printable(f"sacct: {_tally(len(history.jobs), 'job', 'jobs')}{left_out}"))
    if accounts.unmapped:
        names = ", ".join(sorted(accounts.unmapped))
        click.echo(printable(f"sacct: queues of the same name as their account: {names}"))
    if amounts is None:
        click.echo(
            "note: without --capacity it is not known which part of the cluster was used", err=True
        )
    return UsageText(head=TextHead(resources=RESOURCES), entries=entries)


def _capacity(text: str) -> tuple[int, ...]:
    amounts = dict.fromkeys(RESOURCES, 0)
    for item in text.split(","):
        short, _, number = item.strip().partition("=")
        name = resource_name(short, RESOURCES)
        try:
            amount, is_exact = read_amount(name, number)
        except QuantityError as wrong:
            raise click.BadParameter(f"found {item!r}: {wrong}", param_hint="--capacity") from wrong
        if name not in amounts or amount < 0 or not is_exact:
            raise click.BadParameter(
                f"found {item!r}, expected such as gpu=64,cpu=2048,memory=16Ti",
                param_hint="--capacity",
            )
        amounts[name] = amount
    return tuple(amounts.values())


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
