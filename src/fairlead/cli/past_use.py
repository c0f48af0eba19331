"""``--usage`` and ``--usage-source``: lets a state know the past, from where the objects say.

Reading past usage needs a database and a network client, which are loaded only for that.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click
import msgspec

from fairlead.cli.input.options import Command
from fairlead.cli.output.progress import SayNews
from fairlead.errors import FairleadError
from fairlead.explain.text.names import first_few
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.core.read_settings import address_problem
from fairlead.model.axes import QueueName
from fairlead.model.events import UsageChanged
from fairlead.policy.contract import CountsUsage, counts_usage
from fairlead.usage.address_text import without_login
from fairlead.usage.settings import PrometheusSource, StoreSource, UsageSettings, UsageSource

if TYPE_CHECKING:
    from fairlead.explain.usage.shares import PastUse
    from fairlead.store.feed.usage_feed import FollowedUsage

NOT_READ: Final = "note: past use is configured but was not read, so it does not count: add --usage"

WELL_AGAIN: Final = "note: past use is read again without problems"


class UsageWish(NamedTuple):
    """What the command line says about past use."""

    usage: bool
    source: str | None  # where it is instead of where the objects say
    now_ms: int


def usage_options(command: Command) -> Command:
    """Add ``--usage`` and ``--usage-source``."""
    for option in (
        click.option(
            "--usage-source",
            metavar="FILE|URL",
            help="Read past use from this store or Prometheus instead; implies --usage.",
        ),
        click.option(
            "--usage",
            is_flag=True,
            help="Count past use, from the source that the objects name.",
        ),
    ):
        command = option(command)
    return command


def usage_wish(usage: bool, source: str | None, now_ms: int) -> UsageWish:
    """Return what was asked for on the command line that is being run.

    A source that cannot be one is wrong usage, whatever the objects say.
    """
    if source is not None:
        _check_source(source)
    return UsageWish(usage or source is not None, source, now_ms)


def let_past_count(assembled: Assembled, wish: UsageWish, *, sums: bool = False) -> PastUse | None:
    """Read past use into the state of *assembled*, once; see `PastUseReader.let_count`."""
    with closing(PastUseReader(wish, sums=sums)) as reader:
        return reader.let_count(assembled, wish.now_ms)


class PastUseReader:
    """Lets one state after another know the past.

    What there is to say about that is said on standard error when it is new, not each time.
    """

    def __init__(self, wish: UsageWish, *, sums: bool = False, in_background: bool = False) -> None:
        """Read nothing yet. *sums* asks for resource-time too, of the same reading.

        Reading *in background* never waits for long, and counts what was read last.
        """
        self._wish = wish
        self._sums = sums
        self._in_background = in_background
        self._followed: FollowedUsage | None = None
        self._say = SayNews()
        self._has_warned = False

    def let_count(self, assembled: Assembled, now_ms: int) -> PastUse | None:
        """Read past use into the state of *assembled*; None: not asked for, or it has no effect.

        It replaces the usage that the state had; if it does not count, no usage does.
        """
        settings = counts_usage(assembled.settings)
        if settings is None:
            note = f"note: past use has no effect under the rules of {assembled.policy} yet"
            self._say({note: note} if self._wish.usage else {})
            return None
        if not self._wish.usage:
            is_set_up = settings.usage is not None and settings.k > 0
            self._say({NOT_READ: NOT_READ} if is_set_up else {})
            return None
        past = self._read(assembled, settings, now_ms)
        usage = past.vector.usage or {}
        known = assembled.state.queues
        news = self._warnings(past)
        self._say(news | _strangers([name for name in usage if name not in known]))
        assembled.state.apply(
            UsageChanged({name: use for name, use in usage.items() if name in known})
        )
        return past

    def close(self) -> None:
        """Close the source."""
        if self._followed is not None:
            self._followed.close()

    def _warnings(self, past: PastUse) -> dict[str, str]:
        """Return the problems; once they are over, a note that they are."""
        found = _warnings(past)
        if not found and self._has_warned:
            return {WELL_AGAIN: WELL_AGAIN}
        self._has_warned = bool(found)
        return found

    def _read(self, assembled: Assembled, settings: CountsUsage, now_ms: int) -> PastUse:
        """Read the source; a source that does not answer is reported and is no error."""
        from fairlead.explain.usage.shares import PastUse

        chosen = settings.usage or UsageSettings()
        source = _source(chosen.source, self._wish.source)
        chosen = msgspec.structs.replace(chosen, source=source)
        state = assembled.state
        parents = {name: queue.parent for name, queue in state.queues.items()}
        axes = [str(axis) for axis in state.axes.axes]
        feed = self._following().refreshed(chosen.rules, source, now_ms)
        return PastUse(
            settings=chosen,
            k=settings.k,
            vector=feed.vector(now_ms, parents, axes),
            sums=feed.sums(now_ms, parents, axes) if self._sums else None,
        )

    def _following(self) -> FollowedUsage:
        if self._followed is None:
            from fairlead.store.feed.usage_feed import FollowedUsage

            # What the feed logs for a service is printed here on standard error, once.
            logging.getLogger("fairlead").addHandler(logging.NullHandler())
            self._followed = FollowedUsage(
                os.environ, keeps_sums=self._sums, in_background=self._in_background
            )
        return self._followed


def _warnings(past: PastUse) -> dict[str, str]:
    vector = past.vector
    if vector.problem is None:
        return {}
    return {f"{vector.state}: {vector.turn}": f"warning: {vector.text()}"}


def _strangers(names: Sequence[QueueName]) -> dict[str, str]:
    """Report queues with usage that are not among the objects: a name may be misspelt."""
    if not names:
        return {}
    queues = "1 queue" if len(names) == 1 else f"{len(names)} queues"
    text = f"note: the record of usage has {queues} not among the objects: {first_few(names)}"
    return {text: text}


def _source(configured: UsageSource | None, text: str | None) -> UsageSource:
    if text is not None:
        return _named_source(configured, text)
    if configured is None:
        raise FairleadError(
            "no source of past use is named: name it with --usage-source FILE or URL, or in the "
            "settings among the objects"
        )
    return configured


def _named_source(configured: UsageSource | None, text: str) -> UsageSource:
    """Return the source that *text* names; a server is asked as the configured one would be."""
    if not _is_address(text):
        return StoreSource(path=text)
    known = configured if isinstance(configured, PrometheusSource) else PrometheusSource()
    return msgspec.structs.replace(known, url=text, url_variable="")


def _check_source(text: str) -> None:
    hint = "--usage-source"
    if _is_address(text):
        problem = address_problem(text)
        if problem:
            shown = without_login(text)
            raise click.BadParameter(f"found {shown!r}, {problem}", param_hint=hint)
    elif not Path(text).is_file():
        raise click.BadParameter(
            f"{_not_a_file(text)}; an address begins with http:// or https://", param_hint=hint
        )


def _not_a_file(text: str) -> str:
    shown = repr(without_login(text))
    if Path(text).is_dir():
        return f"{shown} is a folder; a usage store is a file"
    return f"{shown} is not a regular file" if Path(text).exists() else f"there is no file {shown}"


def _is_address(text: str) -> bool:
    return "://" in text
