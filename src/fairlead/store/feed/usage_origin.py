"""Where a feed gets past use from: our own file, or a Prometheus server, read in the same way."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

import msgspec

from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.prometheus.client import PrometheusClient
from fairlead.store.prometheus.history import PrometheusHistory
from fairlead.usage.entries import Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import PrometheusSource, StoreSource, UsageRules
from fairlead.usage.snapshot import restored, snapshot

CLOCKS_APART_MS: Final = 30_000  # more than a slow answer; less than a sample


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What is known at one moment, told by the clock of who asks."""

    ledger: Ledger
    rules: UsageRules  # those that the ledger counts by
    newest_ms: int | None  # until when all is told; None: nothing is
    ahead_ms: int = 0  # how far the clock behind the ledger is ahead of the clock of who asks
    whole: frozenset[QueueName] = frozenset()  # queues told with all that is below them
    problems: tuple[str, ...] = ()


class UsageOrigin(Protocol):
    """Something that knows past use."""

    def read(self, now_ms: int) -> Reading:
        """All that is known until *now_ms*; StoreError or UsageError if it cannot be read."""


class StoredOrigin:
    """Our own file. It is opened for every reading, so that nobody is kept from it in between."""

    def __init__(self, source: StoreSource, rules: UsageRules) -> None:
        """Open nothing yet."""
        self._path = Path(source.path)
        self._rules = rules

    def read(self, now_ms: int) -> Reading:
        """Take the ledger of the file; entries later than *now_ms* count as of their own time."""
        with UsageStore.open(self._path, writes=False) as store:
            newest_ms = store.newest_ms
            observed_ms = store.observed_ms
            ledger = store.ledger(self._rules, max(now_ms, newest_ms or now_ms))
        if newest_ms is not None and observed_ms is not None:
            # As long as somebody looks, no entry means that nothing has changed.
            newest_ms = max(newest_ms, observed_ms)
        return Reading(
            ledger=ledger,
            rules=self._rules,
            newest_ms=newest_ms,
            problems=() if newest_ms is not None else (f"usage store {self._path} is empty",),
        )


class PrometheusOrigin:
    """A server; asked only for what is new."""

    def __init__(
        self,
        source: PrometheusSource,
        rules: UsageRules,
        environ: Mapping[str, str],
        *,
        compares_clocks: bool,
    ) -> None:
        """Ask nothing yet; StoreError if it is not said where the server is."""
        self._client = PrometheusClient(source, environ)
        self._rules = msgspec.structs.replace(rules, way="sampled")
        self._history = PrometheusHistory(self._client, source, self._rules)
        self._compares_clocks = compares_clocks

    def read(self, now_ms: int) -> Reading:
        """Fetch what is new. If the server's clock is another one, its own time is what counts."""
        ahead_ms = self._client.clock_ms() - now_ms if self._compares_clocks else 0
        problems: tuple[str, ...] = ()
        if abs(ahead_ms) <= CLOCKS_APART_MS:
            ahead_ms = 0
        else:
            way = "ahead of" if ahead_ms > 0 else "behind"
            seconds = abs(ahead_ms) // 1000
            text = f"has a clock that is {seconds} s {way} ours; its own time was used"
            problems = (f"Prometheus at {self._client.name} {text}",)
        fetched = self._history.fetch(now_ms + ahead_ms)
        return Reading(
            ledger=self._history.ledger,
            rules=self._rules,
            newest_ms=None if fetched.newest_ms is None else fetched.newest_ms - ahead_ms,
            ahead_ms=ahead_ms,
            whole=self._history.queues,
            problems=(*problems, *fetched.problems),
        )


def as_if_idle(ledger: Ledger, rules: UsageRules, since_ms: int) -> Ledger:
    """A copy in which nobody holds anything after *since_ms*, while the capacity is as before."""
    idle = restored(snapshot(ledger), ledger.resources, rules)
    at_ms = since_ms + 1  # a sample at that very moment still saw what was held
    usage = idle.usage(at_ms)
    nothing = (0,) * len(idle.resources)
    for queue in usage.queues:
        idle.take(Held(at_ms=at_ms, queue=queue, amounts=nothing))
    for queue, user in usage.users:
        idle.take(Held(at_ms=at_ms, queue=queue, user=user, amounts=nothing))
    return idle
