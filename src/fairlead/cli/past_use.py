"""``--usage`` and ``--usage-source``: lets a state know the past, from where the objects say.

Reading the past needs a database and a network client. They are loaded only for who asks for it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec
from click.core import ParameterSource

from fairlead.cli.options import Command
from fairlead.errors import FairleadError
from fairlead.explain.first_few import first_few
from fairlead.explain.printable import printable
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.core.read_address import address_problem
from fairlead.model.axes import QueueName
from fairlead.model.events import UsageChanged
from fairlead.policy.kai.settings import KaiSettings
from fairlead.usage.settings import PrometheusSource, StoreSource, UsageSettings, UsageSource

if TYPE_CHECKING:
    from fairlead.explain.usage_report import PastUse

NOT_READ = "note: past use is set up and was not read, so it does not count: add --usage"


class UsageWish(NamedTuple):
    """What the command line says about past use."""

    usage: bool
    source: str | None
    now_ms: int
    compares_clocks: bool  # not where --now names a moment that is not now


def usage_options(command: Command) -> Command:
    """Add ``--usage`` and ``--usage-source``."""
    for option in (
        click.option(
            "--usage-source",
            metavar="FILE|URL",
            help="Read past use from this record or Prometheus instead; brings --usage with it.",
        ),
        click.option(
            "--usage",
            is_flag=True,
            help="Let past use count, read from where the objects say.",
        ),
    ):
        command = option(command)
    return command


def usage_wish(usage: bool, source: str | None, now_ms: int) -> UsageWish:
    """Return what was asked for on the command line that is being run."""
    context = click.get_current_context()
    is_now = context.get_parameter_source("now") is ParameterSource.DEFAULT
    return UsageWish(usage or source is not None, source, now_ms, is_now)


def let_past_count(assembled: Assembled, wish: UsageWish, *, sums: bool = False) -> PastUse | None:
    """Read past use into the state of *assembled*; None where it is not asked for or has no effect.

    What is wrong with it is told on standard error; the state then stays as it is. *sums* asks for
    resource-time too, of the same reading.
    """
    settings = assembled.settings
    if not isinstance(settings, KaiSettings):
        if wish.usage:
            note = f"note: past use has no effect under the rules of {assembled.policy} yet"
            click.echo(note, err=True)
        return None
    if not wish.usage:
        if settings.usage is not None and settings.k > 0:
            click.echo(NOT_READ, err=True)
        return None
    past = _read(assembled, settings, wish, sums=sums)
    if past.vector.problem is not None:
        text = f"warning: past use is {past.vector.state}: {past.vector.problem}"
        click.echo(printable(text), err=True)
    if past.vector.usage is not None:
        known = assembled.state.queues
        usage = {name: use for name, use in past.vector.usage.items() if name in known}
        _note_strangers([name for name in past.vector.usage if name not in known])
        assembled.state.apply(UsageChanged(usage))
    return past


def _note_strangers(names: Sequence[QueueName]) -> None:
    """Tell of queues that used something and are not among the objects: maybe they are misspelt."""
    if names:
        queues = "1 queue" if len(names) == 1 else f"{len(names)} queues"
        text = f"note: past use is known of {queues} not among the objects: {first_few(names)}"
        click.echo(printable(text), err=True)


def _read(assembled: Assembled, settings: KaiSettings, wish: UsageWish, *, sums: bool) -> PastUse:
    """Ask the source, which is never an error: a missing answer is a state that is told."""
    from fairlead.explain.usage_report import PastUse
    from fairlead.store.feed.usage_feed import UsageFeed

    # What the feed logs for a service is told here on standard error, once.
    logging.getLogger("fairlead").addHandler(logging.NullHandler())
    chosen = settings.usage or UsageSettings()
    source = _source(chosen.source, wish.source)
    chosen = msgspec.structs.replace(chosen, source=source)
    state = assembled.state
    parents = {name: queue.parent for name, queue in state.queues.items()}
    axes = [str(axis) for axis in state.axes.axes]
    with UsageFeed(
        chosen.rules,
        source,
        os.environ,
        compares_clocks=wish.compares_clocks,
        keeps_sums=sums,
    ) as feed:
        feed.refresh(wish.now_ms)
    vector = feed.vector(wish.now_ms, parents, axes)
    found = feed.sums(wish.now_ms, parents, axes) if sums else None
    return PastUse(settings=chosen, k=settings.k, vector=vector, sums=found)


def _source(configured: UsageSource | None, text: str | None) -> UsageSource:
    if text is not None:
        return _named_source(configured, text)
    if configured is None:
        raise FairleadError(
            "nothing says where past use is: name it with --usage-source FILE or URL, in "
            "usageDBConfig of the SchedulingShard, or in spec.usage of the Settings"
        )
    return configured


def _named_source(configured: UsageSource | None, text: str) -> UsageSource:
    """Return the source that *text* names; a server is asked as the configured one would be."""
    hint = "--usage-source"
    if "://" in text:
        problem = address_problem(text)
        if problem:
            raise click.BadParameter(f"found {text!r}, {problem}", param_hint=hint)
        known = configured if isinstance(configured, PrometheusSource) else PrometheusSource()
        return msgspec.structs.replace(known, url=text, url_variable="")
    if not Path(text).is_file():
        raise click.BadParameter(
            f"there is no file {text!r}; an address begins with http:// or https://",
            param_hint=hint,
        )
    return StoreSource(path=text)
