"""``fairlead usage show``: who used what, as a table, a document or a picture."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import click
import msgspec

from fairlead.cli.input.options import now_option, output_option
from fairlead.cli.output.progress import counted
from fairlead.cli.output.table import csv_line, table_text
from fairlead.cli.usage.record import Record, find_record, names_record, opened
from fairlead.errors import DurationError, FairleadError
from fairlead.explain.text.names import printable
from fairlead.explain.usage.table import UsageReport, only_queue, usage_document, usage_report
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.duration import format_duration, moment_text, parse_duration
from fairlead.store.feed.reading import Reading, standing
from fairlead.store.feed.store_origin import stored_reading
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Gap
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding, begins_at

EPILOG = """\b
Examples:
  fairlead usage show --store usage.db
  fairlead usage show --store usage.db --window 30d --half-life 1w --by user
  fairlead usage show -f cluster/ --queue research -o json
  fairlead usage show --store usage.db --plot usage.svg
"""
COLUMNS = "queue user resource unit used decayed above_guarantee of_capacity".split()
PLOT_POINTS = 336  # half an hour each in a week


@click.command(epilog=EPILOG)
@click.option("--queue", metavar="QUEUE", help="Show this queue only.")
@click.option("--by", type=click.Choice(["queue", "user"]), default="queue", show_default=True)
@click.option(
    "--window", metavar="LENGTH", help="Count the last 7d, 12h, ...; by default as -f says."
)
@click.option(
    "--half-life", metavar="LENGTH", help="Halve the weight of usage every 2d, ...; 0: no decay."
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Draw what queues held over the window to a .svg or .png file.",
)
@output_option("table", "json", "yaml", "csv")
@names_record
@now_option
def show(
    queue: str | None,
    by: str,
    window: str | None,
    half_life: str | None,
    plot: str | None,
    output: str,
    store: str | None,
    files: tuple[str, ...],
    now: int,
) -> None:
    """Show the usage of every queue over a window.

    In GPU-hours, core-hours or GiB-hours, and as a part of the capacity over the same time. By
    default the window is the last 7 days, without decay. It ends now, or at the last observation
    if that is stale. With the objects of -f, inner queues are shown, too, each the sum of the
    queues below it.
    """
    if plot is not None and Path(plot).suffix.lower() not in (".svg", ".png"):
        raise click.BadParameter("expected a file that ends in .svg or .png", param_hint="--plot")
    record = find_record(store, files)
    rules = _rules(record.settings.rules, window, half_life)
    with opened(record, writes=False) as opened_store:
        reading = stored_reading(opened_store, rules, now, keeps_plain=True)
        report = _report(reading, record, now, by_user=by == "user")
        if queue is not None:
            _check_known(queue, report)
            report = only_queue(report, queue)
        if plot is not None:  # first: the reader of the table may leave before its end
            _draw(opened_store, rules, report.until_ms, queue, Path(plot))
        _print(report, output)
        begins_ms = _begins_ms(opened_store)
    _print_notes(report, reading, begins_ms)


def _begins_ms(store: UsageStore) -> int | None:
    """Return the moment of the first level in the store; None: there is none."""
    first_ms, next_ms = store.levels_around(0)
    return next_ms if first_ms is None else first_ms


def _print_notes(report: UsageReport, reading: Reading, begins_ms: int | None) -> None:
    """Say what a reader must know to trust the numbers, and what they do not tell."""
    if report.rows and begins_ms is not None and begins_ms > report.since_ms:
        begin = moment_text(begins_ms)
        click.echo(f"note: the store begins at {begin}; usage before is unknown", err=True)
    if report.until_ms < report.now_ms:
        end = moment_text(report.until_ms)
        click.echo(f"note: no observation after {end}; usage since then is unknown", err=True)
    if reading.newest_ms is not None:  # else the table says that there is nothing
        for problem in reading.problems:
            click.echo(printable(f"note: {problem}"), err=True)
    if report.unknown and report.rows:
        names = ", ".join(report.unknown)
        click.echo(f"note: the capacity of {names} is not recorded in this window", err=True)


def _rules(rules: UsageRules, window: str | None, half_life: str | None) -> UsageRules:
    if window is not None:
        length_ms, _ = _length_ms("--window", window)
        if length_ms <= 0:
            raise click.BadParameter("expected more than 0", param_hint="--window")
        rules = msgspec.structs.replace(rules, window=Sliding(length_ms))
    if half_life is not None:
        length_ms, is_exact = _length_ms("--half-life", half_life)
        if length_ms < 0:
            raise click.BadParameter("expected 0 or more", param_hint="--half-life")
        if length_ms == 0 and not is_exact:
            raise click.BadParameter("expected 0 or at least 1ms", param_hint="--half-life")
        rules = msgspec.structs.replace(rules, half_life_ms=length_ms or None)
    return rules


def _length_ms(option: str, text: str) -> tuple[int, bool]:
    """Read a length, and whether it is one of whole milliseconds."""
    try:
        return parse_duration(text)
    except DurationError as wrong:
        raise click.BadParameter(str(wrong), param_hint=option) from wrong


def _report(reading: Reading, record: Record, now_ms: int, *, by_user: bool) -> UsageReport:
    """Report what is known: after the last observation, held amounts are unknown."""
    rules = reading.rules
    looked_ms = now_ms if reading.newest_ms is None else reading.newest_ms
    reading = msgspec.structs.replace(reading, newest_ms=looked_ms)
    is_stale = now_ms - looked_ms > rules.staleness_ms
    found = standing(reading, "hold" if is_stale else "as before")
    return usage_report(found, rules, now_ms, record.parents, by_user=by_user)


def _check_known(queue: str, report: UsageReport) -> None:
    known = {row.queue for row in report.rows}
    if queue not in known:
        hint = did_you_mean(queue, known)
        end = f"; {hint}" if hint else ""
        raise FairleadError(printable(f"queue {queue} has no recorded usage in this window{end}"))


def _print(report: UsageReport, output: str) -> None:
    if output in ("json", "yaml"):
        from fairlead.cli.output.document import print_document

        print_document(usage_document(report), output)
        return
    if output == "csv":
        _print_csv(report)
        return
    fades = "" if report.half_life_ms is None else f", half-life {_short(report.half_life_ms)}"
    since, until = moment_text(report.since_ms), moment_text(report.until_ms)
    click.echo(f"used from {since} to {until}{fades}\n")
    click.echo(_table(report) if report.rows else "no usage")


def _short(length_ms: int) -> str:
    """Whole days as days, which is how half-lives are set."""
    days, rest = divmod(length_ms, 24 * 3_600_000)
    return format_duration(length_ms) if rest else f"{days}d"


def _table(report: UsageReport) -> str:
    head = [column.upper().replace("_", "-") for column in COLUMNS]
    has_users = any(row.user for row in report.rows)
    rows: list[Sequence[str]] = [head]
    last = ""
    for row in report.rows:
        if last and row.resource != last:
            rows.append(("",) * len(head))
        last = row.resource
        name = "  " * row.depth + row.queue
        numbers = (row.used, row.decayed, row.above_guarantee, _percent(row.of_capacity))
        rows.append((name, row.user or "-", row.resource, row.unit, *numbers))
    if not has_users:
        rows = [(row[0], *row[2:]) for row in rows]
    return table_text(rows, left=4 if has_users else 3)


def _percent(part: str) -> str:
    """``0.123456789`` as ``12.35%``; documents hold all digits."""
    return f"{float(part) * 100:.2f}%" if part else ""


def _print_csv(report: UsageReport) -> None:
    for row in (COLUMNS, *([getattr(row, column) for column in COLUMNS] for row in report.rows)):
        click.echo(csv_line(row), nl=False)


def _draw(
    store: UsageStore, rules: UsageRules, until_ms: int, queue: str | None, file: Path
) -> None:
    from fairlead.explain.figures.usage import draw_usage, held_over_time

    begin_ms = begins_at(rules.window, until_ms)
    entries = counted(store.entries(begin_ms), "entries read")
    record_ms = _begins_ms(store)
    unknown = []
    if record_ms is not None and record_ms > begin_ms:  # 0 would be wrong
        unknown = [Gap(at_ms=record_ms, since_ms=begin_ms)]
    in_order = chain(unknown, entries)
    held = held_over_time(in_order, len(store.resources), begin_ms, until_ms, PLOT_POINTS)
    if queue is not None:
        only = {name: points for name, points in held.queues.items() if name == queue}
        held = msgspec.structs.replace(held, queues=only)
    boxes = draw_usage(held, store.resources, file)
    if boxes is not None:
        click.echo(f"note: {boxes}", err=True)
    click.echo(f"drawn: {file}", err=True)
