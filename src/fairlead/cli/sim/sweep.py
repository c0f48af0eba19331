"""``fairlead sweep``: a scenario under all combinations of some settings."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import click
import msgspec

from fairlead.cli.input.options import output_option
from fairlead.cli.output.progress import heeded
from fairlead.cli.output.table import csv_line, table_text
from fairlead.cli.sim.options import (
    TWO_POLICIES,
    Asked,
    SettingsCommand,
    assignments,
    check_seeds,
    note_settings_without_effect,
    scenario_or_exit,
    takes_scenario,
    tell_without_effect,
)
from fairlead.cli.sim.progress import RunCount
from fairlead.cli.sim.tables import cell, cluster_columns, main_resource
from fairlead.explain.text.reasons import reason_text
from fairlead.sim.measures.spread import Spread, spread
from fairlead.sim.measures.summary import Summary
from fairlead.sim.results.about import RunAbout
from fairlead.sim.results.eviction_table import Phrase
from fairlead.sim.results.read_result import StoredResult, read_result
from fairlead.sim.results.result_folder import ResultFolder
from fairlead.sim.run.run_variant import RunOrder
from fairlead.sim.scenario.scenario import choose_variants
from fairlead.sim.scenario.settings import with_settings
from fairlead.sim.sweep.combinations import (
    Combination,
    Sweep,
    all_runs,
    combinations,
    without_effect,
)


def sweep_text(result: StoredResult, rows: Sequence[Combination], *, wide: bool) -> str:
    """Return the table; a combination of which no run ended has none of its measures."""
    known = _summaries(result)
    resource = main_resource(list(known.values()))
    columns = cluster_columns(resource)
    head = ["VARIANT", *(name for name in rows[0].swept), *(column.title for column in columns)]
    lines = []
    for row in rows:
        summaries = _of(row, known)
        cells = [cell(column, summaries) for column in columns]
        lines.append([row.variant, *row.swept.values(), *cells])
    return table_text([head, *lines], left=1 + len(rows[0].swept), wide=wide)


def sweep_document(result: StoredResult, rows: Sequence[Combination]) -> dict[str, Any]:
    """Return every measure of every combination, as means over its seeds."""
    known = _summaries(result)
    return {
        "apiVersion": "fairlead/v1",
        "kind": "SweepResult",
        "scenario": result.about.scenario,
        "folder": str(result.folder),
        "complete": result.about.complete,
        "combinations": [
            {
                "variant": row.variant,
                "settings": row.swept,
                "runs": [name for name in row.runs if name in known],
                "measures": spread(_of(row, known)),
            }
            for row in rows
        ],
    }


def sweep_lines(result: StoredResult, rows: Sequence[Combination]) -> Iterator[str]:
    """Yield a line of CSV for every measure of every combination, the head first."""
    known = _summaries(result)
    fields = Spread.__struct_fields__
    yield csv_line(("variant", *rows[0].swept, *fields))
    for row in rows:
        for each in spread(_of(row, known)):
            numbers = (getattr(each, field) for field in fields)
            yield csv_line((row.variant, *row.swept.values(), *numbers))


def _summaries(result: StoredResult) -> dict[str, Summary]:
    return {run.about.name: run.summary for run in result.runs}


def _of(row: Combination, known: dict[str, Summary]) -> list[Summary]:
    return [known[name] for name in row.runs if name in known]


DASK: Final = "dask:"

EPILOG = f"""\b
Examples:
  fairlead sweep scenario.yaml --over kValue=0.5,1,2
  fairlead sweep scenario.yaml --over kValue=0.5,1,2 --over halfLife=1h,1d --seeds 10
  fairlead sweep scenario.yaml --over loadFactor=0.8,1,1.2 --policy {TWO_POLICIES} --workers 8
  fairlead sweep scenario.yaml --over window=1d,7d --on dask:tcp://10.0.0.5:8786 -o csv
