"""Finds the usage store of a command, and the rules by which it counts."""

import getpass
import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from fairlead.cli.input.named_input import NamedInput
from fairlead.cli.input.options import now_option
from fairlead.errors import FairleadError
from fairlead.explain.text.names import printable
from fairlead.manifest.assembled import Assembled
from fairlead.model.axes import QueueName
from fairlead.policy.contract import USAGE_POLICY_NAMES, counts_usage
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Forgiven, Granted
from fairlead.usage.settings import DAY_MS, PrometheusSource, StoreSource, UsageSettings

STORE_VARIABLE = "FAIRLEAD_USAGE_STORE"

Command = TypeVar("Command", bound=Callable[..., Any])


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Where the record is, and what the objects of ``-f`` say about it."""

    path: Path
    settings: UsageSettings
    parents: Mapping[QueueName, QueueName | None]  # empty without objects


def names_record(command: Command) -> Command:
    """Add the options that say which record is meant."""
    for option in reversed(
        (
            click.option(
                "--store",
                type=click.Path(dir_okay=False),
                metavar="FILE",
                help=f"The usage store; by default ${STORE_VARIABLE}, or what -f says.",
            ),
            click.option(
                "-f",
                "--file",
                "files",
                multiple=True,
                type=click.Path(allow_dash=True),
                metavar="PATH",
                help="Objects with queues and settings: file, folder or -; may be repeated.",
            ),
        )
    ):
        command = option(command)
    return command


def find_record(store: str | None, files: tuple[str, ...]) -> Record:
    """Return what the options, the environment and the objects say together, in this order."""
    assembled = _assembled(files) if files else None
    settings = _usage_settings(assembled)
    queues = {} if assembled is None else assembled.state.queues
    path = Path(store or os.environ.get(STORE_VARIABLE, "") or _path_in(settings))
    _check_file(path)
    return Record(
        path=path,
        settings=settings or UsageSettings(),
        parents={name: queue.parent for name, queue in queues.items()},
    )


@contextmanager
def opened(record: Record, *, writes: bool, makes: bool = False) -> Iterator[UsageStore]:
    """Open the store, which must exist unless the caller *makes* one."""
    if writes and not makes:
        # Refuses a missing or empty file: a mistake in the name must not start a new store.
        UsageStore.open(record.path, writes=False).close()
    with UsageStore.open(record.path, writes=writes) as store:
        yield store


def _check_file(path: Path) -> None:
    """Refuse what is no record, before it is opened: of a pipe, the end would be waited for."""
    if path.parts[:1] in (("http:",), ("https:",)):
        raise FairleadError(
            "Prometheus is not a usage store, and its usage cannot be listed by user: name a file; "
            "fairlead queues --usage-source URL shows the usage from Prometheus"
        )
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "not a regular file"
        raise FairleadError(printable(f"usage store {path}: it is {what}; name a file"))


def moment_to_write(store: UsageStore, now_ms: int) -> int:
    """Return when a change is to be written: now, but not before what is there.

    A clock may be a little behind the record. If it is more than a day, the record is wrong about
    the time, and a change in the far future would have no effect.
    """
    newest_ms = store.newest_ms
    if newest_ms is None or newest_ms > now_ms + DAY_MS:
        return now_ms
    return max(now_ms, newest_ms)


def write_act(store: UsageStore, act: Granted | Forgiven) -> None:
    """Write what an administrator did; the same twice in one moment would count only once."""
    known = set(store.audit())
    while act in known:
        act = msgspec.structs.replace(act, at_ms=act.at_ms + 1)
    store.append([act])


def _assembled(files: tuple[str, ...]) -> Assembled:
    from fairlead.cli.input.findings import show_findings

    asked = NamedInput(files, None)
    result = asked.load()
    errors = {finding.code for finding in result.findings if finding.severity == "error"}
    if errors == {"no-queues"}:
        # Settings without queues are meant for rules under which past usage counts.
        asked.policy = USAGE_POLICY_NAMES[0]
        result = asked.load()
    shown = "error" if result.assembled is None else "warning"
    show_findings([finding for finding in result.findings if finding.severity == shown])
    if result.assembled is None:
        raise click.exceptions.Exit(1)
    return result.assembled


def _usage_settings(assembled: Assembled | None) -> UsageSettings | None:
    settings = None if assembled is None else counts_usage(assembled.settings)
    return None if settings is None else settings.usage


def _path_in(settings: UsageSettings | None) -> str:
    match None if settings is None else settings.source:
        case StoreSource(path=path):
            return path
        case PrometheusSource():
            found = "the settings name Prometheus, which is not a usage store"
        case None:
            found = "no usage store is named"
    raise FairleadError(
        f"{found}: name the file with --store FILE, in the variable {STORE_VARIABLE}, or in the "
        "settings among the objects of -f"
    )


def dated(meaning: str) -> Callable[[click.Command], click.Command]:
    """Add ``--now`` as the last option; *meaning* is what it says in the help."""

    def add(command: click.Command) -> click.Command:
        now_option(command)
        option = command.params[-1]
        assert isinstance(option, click.Option)
        option.help = meaning
        return command

    return add


def read_name(_context: click.Context, option: click.Parameter, given: str | None) -> str | None:
    """Refuse what cannot be written down: bytes that are no text, and impossible names.

    A reason may have several lines.
    """
    if any("\ud800" <= letter <= "\udfff" for letter in given or ""):
        raise click.BadParameter("found bytes that are not UTF-8")
    if given == "" and option.name == "queue":
        raise click.BadParameter("found no name")
    if option.name != "reason" and any(unicodedata.category(each) == "Cc" for each in given or ""):
        raise click.BadParameter(f"found {given!r}, expected a name without control characters")
    return given


def audited(default_reason: str | None = None) -> Callable[[Command], Command]:
    """Add the options that say who did it and why; without a default, a reason must be given."""
    why = "The reason, for the log."
    given: dict[str, Any] = {"required": True}
    if default_reason is not None:
        why = f"The reason, for the log. By default: {default_reason}."
        given = {"default": default_reason}

    def with_options(command: Command) -> Command:
        for option in (
            click.option(
                "--who",
                metavar="NAME",
                callback=read_name,
                help="The name for the log; by default $SUDO_USER, $USER or the login name.",
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
        raise click.UsageError("no login name was found: add --who NAME")
    return name


def read_reason(text: str) -> str:
    """Return why it is done, which must say something."""
    if not text.strip():
        raise click.BadParameter("found no text, expected a reason", param_hint="--reason")
    return text


def _login() -> str:
    """Return the name of the user that the machine knows; containers may know none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
