"""The ``fairlead`` command. Every sub-command is imported only when it is called.

Exit codes: 0 fine, 1 an error or findings, 2 wrong usage, 3 a declared guard is broken.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from fairlead import __version__
from fairlead.errors import FairleadError
from fairlead.explain.registry import RULE_SETS

COMMANDS = {
    "validate": "fairlead.cli.cluster.validate",
    "queues": "fairlead.cli.cluster.queues",
    "pending": "fairlead.cli.cluster.pending",
    "plan": "fairlead.cli.cluster.plan",
    "explain": "fairlead.cli.cluster.explain",
    "simulate": "fairlead.cli.sim.simulate",
    "sweep": "fairlead.cli.sim.sweep",
    "report": "fairlead.cli.sim.report",
    "compare": "fairlead.cli.sim.compare",
    "usage": "fairlead.cli.usage.command",
    "metrics": "fairlead.cli.metrics",
    "run": "fairlead.cli.live.run",
    "doctor": "fairlead.cli.live.doctor",
    "deploy": "fairlead.cli.live.deploy",
    "completion": "fairlead.cli.completion",
}
SUMMARIES = {
    "validate": "Check manifests and list every error, warning and piece of advice.",
    "queues": "Show the tree of queues: what each has, requests and is entitled to.",
    "pending": "List the workloads that wait in a queue, in queue order.",
    "plan": "Show which jobs start, wait, move or are evicted now, and why.",
    "explain": "Explain the numbers of a queue, why a job starts, waits or is evicted, or a node.",
    "simulate": "Run a scenario on a virtual clock; measure waiting times and fairness.",
    "sweep": "Run a scenario under all combinations of some settings, and compare them.",
    "report": "Write the results of a simulation as one page that opens in any browser.",
    "compare": "Compare simulations of the same work under different rules or settings.",
    "usage": "Show, change, export or import the recorded usage.",
    "metrics": "Print or serve metrics for Prometheus, under the names that dashboards know.",
    "run": "Schedule a live Kubernetes cluster, or compare with the scheduler that does.",
    "doctor": "Say what stands in the way of scheduling a cluster, each with its cure.",
    "deploy": "Print the YAML that installs Fairlead into a Kubernetes cluster.",
    "completion": "Print the completion script for your shell.",
}

COMPLETION_VARIABLE = "_FAIRLEAD_COMPLETE"

EXAMPLES = """\b
Examples:
  fairlead validate -f cluster/
  fairlead queues -f cluster/ --capacity gpu=64
  fairlead plan -f cluster/
  fairlead explain research -f cluster/
  fairlead queues --context prod
  kubectl get queues,nodes,podgroups,pods -A -o yaml | fairlead queues -f -
"""


class LazyGroup(click.Group):
    """Knows its commands by name and summary; imports one when it is asked for."""

    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        """Read the arguments; for --help that is all, so it prints here."""
        with _until_reader_leaves():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _until_reader_leaves():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


PRODUCTS = [each.product for each in RULE_SETS.values()]
HELP = f"""Share a cluster fairly: who gets what, why, and what happens if you change it.

Fairlead reads the queue objects you already have ({", ".join(PRODUCTS[:-1])} or {PRODUCTS[-1]}),
unchanged, from files, folders, standard input or a running cluster.
"""


@click.group(
    cls=LazyGroup,
    help=HELP,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="fairlead %(version)s")
def fairlead() -> None:
    """Choose the command; each is imported when it is called."""


def run(arguments: Sequence[str] | None = None, **extra: Any) -> None:
    """Run the command line and exit; a user's mistake ends in a message, not in a traceback."""
    _check_completion()
    try:
        # Without standalone mode, click hands the code of an Exit back instead of raising it.
        code = fairlead.main(args=arguments, standalone_mode=False, **extra) or 0
        if sys.stdout is None:
            _leave("error: cannot write the output: standard output is closed", 1)
        sys.stdout.flush()  # while a full disk can still be reported
        sys.exit(code)
    except click.exceptions.Abort:
        _leave("interrupted", 130)
    except click.ClickException as wrong:
        wrong.show()
        sys.exit(wrong.exit_code)
    except FairleadError as wrong:
        from fairlead.explain.text.names import printable

        lines = f"error: {wrong}".split("\n")  # of which findings have several
        _leave("\n".join(map(printable, lines)), 1)
    except OSError as wrong:
        _discard_output()
        _leave(f"error: cannot write the output: {wrong.strerror or wrong}", 1)


@contextlib.contextmanager
def _until_reader_leaves() -> Iterator[None]:
    """End well where the reader (head, less) has what it wanted; click would end with 1."""
    try:
        yield
    except BrokenPipeError:
        _discard_output()
        raise click.exceptions.Exit(0) from None


def _check_completion() -> None:
    """Leave where completion is asked for without what a shell says along with it."""
    is_asked = os.environ.get(COMPLETION_VARIABLE, "").endswith("_complete")
    place = os.environ.get("COMP_CWORD", "")
    if is_asked and not ("COMP_WORDS" in os.environ and place.isdecimal() and place.isascii()):
        message = f"error: {COMPLETION_VARIABLE} is set, but COMP_WORDS or COMP_CWORD is not: "
        _leave(f"{message}see fairlead completion --help", 2)


def _discard_output() -> None:
    """Let what is still in the buffer go nowhere: Python would complain once more at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(message: str, code: int) -> None:
    click.echo(message, err=True)
    sys.exit(code)
