"""``fairlead simulate``: a scenario, run under one or several rule sets."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from fairlead.cli.input.options import output_option
from fairlead.cli.output.progress import heeded
from fairlead.cli.output.table import csv_line
from fairlead.cli.sim.kai_file import FORMAT, OUTPUTS, print_shares
from fairlead.cli.sim.options import (
    TWO_POLICIES,
    Asked,
    SettingsCommand,
    file_or_exit,
    note_settings_without_effect,
    takes_scenario,
)
from fairlead.cli.sim.progress import RunProgress
from fairlead.explain.text.reasons import reason_text
from fairlead.sim.results.parquet_tables import require_parquet, write_parquet
from fairlead.sim.results.read_result import StoredResult, read_result
from fairlead.sim.results.result_folder import ResultFolder
from fairlead.sim.results.run_writer import COLUMNS, measure_rows
from fairlead.sim.run.run_variant import RunOrder, run_variant
from fairlead.sim.scenario.scenario import Variant, choose_variants
from fairlead.sim.scenario.settings import with_settings


def result_document(result: StoredResult) -> dict[str, Any]:
    """Return what every run was and came to; amounts are exact, in base units."""
    return {
        "apiVersion": "fairlead/v1",
        "kind": "SimulationResult",
        "scenario": result.about.scenario,
        "folder": str(result.folder),
        "complete": result.about.complete,
        "runs": [{"run": run.about, "summary": run.summary} for run in result.runs],
    }


def measure_lines(result: StoredResult) -> Iterator[str]:
    """Yield a line of CSV for every number of every run, the head first."""
    yield csv_line(("run", "variant", "seed", *COLUMNS))
    for run in result.runs:
        about = run.about
        for row in measure_rows(run.summary, about.resources):
            yield csv_line((about.name, about.variant, about.seed, *row))


EPILOG = f"""\b
Examples:
  fairlead simulate scenario.yaml
  fairlead simulate scenario.yaml --policy {TWO_POLICIES} --to this-week
  fairlead simulate scenario.yaml --set kValue=2 --set halfLife=1d --seeds 10
  fairlead simulate scenario.yaml --usage-from usage.db --usage-at 2026-11-16T00:00:00Z
  fairlead simulate share-simulation.yaml > shares.csv
"""


HELP = f"""Run a scenario on a virtual clock; measure waiting times and fairness.

Under each rule set in turn. All results are written to a folder, as CSV and JSON. A {FORMAT} is
run as it is, and its table printed.
"""


@click.command(cls=SettingsCommand, help=HELP, epilog=EPILOG)
@takes_scenario
@click.option("--parquet", is_flag=True, help="Write the tables as Parquet, too.")
@output_option("table", "wide", "json", "yaml", "csv")
def command(asked: Asked, parquet: bool, output: str) -> None:
    """Run the scenario, write the results, and print them."""
    read = file_or_exit(asked)
    if read.scenario is None:
        is_plain = asked.is_plain() and not parquet and output in OUTPUTS
        print_shares(read, is_plain=is_plain)
        return
    if parquet:
        require_parquet()
    changed = with_settings(read.scenario, asked.settings)
    variants = choose_variants(changed, asked.policies)
    note_settings_without_effect(read.scenario, variants, asked.settings)
    history = asked.history(changed, variants)
    first = changed.spec.seed if asked.seed is None else asked.seed
    orders = {
        run_name(variant, each, asked.seeds): RunOrder(
            scenario=read.scenario,
            variant=variant.name,
            seed=each,
            settings=asked.settings,
            history=history,
        )
        for variant in variants
        for each in range(first, first + (asked.seeds or 1))
    }
    folder = asked.folder(changed.name)
    is_whole = _run_all(orders, ResultFolder(folder, changed.name, orders))
    result = read_result(folder)
    for run in result.runs if parquet else ():
        write_parquet(run.folder, run.about)
    _show(result, variants, output)
    if not is_whole:
        click.echo(
            "interrupted: the results so far are written, and marked as incomplete", err=True
        )
        raise click.exceptions.Exit(130)


def run_name(variant: Variant, seed: int, seeds: int | None) -> str:
    """Return how a run is called: after its variant, and after its seed if there are several."""
    return variant.name if seeds is None else f"{variant.name}-seed-{seed}"


def _run_all(orders: dict[str, RunOrder], folder: ResultFolder) -> bool:
    """Run all, one after the other; return whether all ended."""
    with heeded("the results so far are written") as interruption:
        progress = RunProgress(interruption)
        try:
            for name, order in orders.items():
                about = run_variant(
                    order, folder.of_run(name), phrase=reason_text, observer=progress
                )
                folder.ended(about)
                if not about.complete or interruption.is_wanted:
                    return False
        finally:
            progress.end()
            folder.close()
    return True


def _show(result: StoredResult, variants: Sequence[Variant], output: str) -> None:
    if output in ("table", "wide"):
        from fairlead.cli.sim.tables import runs_text

        for variant in variants:
            runs = [run for run in result.runs if run.about.variant == variant.name]
            if runs:
                click.echo(f"{runs_text(runs, wide=output == 'wide')}\n")
        click.echo(f"results: {result.folder}")
        return
    if output == "csv":
        for line in measure_lines(result):
            click.echo(line, nl=False)
        return
    from fairlead.cli.output.document import print_document

    print_document(result_document(result), output)
