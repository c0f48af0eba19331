"""``fairlead report``: one page, or pictures, of what a simulation came to."""

from pathlib import Path

import click

from fairlead.cli.input.options import NamedPath
from fairlead.errors import FairleadError
from fairlead.explain.text.names import printable
from fairlead.explain.text.whole_file import is_stream, write_inside, write_whole
from fairlead.sim.report.make_report import make_report
from fairlead.sim.report.report_page import ReportPage
from fairlead.sim.results.about import PAGE_FILE
from fairlead.sim.results.read_result import read_result
from fairlead.web.page.write_page import write_page

EPILOG = """\b
Examples:
  fairlead report results/a-busy-day
  fairlead report results/a-busy-day --to busy-day.html
  fairlead report results/a-busy-day --figures figures --format png
"""


@click.command(epilog=EPILOG)
@click.argument("result", type=NamedPath(file_okay=False))
@click.option(
    "--to",
    "file",
    type=NamedPath(dir_okay=False),
    metavar="FILE",
    help=f"Write the page there; by default as {PAGE_FILE} into the folder of the result.",
)
@click.option(
    "--figures",
    type=NamedPath(file_okay=False),
    metavar="FOLDER",
    help="Draw pictures into this folder, instead of a page unless --to asks for one.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["svg", "png"]),
    help="Of the pictures.  [default: svg]",
)
def command(result: str, file: str | None, figures: str | None, form: str | None) -> None:
    """Write the results of a simulation as one page that opens in any browser.

    RESULT is a folder that fairlead simulate has written. The page has for each run what queues
    held over time against what was due to them, past use, waits, evictions with their reasons, and
    a table of all measures. It is one file and needs no network. A result that was stopped before
    its end is shown as far as it goes, and marked.
    """
    if form is not None and figures is None:
        raise click.UsageError("--format is of pictures: add --figures FOLDER, or leave it out")
    stored = read_result(result)
    if not stored.runs:
        raise FairleadError(f"{result} holds no run that can be shown: simulate again")
    page = make_report(stored.about.scenario, stored.runs, is_complete=stored.about.complete)
    if figures is not None:
        _draw(page, Path(figures), form or "svg")
    if file is not None or figures is None:
        text = write_page("report", f"{page.scenario}: simulation report", page)
        if file is None:
            place = Path(result) / PAGE_FILE
            write_inside(place, [text])
        else:
            place = Path(file)
            write_whole(place, [text])
        click.echo(f"written: {place}", err=is_stream(place))  # not after the page itself


def _draw(page: ReportPage, folder: Path, form: str) -> None:
    from fairlead.explain.figures.simulation import draw_figures

    drawn = draw_figures(page, folder, form)
    for file in drawn.files:
        click.echo(f"drawn: {file}")
    if drawn.note is not None:
        click.echo(printable(f"note: {drawn.note}"), err=True)
