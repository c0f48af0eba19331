"""Findings for people."""

import os
from collections.abc import Sequence

import click

from fairlead.errors import Finding
from fairlead.explain.text.names import printable

COLOURS = {"error": "red", "warning": "yellow", "advice": "cyan"}


def show_findings(findings: Sequence[Finding], *, to_stderr: bool = True) -> None:
    """Print each finding with its place, what was expected and the cure."""
    for finding in findings:
        # Also where a reader forgot to quote a name, nothing is left that a terminal would obey.
        text = "\n".join(map(printable, str(finding).split("\n")))
        head, _, rest = text.partition(f" {finding.severity}: ")
        word = click.style(finding.severity, fg=COLOURS[finding.severity], bold=True)
        click.echo(f"{head} {word}: {rest}", err=to_stderr, color=use_colour())


def omitted_text(count: int) -> str:
    """Return how many findings were only counted, because there are too many of their severity."""
    return f"and {count} more that {'is' if count == 1 else 'are'} not shown"


def use_colour() -> bool | None:
    """Return False where NO_COLOR is set or the terminal is dumb, else None: on a terminal only."""
    is_unwanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if is_unwanted else None
