"""Who changes a record, and why: the options of every command that does."""

import getpass
import os
import unicodedata
from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def read_name(_context: click.Context, option: click.Parameter, given: str | None) -> str | None:
    """Refuse what cannot be written down: bytes that are no text, and names that nobody can have.

    A reason may have several lines.
    """
    if any("\ud800" <= letter <= "\udfff" for letter in given or ""):
        raise click.BadParameter("found bytes that are no text in UTF-8")
    if given == "" and option.name == "queue":
        raise click.BadParameter("found no name")
    if option.name != "reason" and any(unicodedata.category(each) == "Cc" for each in given or ""):
        raise click.BadParameter(f"found {given!r}, expected a name without control characters")
    return given


def audited(default_reason: str | None = None) -> Callable[[Command], Command]:
    """Add the options that say who did it and why; without a default, a reason must be given."""
    why = "Why; kept in the log."
    given: dict[str, Any] = {"required": True}
    if default_reason is not None:
        why = f"Why; kept in the log. By default: {default_reason}."
        given = {"default": default_reason}

    def with_options(command: Command) -> Command:
        for option in (
            click.option(
                "--who",
                metavar="NAME",
                callback=read_name,
                help="Who does it; by default $SUDO_USER, $USER or the login name.",
            ),
            click.option(
                "--reason",
                metavar="TEXT",
                callback=read_name,
                help=why,
                **given,
            ),
        ):
            command = option(command)
        return command

    return with_options


def read_who(given: str | None) -> str:
    """Return who does it, as far as the machine knows."""
    name = given or os.environ.get("SUDO_USER") or os.environ.get("USER") or _login()
    if not name.strip():
        raise click.UsageError("say who does it: --who NAME")
    return name


def read_reason(text: str) -> str:
    """Return why it is done, which must say something."""
    if not text.strip():
        raise click.BadParameter("found no text, expected why", param_hint="--reason")
    return text


def _login() -> str:
    """Return the name of the user that the machine knows; containers may know none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
