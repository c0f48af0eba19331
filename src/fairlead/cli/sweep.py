"""``fairlead sweep``: a scenario under all combinations of some settings."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from fairlead.cli.interruption import Interruption, heeded
from fairlead.cli.options import output_option
from fairlead.cli.run_progress import RunCount
from fairlead.cli.simulation_file import assignments, check_seeds, names_in, scenario_or_exit
from fairlead.explain.reason_text import reason_text
from fairlead.sim.results.about import RunAbout
from fairlead.sim.results.read_result import StoredResult, read_result
from fairlead.sim.results.result_folder import RESULTS, ResultFolder, free_folder
from fairlead.sim.run_variant import RunOrder
from fairlead.sim.scenario.choose_variants import choose_variants
from fairlead.sim.sweep.combinations import Combination, all_runs, combinations

DASK: Final = "dask:"

EPILOG = """\b
Examples:
  fairlead sweep scenario.yaml --over kValue=0.5,1,2
  fairlead sweep scenario.yaml --over kValue=0.5,1,2 --over halfLife=1h,1d --seeds 10
  fairlead sweep scenario.yaml --over loadFactor=0.8,1,1.2 --policy kai,kueue --workers 8
  fairlead sweep scenario.yaml --over window=1d,7d --on dask:tcp://10.0.0.5:8786 -o csv
"""


@click.command(epilog=EPILOG)
@click.argument("scenario", type=click.Path(allow_dash=True))
@click.option(
    "--over",
    multiple=True,
    required=True,
    metavar="NAME=VALUE,...",
    help="A setting and the values to try; may be repeated for all combinations.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a setting in all runs; may be repeated.",
)
@click.option(
    "--policy",
    metavar="NAME,...",
    help="Which of its variants to run, or which rule sets; by default those that it lists.",
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="What chance begins with.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1, max=10_000),
    metavar="N",
    help="Run each N times, with the seed and those after it.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=1024),
    metavar="N",
    help="How many runs at a time; by default one for each core.",
)
@click.option(
    "--on",
    metavar="dask:ADDRESS",
    help="Run on this Dask cluster instead.",
)
@click.option(
    "--to",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Where to write the results; by default a new folder below results.",
)
@output_option("table", "json", "csv")
def command(
    scenario: str,
    over: tuple[str, ...],
    settings: tuple[str, ...],
    policy: str | None,
    seed: int | None,
    seeds: int | None,
    workers: int | None,
    on: str | None,
    to: str | None,
    output: str,
) -> None:
    """Run a scenario under all combinations of some settings, and compare them.

    Several runs at a time, each in a process of its own, or on an existing Dask cluster: the
    results are the same, byte for byte.
    """
    names = names_in(policy)
    swept = _swept(over)
    changes = assignments(settings, "--set")
    for name in swept.keys() & changes.keys():
        raise click.UsageError(f"found {name} in --set and in --over: leave one out")
    check_seeds({*swept, *changes}, seed, seeds)
    address = _address(on, workers)
    # Workers elsewhere know no folder of ours, so to them all paths are told from the root.
    path = scenario if address is None else str(Path(scenario).absolute())
    read = scenario_or_exit(path, names)
    variants = choose_variants(read, names)
    rows = combinations(read, variants, swept, changes, seed, seeds)
    orders = dict(all_runs(rows))
    folder = Path(to) if to else free_folder(Path(RESULTS), f"{read.name}-sweep")
    is_whole = _run_all(orders, ResultFolder(folder, read.name, orders), workers, address)
    _show(read_result(folder), rows, output)
    if not is_whole:
        click.echo("interrupted: the runs that had ended are kept", err=True)
        raise click.exceptions.Exit(130)


def _swept(over: Sequence[str]) -> Mapping[str, list[str]]:
    swept = {}
    for name, text in assignments(over, "--over").items():
        values = text.split(",")
        if "" in values or len(set(values)) < len(values):
            raise click.BadParameter(
                f"found {name}={text}, expected values that differ, such as {name}=1,2",
                param_hint="--over",
            )
        swept[name] = values
    return swept


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


def _run_all(
    orders: Mapping[str, RunOrder], folder: ResultFolder, workers: int | None, address: str | None
) -> bool:
    """Run all, and return whether nobody stopped that."""
    with heeded("the runs that have ended are kept") as interruption:
        progress = RunCount(len(orders))
        try:
            for about in _runs(orders, folder.path, workers, address, interruption):
                if about.complete:
                    folder.ended(about)
                    progress.one_more()
        finally:
            progress.end()
            folder.remove_unended()
        return not interruption.is_wanted


def _runs(
    orders: Mapping[str, RunOrder],
    folder: Path,
    workers: int | None,
    address: str | None,
    interruption: Interruption,
) -> Iterator[RunAbout]:
    if address is not None:
        from fairlead.sim.sweep.run_on_dask import run_on_dask

        return run_on_dask(
            address,
            orders,
            folder,
            phrase=reason_text,
            is_stopped=lambda: interruption.is_wanted,
        )
    from fairlead.sim.sweep.run_in_processes import run_in_processes

    return run_in_processes(
        orders,
        folder,
        workers=min(workers or _cores(), len(orders)),
        phrase=reason_text,
        is_stopped=lambda: interruption.is_wanted,
    )


def _cores() -> int:
    """Return how many processes this one may keep busy."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _show(result: StoredResult, rows: Sequence[Combination], output: str) -> None:
    from fairlead.cli.sweep_tables import sweep_document, sweep_lines, sweep_text

    match output:
        case "json":
            from fairlead.cli.output import print_document

            print_document(sweep_document(result, rows), output)
        case "csv":
            for line in sweep_lines(result, rows):
                click.echo(line, nl=False)
        case _:
            click.echo(f"{sweep_text(result, rows)}\n\nresults: {result.folder}")