"""


class RunThem(Protocol):
    """Runs orders below a folder and yields each run as it ends, until it is stopped."""

    def __call__(
        self,
        orders: Mapping[str, RunOrder],
        folder: Path,
        *,
        phrase: Phrase,
        is_stopped: Callable[[], bool],
    ) -> Iterator[RunAbout]: ...


def _read_swept(
    _context: click.Context, _option: click.Parameter, items: tuple[str, ...]
) -> Mapping[str, list[str]]:
    swept = {}
    for name, text in assignments(items, "NAME=VALUE,... such as kValue=0.5,1,2").items():
        values = text.split(",")
        if "" in values or len(set(values)) < len(values):
            raise click.BadParameter(
                f"found {name}={text}, expected values that differ, such as {name}=1,2"
            )
        swept[name] = values
    return swept


@click.command(cls=SettingsCommand, epilog=EPILOG)
@click.option(
    "--over",
    multiple=True,
    required=True,
    metavar="NAME=VALUE,...",
    callback=_read_swept,
    help="A setting and the values to try; may be repeated for all combinations.",
)
@takes_scenario
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=1024),
    metavar="N",
    help="How many runs at a time; by default one for each core.",
)
@click.option("--on", metavar="dask:ADDRESS", help="Run on this Dask cluster instead.")
@output_option("table", "wide", "json", "csv")
def command(
    asked: Asked, over: Mapping[str, list[str]], workers: int | None, on: str | None, output: str
) -> None:
    """Run a scenario under all combinations of some settings, and compare them.

    Several runs at a time, each in a process of its own, or on an existing Dask cluster: the
    results are the same, byte for byte.
    """
    for name in over.keys() & asked.settings.keys():
        raise click.UsageError(f"found {name} in --set and in --over: leave one out")
    check_seeds(over, asked)
    address = _address(on, workers)
    if address is not None:
        # Workers elsewhere know no folder of ours, so they get absolute paths.
        path = str(Path(asked.scenario).absolute())
        asked = msgspec.structs.replace(asked, scenario=path)
    scenario = scenario_or_exit(asked)
    variants = choose_variants(scenario, asked.policies)
    # Which use counts, and whether any does, is the same for all values of a setting.
    first = {name: values[0] for name, values in over.items()}
    sweep = Sweep(
        scenario=scenario,
        variants=variants,
        over=over,
        settings=asked.settings,
        seed=asked.seed,
        seeds=asked.seeds,
        history=asked.history(with_settings(scenario, {**asked.settings, **first}), variants),
    )
    rows = combinations(sweep)
    note_settings_without_effect(scenario, variants, asked.settings, beside=first)
    for found in without_effect(sweep):
        tell_without_effect(found, found.setting, ": its rows are equal")
    orders = dict(all_runs(rows))
    with _place(address, min(workers or _cores(), len(orders))) as run_them:
        folder = asked.folder(f"{scenario.name}-sweep")
        result = ResultFolder(folder, scenario.name, orders)
        is_whole = _run_all(orders, result, run_them)
    if not result.has_ended:
        click.echo("interrupted: no run had ended, so nothing was written", err=True)
        raise click.exceptions.Exit(130)
    _show(read_result(folder), rows, output)
    if not is_whole:
        click.echo("interrupted: the runs that had ended are kept", err=True)
        raise click.exceptions.Exit(130)


def _address(on: str | None, workers: int | None) -> str | None:
    if on is None:
        return None
    if not on.startswith(DASK) or on == DASK:
        raise click.BadParameter(
            f"found {on!r}, expected such as dask:tcp://10.0.0.5:8786", param_hint="--on"
        )
    if workers is not None:
        raise click.UsageError("--workers is for this machine: a Dask cluster has its own")
    return on.removeprefix(DASK)


@contextmanager
def _place(address: str | None, workers: int) -> Iterator[RunThem]:
    """Return what runs orders: on a Dask cluster that answers, or in processes of this machine."""
    if address is not None:
        from fairlead.sim.sweep.run_on_dask import dask_cluster

        with dask_cluster(address) as cluster:
            yield cluster.run
    else:
        from fairlead.sim.sweep.run_in_processes import run_in_processes

        yield partial(run_in_processes, workers=workers)


def _run_all(orders: Mapping[str, RunOrder], folder: ResultFolder, run_them: RunThem) -> bool:
    """Run all, and return whether all ended."""
    with heeded("the runs that have ended are kept") as interruption:
        progress = RunCount(len(orders))
        try:
            for about in run_them(
                orders,
                folder.aside,
                phrase=reason_text,
                is_stopped=lambda: interruption.is_wanted,
            ):
                if about.complete:
                    folder.ended(about)
                    progress.one_more()
        finally:
            progress.end()
            folder.close()
        return not interruption.is_wanted


def _cores() -> int:
    """Return how many processes this one may keep busy."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _show(result: StoredResult, rows: Sequence[Combination], output: str) -> None:
    match output:
        case "json":
            from fairlead.cli.output.document import print_document

            print_document(sweep_document(result, rows), output)
        case "csv":
            for line in sweep_lines(result, rows):
                click.echo(line, nl=False)
        case _:
            table = sweep_text(result, rows, wide=output == "wide")
            click.echo(f"{table}\n\nresults: {result.folder}")
