"""``fairlead run`` without ``--shadow``: puts a live scheduler together, and runs it."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from fairlead.cli.live.decision_log import DecisionLog
from fairlead.cli.live.serve_pages import serving
from fairlead.cli.live.words import LiveWords
from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.loop.engine_link import Watcher
from fairlead.cluster.kubernetes.loop.leadership import Leadership
from fairlead.cluster.kubernetes.loop.live_scheduler import LiveScheduler
from fairlead.cluster.kubernetes.loop.supervision import Part
from fairlead.cluster.kubernetes.loop.usage_recording import UsageRecording
from fairlead.cluster.kubernetes.reporting.reporter import EventsWanted, Reporter
from fairlead.manifest.text.documents import Document
from fairlead.policy.contract import PolicyName
from fairlead.store.metrics.family import Family, usage_store_families
from fairlead.web.live_metrics import LiveMetrics
from fairlead.web.live_pages import metrics_answer
from fairlead.web.page_server import Pages

_RECORDED_WITHIN_S: Final = 5.0


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a user wants of a live scheduler."""

    policy: PolicyName
    given: Sequence[Document]  # settings
    events: EventsWanted
    usage_store: Path | None  # None: usage is not recorded
    listen: tuple[str, int] | None  # None: no pages are served


async def schedule(
    access: Access, leadership: Leadership, wishes: Wishes, stop: asyncio.Event
) -> None:
    """Schedule a cluster until *stop* is set. Raises what ended it before."""
    scheduler = LiveScheduler(access, wishes.policy, wishes.given, leadership)
    words = LiveWords()
    reporter = Reporter(access, words, events=wishes.events, hindrance=leadership.hindrance)
    recording = None if wishes.usage_store is None else UsageRecording(wishes.usage_store)
    metrics = LiveMetrics(
        is_leader=leadership.is_leader,
        awaited=scheduler.awaited,
        reports=reporter.counts,
        more=lambda: _usage_families(recording),
    )
    watchers: list[Watcher] = [DecisionLog(words), reporter, metrics]
    tasks: dict[str, Part] = {"reports": reporter.run}
    with ExitStack() as stack:
        if recording is not None:
            recording.start()
            stack.callback(recording.close, _RECORDED_WITHIN_S)
            watchers.append(recording)
        pages: Pages = {"/metrics": lambda: metrics_answer(metrics.text())}
        async with serving(wishes.listen, scheduler, pages):
            await scheduler.run(stop, watchers, tasks)


def _usage_families(recording: UsageRecording | None) -> list[Family]:
    """Return whether what queues use can be written down, if it is to be."""
    if recording is None:
        return []
    return usage_store_families(age_ms=None, is_degraded=recording.status.state == "degraded")
