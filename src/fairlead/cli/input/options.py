"""Options that several commands share, and what they mean together."""

import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import click

from fairlead.errors import FairleadError, QuantityError
from fairlead.explain.rule_set import rule_set_of
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.load import LoadResult
from fairlead.manifest.text.files import STDIN
from fairlead.manifest.text.limits import MAX_FILE_BYTES
from fairlead.model.axes import Amounts
from fairlead.model.quantity import (
    MAX_QUANTITY,
    base_units,
    most_base_units,
    parse_quantity,
    show_amount,
)
from fairlead.policy.contract import Settings


def read_standard_input(names: Iterable[str]) -> bytes:
    """Return what is on standard input if one of *names* means it, else nothing.

    Of an input above the bound only so much is read that `load` will refuse it.
    """
    if STDIN not in names:
        return b""
    if sys.stdin is None:
        raise FairleadError("standard input is closed: name a file, or pipe something in")
    try:
        return sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    except OSError as wrong:
        raise FairleadError(f"standard input cannot be read: {wrong.strerror}") from wrong


class NamedPath(click.Path):
    """Refuses a name that is empty: it would mean the folder in which the command runs."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or report what is wrong with it."""
        if value == "":
            what = "folder" if self.dir_okay and not self.file_okay else "file"
            self.fail(
                f"found an empty path, perhaps from a variable that is not set: name a {what}",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
END_OF_TIME = datetime(2201, 1, 1, tzinfo=UTC)
"""The first moment that ``--now`` may not be."""

_FORBIDDEN: Final = "forbidden"

Command = TypeVar("Command", bound=Callable[..., Any])


def output_option(*forms: str) -> Callable[[Command], Command]:
    """Add ``-o``; the first of *forms* is the default."""
    return click.option(
        "-o", "--output", type=click.Choice(forms), default=forms[0], show_default=True
    )


def capacity_option(command: Command) -> Command:
    """Add ``--capacity``."""
    return click.option(
        "--capacity",
        metavar="gpu=N,cpu=N,memory=N",
        help="The capacity to share, instead of that of the nodes in the input.",
    )(command)


def now_option(command: Command) -> Command:
    """Add ``--now``."""
    return click.option(
        "--now",
        metavar="TIME",
        callback=_read_time,
        help="Plan as of this time, such as 2026-11-16T09:00:00Z; by default now.",
    )(command)


def _read_time(context: click.Context, option: click.Parameter, text: str | None) -> int:
    at_ms = read_moment(context, option, text)
    return time.time_ns() // 10**6 if at_ms is None else at_ms


def read_moment(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    """Return the moment that an option says, in milliseconds since 1970; None if it says none."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as wrong:
        raise click.BadParameter(f"found {text!r}, expected 2026-11-16T09:00:00Z") from wrong
    if moment.tzinfo is None:
        hint = f"{moment.isoformat(timespec='seconds')}Z"
        raise click.BadParameter(f"found {text!r} without a time zone, expected such as {hint}")
    if not EPOCH <= moment < END_OF_TIME:
        last = END_OF_TIME.year - 1
        raise click.BadParameter(
            f"found {text!r}, expected a time in the years {EPOCH.year} to {last}, in UTC"
        )
    return (moment - EPOCH) // timedelta(milliseconds=1)


def faithful_option(command: Command) -> Command:
    """Add ``--faithful``."""
    return click.option(
        "--faithful",
        is_flag=True,
        help="Decide as the original scheduler does, quirks included; by default with Fairlead's "
        "fixes.",
    )(command)


def with_faithfulness(settings: Settings, *, faithful: bool) -> Settings:
    """Return *settings* as `faithful_option` wants them.

    The option only adds: what the input itself says about being faithful holds without it.
    """
    changed: Settings = rule_set_of(settings).with_faithfulness(settings, faithful=faithful)
    return changed


def states_or_exit(*results: LoadResult) -> list[Assembled]:
    """Return the one state of each input; see `shards_or_exit`."""
    return [shards[0] for shards in shards_or_exit(*results)]


def shards_or_exit(*results: LoadResult) -> list[tuple[Assembled, ...]]:
    """Return the shards of each input. Show warnings, and leave with every error if it is refused.

    A shard without queues is an answer where another one has some.
    """
    from fairlead.cli.input.findings import omitted_text, show_findings

    is_refused = any(result.assembled is None for result in results)
    shown = ("error",) if is_refused else ("error", "warning")
    for result in results:
        # What may not be read is the likely cause of an error.
        wanted = [
            each for each in result.findings if each.code == _FORBIDDEN or each.severity in shown
        ]
        show_findings(wanted)
        if result.omitted:
            click.echo(omitted_text(result.omitted), err=True)
    if is_refused:
        raise click.exceptions.Exit(1)
    notes: list[str | None] = []
    for result in results:
        if not any(each.state.queues for each in result.shards):
            raise FairleadError(
                f"the input has no queues for {result.shards[0].policy}: "
                "name the files that hold them"
            )
        own = [rule_set_of(each.settings).demand_note(each.state) for each in result.shards]
        notes.append(own[0] if all(own) else None)  # one shard may well be idle
    for note in dict.fromkeys(filter(None, notes)):
        click.echo(note, err=True)
    return [result.shards for result in results]


def check_plannable(assembled: Assembled) -> None:
    """Refuse an input that lacks what a plan needs, such as nodes."""
    rule_set_of(assembled.settings).check_plannable(assembled.state)


def read_capacity(text: str | None, assembled: Assembled) -> Amounts | None:
    """Return the capacity that *text* states, on the quota axes; what it leaves out is nodes'."""
    if text is None:
        return None
    refusal = rule_set_of(assembled.settings).capacity_refusal
    if refusal is not None:
        raise click.BadParameter(refusal, param_hint="--capacity")
    state = assembled.state
    amounts = list(state.total())
    stated: set[int] = set()
    for item in text.split(","):
        name, _, number = item.partition("=")
        at = state.axes.index(name.strip())
        if at is None or not number:
            known = ", ".join(f"{axis}=..." for axis in state.axes.axes)
            raise click.BadParameter(f"found {item!r}, expected {known}", param_hint="--capacity")
        if at in stated:
            raise click.BadParameter(f"found {name.strip()} twice", param_hint="--capacity")
        stated.add(at)
        amounts[at] = _amount(state.axes.axes[at].resource, number.strip())
    unstated = [str(axis) for at, axis in enumerate(state.axes.axes) if at not in stated]
    if unstated and not state.nodes:
        names = ", ".join(unstated)
        click.echo(f"note: --capacity leaves out {names}, so there is none to share", err=True)
    return tuple(amounts)


def _amount(resource: str, text: str) -> int:
    try:
        amount, is_exact = base_units(resource, parse_quantity(text))
    except QuantityError as wrong:
        raise click.BadParameter(str(wrong), param_hint="--capacity") from wrong
    if not 0 <= amount <= most_base_units(resource):
        expected = f"expected 0 to {MAX_QUANTITY}"
        raise click.BadParameter(f"found {text}, {expected}", param_hint="--capacity")
    if not is_exact:
        least = show_amount(resource, 1)
        raise click.BadParameter(
            f"found {text}, expected steps of {least} or more", param_hint="--capacity"
        )
    return amount
