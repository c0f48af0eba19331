"""Findings for people."""

import os
from collections.abc import Sequence
from typing import Final

import click

from fairlead.errors import Finding
from fairlead.explain.text.names import first_few, printable

COLOURS = {"error": "red", "warning": "yellow", "advice": "cyan"}


MOST_OF_A_KIND: Final = 3
"""Of more warnings of one kind only the first is printed, with a few of the others."""

MOST_ERRORS_OF_A_KIND: Final = 10
"""Each error has to be fixed, so more of them are printed."""


def show_findings(
    findings: Sequence[Finding], *, to_stderr: bool = True, every_one: bool = False
) -> None:
    """Print findings with their place, what was expected and the fix.

    Many of one kind are printed as one and a count, unless *every_one* is wanted.
    """
    kinds: dict[tuple[object, ...], list[Finding]] = {}
    for at, finding in enumerate(findings):
        kinds.setdefault((at,) if every_one else _kind(finding), []).append(finding)
    for alike in kinds.values():
        is_error = alike[0].severity == "error"
        if len(alike) > (MOST_ERRORS_OF_A_KIND if is_error else MOST_OF_A_KIND):
            _show([alike[0]], to_stderr=to_stderr)
            click.echo(f"    {_others_text(alike)}", err=to_stderr)
        else:
            _show(alike, to_stderr=to_stderr)


def _kind(finding: Finding) -> tuple[object, ...]:
    """Return what findings have in common that differ in names and places only."""
    return finding.severity, finding.code, len(finding.message.split())


def _others_text(alike: Sequence[Finding]) -> str:
    """Return how many more there are, with the words in which the messages differ, and places."""
    words = [finding.message.split() for finding in alike]
    differ = [at for at, column in enumerate(zip(*words, strict=True)) if len(set(column)) > 1]
    names = [" ".join(each[at] for at in differ).strip(",;:.") for each in words[1:]]
    places = [each.file if each.line is None else f"{each.file}:{each.line}" for each in alike[1:]]
    if differ:
        names = [f"{name} ({place})" for name, place in zip(names, places, strict=True)]
    else:
        names = places
    count = len(alike) - 1
    return printable(
        f"and {count} more of this kind: {first_few(names)}; fairlead validate -o wide lists all"
    )


def _show(findings: Sequence[Finding], *, to_stderr: bool) -> None:
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
