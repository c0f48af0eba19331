"""``fairlead run``: schedules a live cluster, or compares itself with the scheduler that does."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from fairlead import __version__
from fairlead.cli.input.address import read_address
from fairlead.cli.input.findings import show_findings
from fairlead.cli.input.live_objects import cluster_title
from fairlead.cli.live.logs import LogForm, default_form, logging_to
from fairlead.cli.live.names import MAX_NAMESPACE, reads_name
from fairlead.cli.live.schedule import Wishes, schedule
from fairlead.cli.live.settings import live_settings
from fairlead.cli.live.shadow import run_shadow
from fairlead.cli.usage.record import STORE_VARIABLE
from fairlead.cluster.kubernetes.client.find_access import Wanted, find_access
from fairlead.cluster.kubernetes.election.election import Election, unique_identity
from fairlead.cluster.kubernetes.live_rule_sets import LIVE_POLICIES
from fairlead.cluster.kubernetes.loop.leadership import Alone, Leadership
from fairlead.cluster.kubernetes.reporting.reporter import EventsWanted
from fairlead.explain.registry import RULE_SETS
from fairlead.policy.contract import POLICY_NAMES, PolicyName

EPILOG = f"""\b
Examples:
  fairlead run --policy {LIVE_POLICIES[0]}
  fairlead run --policy {LIVE_POLICIES[0]} --scheduler-name scheduler-plugins-scheduler
  fairlead run --shadow --policy {POLICY_NAMES[0]} --context prod
"""
DEFAULT_SCHEDULER_NAME: Final = "fairlead"
_WITHOUT_A_SHADOW: Final = {
    "leader_elect": "--leader-elect",
    "namespace": "-n",
    "events": "--events",
    "usage_store": "--usage-store",
}
"""Options about what a scheduler writes, and a shadow does not."""
_MAX_SCHEDULER_NAME: Final = 253  # that of a Lease
_INTERRUPTED: Final = 130

_LOG: Final = logging.getLogger(__name__)


@click.command(epilog=EPILOG)
@click.option("--policy", type=click.Choice(POLICY_NAMES), required=True, help="The rules.")
@click.option("--shadow", is_flag=True, help="Write nothing: compare with the scheduler that runs.")
@click.option("--kubeconfig", default="", metavar="FILE", help="By default as kubectl finds it.")
@click.option("--context", default="", metavar="NAME", help="By default the current one.")
@click.option(
    "--scheduler-name",
    metavar="NAME",
    callback=reads_name(_MAX_SCHEDULER_NAME, may_have_dots=True),
    help="Start pods of this spec.schedulerName.  [default: fairlead; with --shadow that of the "
    "scheduler whose objects they are]",
)
@click.option("-f", "--file", "files", multiple=True, metavar="PATH", help="Our own Settings.")
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Act only while holding a Lease that is named after the scheduler.",
)
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    callback=reads_name(MAX_NAMESPACE),
    help="Where the Lease is; by default in the namespace of the pod or of the context.",
)
@click.option(
    "--events",
    type=click.Choice(["changes", "all"]),
    default="changes",
    show_default=True,
    help="Write an Event for evictions and for new reasons to wait, or also for each start.",
)
@click.option(
    "--listen",
    metavar="[HOST:]PORT",
    callback=read_address,
    help="Serve /metrics, /healthz and /readyz, or /shadow, there; without a host, for this "
    "machine only.",
)
@click.option(
    "--usage-store",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar=STORE_VARIABLE,
    metavar="FILE",
    help=f"Record the usage of the queues here.  [env: {STORE_VARIABLE}]",
)
@click.option(
    "--log", type=click.Choice(["text", "json"]), help="By default text on a terminal, else JSON."
)
@click.option("--verbose", is_flag=True, help="Log the numbers of each decision.")
@click.pass_context
def command(
    ctx: click.Context,
    policy: PolicyName,
    shadow: bool,
    kubeconfig: str,
    context: str,
    scheduler_name: str | None,
    files: tuple[str, ...],
    leader_elect: bool,
    namespace: str | None,
    events: EventsWanted,
    listen: tuple[str, int] | None,
    usage_store: Path | None,
    log: LogForm | None,
    verbose: bool,
) -> None:
    """Schedule a live Kubernetes cluster, or compare with the scheduler that does.

    Follows the cluster, plans whenever something changes, and binds and evicts pods. Ends on
    SIGTERM or Ctrl-C, after what is on its way has ended.
    """
    if not shadow and policy not in LIVE_POLICIES:
        raise click.UsageError(
            f"--policy {policy} cannot schedule a cluster yet: add --shadow to see what it would "
            f"do; {', '.join(LIVE_POLICIES)} can"
        )
    if shadow:
        _check_shadow(ctx, policy, scheduler_name)
    wanted = Wanted(kubeconfig=kubeconfig, context=context)
    access, findings = find_access(wanted, os.environ)
    show_findings(findings)
    name = scheduler_name or (None if shadow else DEFAULT_SCHEDULER_NAME)
    given = live_settings(files, policy, name)

    def run(stop: asyncio.Event) -> Awaitable[None]:
        if name is None or shadow:
            return run_shadow(access, policy, given, RULE_SETS[policy].product, listen, stop)
        leadership: Leadership = Alone()
        if leader_elect:
            # Credentials are renewed by the thread that uses them, so the election has its own.
            own, _ = find_access(wanted, os.environ)
            leadership = Election(own, namespace or own.namespace, name, unique_identity())
        wishes = Wishes(
            policy=policy, given=given, events=events, usage_store=usage_store, listen=listen
        )
        return schedule(access, leadership, wishes, stop)

    with logging_to(sys.stderr, log or default_form(sys.stderr), is_verbose=verbose):
        begins = f"schedules pods of {name}" if not shadow else "writes nothing, and compares"
        _LOG.info("fairlead %s %s: %s, %s", __version__, begins, policy, cluster_title(access))
        asyncio.run(_until_signal(run))


def _check_shadow(ctx: click.Context, policy: PolicyName, scheduler_name: str | None) -> None:
    """Refuse options that a shadow has no use for. A variable of the environment is left alone."""
    given = [
        option
        for name, option in _WITHOUT_A_SHADOW.items()
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"a shadow writes nothing: leave out {', '.join(given)}")
    if scheduler_name is not None and policy not in LIVE_POLICIES:
        note = f"note: --scheduler-name has no effect: objects of {policy} say whose pods they are"
        click.echo(note, err=True)


async def _until_signal(run: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run until SIGTERM or SIGINT; a second one ends the process at once."""
    stop = asyncio.Event()
    event_loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            os._exit(_INTERRUPTED)
        stop.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        event_loop.add_signal_handler(each, on_signal)
    await run(stop)
