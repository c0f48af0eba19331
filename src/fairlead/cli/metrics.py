"""``fairlead metrics``: the state of the queues in the form that Prometheus reads."""

import io
import time
from collections.abc import Callable
from contextlib import closing, redirect_stderr
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from fairlead.cli.input.address import read_address
from fairlead.cli.input.named_input import NamedInput, reads_input
from fairlead.cli.input.options import (
    capacity_option,
    now_option,
    read_capacity,
    shards_or_exit,
)
from fairlead.cli.input.shards import only_shard, shard_option
from fairlead.cli.output.progress import SayNews
from fairlead.cli.past_use import PastUseReader, usage_options, usage_wish
from fairlead.errors import FairleadError, ManifestError
from fairlead.explain.text.names import printable
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.load import LoadResult
from fairlead.model.axes import Amounts
from fairlead.store.metrics.family import Family
from fairlead.store.metrics.registry import state_families

if TYPE_CHECKING:
    from fairlead.explain.usage.shares import PastUse

EPILOG = """\b
Examples:
  fairlead metrics -f cluster/
  fairlead metrics -f cluster/ --usage --listen 9464
  fairlead metrics -f cluster/ --listen 0.0.0.0:9464
  fairlead metrics -A --listen 9464
"""
_BUDGET_S: Final = 30.0  # for reading a cluster; few scrapers wait as long


@click.command(epilog=EPILOG)
@reads_input
@shard_option
@capacity_option
@usage_options
@click.option(
    "--listen",
    metavar="[HOST:]PORT",
    callback=read_address,
    help="Serve /metrics there until interrupted, and read the input anew for every scrape; "
    "without a host, for this machine only.",
)
@now_option
@click.pass_context
def command(
    context: click.Context,
    asked: NamedInput,
    shard: str | None,
    capacity: str | None,
    usage: bool,
    usage_source: str | None,
    listen: tuple[str, int] | None,
    now: int,
) -> None:
    """Print or serve metrics for Prometheus, under the names that dashboards know.

    The names, labels and units are those of the scheduler whose objects are read.
    """

    def load() -> LoadResult:
        return asked.load(shard=shard, every_shard=shard is None)

    if asked.namespace is not None:
        raise click.UsageError("metrics are those of all queues: leave out --namespace")
    if listen is not None:
        _check_serving(asked.names, context)
    wish = usage_wish(usage, usage_source, now)
    say = SayNews()

    def families(assembled: Assembled, now_ms: int) -> list[Family]:
        given = _given_capacity(capacity, assembled, say)
        found = past.let_count(assembled, now_ms)
        unknown = () if found is None else found.vector.unknown
        return [
            *state_families(assembled.state, assembled.settings, given, unknown=unknown),
            *_health(found),
        ]

    with closing(PastUseReader(wish, in_background=listen is not None)) as past:
        (shards,) = shards_or_exit(load())
        assembled = only_shard(shards, "the scheduler of each shard has metrics of its own")
        first = families(assembled, now)
        if listen is not None:
            _serve(listen, first, lambda: _read_again(asked, load, families))
            return
    from fairlead.store.metrics.exposition import exposition

    click.echo(exposition(first).decode(), nl=False)


def _given_capacity(text: str | None, assembled: Assembled, say: SayNews) -> Amounts | None:
    """Read ``--capacity``, and say what there is to say about it once, not at every scrape."""
    with redirect_stderr(io.StringIO()) as notes:
        given = read_capacity(text, assembled)
    say({line: line for line in notes.getvalue().splitlines()})
    return given


def _health(found: "PastUse | None") -> list[Family]:
    """Report how past usage was found, if it was asked for."""
    if found is None:
        return []
    from fairlead.store.metrics.family import usage_store_families

    vector = found.vector
    is_well = vector.state == "fresh" and vector.problem is None
    return usage_store_families(age_ms=vector.age_ms, is_degraded=not is_well)


def _check_serving(names: tuple[str, ...], context: click.Context) -> None:
    """Refuse what cannot be done at every scrape."""
    if "-" in names:
        raise click.UsageError(
            "--listen reads the input anew for every scrape, and standard input can be read only "
            "once: name files or folders"
        )
    if context.get_parameter_source("now") is not ParameterSource.DEFAULT:
        raise click.UsageError("--listen shows the present at every scrape: leave out --now")


def _read_again(
    asked: NamedInput,
    load: Callable[[], LoadResult],
    families: Callable[[Assembled, int], list[Family]],
) -> list[Family]:
    """Read and measure as at the start; whatever is wrong is a FairleadError."""
    asked.read_again(_BUDGET_S)
    result = load()
    if result.assembled is None:
        raise ManifestError(each for each in result.findings if each.severity == "error")
    if not result.assembled.state.queues:
        raise FairleadError(f"the input has no queues for {result.assembled.policy} any more")
    try:
        return families(result.assembled, time.time_ns() // 10**6)
    except click.ClickException as wrong:  # --capacity names what the input had before
        raise FairleadError(wrong.format_message()) from wrong


def _serve(listen: tuple[str, int], first: list[Family], read: Callable[[], list[Family]]) -> None:
    from fairlead.web.last_good_metrics import LastGoodMetrics
    from fairlead.web.metrics_server import MetricsServer

    metrics = LastGoodMetrics(first, read, _report)
    with MetricsServer(*listen, metrics.answer) as server:
        _report(f"serving {server.url}")
        server.serve_forever()


def _report(message: str) -> None:
    click.echo("\n".join(map(printable, message.splitlines())), err=True)
