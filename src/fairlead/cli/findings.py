"""Findings for people."""

import os
from collections.abc import Sequence

import click

from fairlead.errors import Finding
from fairlead.manifest.load import LoadResult

COLOURS = {"error": "red", "warning": "yellow", "advice": "cyan"}


def show_findings(findings: Sequence[Finding], *, to_stderr: bool = True) -> None:
    """Print each finding with its place, what was expected and the cure."""
    for finding in findings:
        text = str(finding)
        head, _, rest = text.partition(f" {finding.severity}: ")
        word = click.style(finding.severity, fg=COLOURS[finding.severity], bold=True)
        click.echo(f"{head} {word}: {rest}", err=to_stderr, color=use_colour())


def omitted_text(result: LoadResult) -> str:
    """Return how many findings are only counted, and whether the errors are all among them."""
    text = f"and {result.omitted} more that are not shown"
    shown = any(finding.severity == "error" for finding in result.findings)
    if shown or result.assembled is not None:
        return text
    return f"{text}, among them every error: mend some of the others first"


def use_colour() -> bool | None:
    """Return False where NO_COLOR is set, else None: colour only on a terminal."""
    return False if os.environ.get("NO_COLOR") else None
