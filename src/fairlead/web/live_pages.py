"""The pages of a live process: is it alive, is it ready, and its numbers.

Alive is what makes progress: an event loop or an engine that has not looked around for half a
minute hangs, and a kubelet may start the process anew. Ready is what knows the cluster, or leaves
it to another replica.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

from fairlead.store.metrics.exposition import CONTENT_TYPE
from fairlead.web.page_server import Answer

LONGEST_SILENCE_S: Final = 30.0
_BEAT_EVERY_S: Final = 1.0
_UNAVAILABLE: Final = 503
_JSON: Final = "application/json"


class Health:
    """When the parts of a process looked around last."""

    def __init__(
        self,
        engine_beat_s: Callable[[], float | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask *engine_beat_s* for that of the engine, by *clock*; None: it does not run yet."""
        self._engine_beat_s = engine_beat_s
        self._clock = clock
        self._beat_s = clock()

    async def run(self) -> None:
        """Beat for as long as the event loop runs."""
        while True:
            self._beat_s = self._clock()
            await asyncio.sleep(_BEAT_EVERY_S)

    def answer(self) -> Answer:
        """Return whether all parts make progress; otherwise which one does not, and since when."""
        beats = {"event loop": self._beat_s, "engine": self._engine_beat_s()}
        now_s = self._clock()
        problems = [
            f"the {part} has not looked around for {now_s - beat_s:.0f} s"
            for part, beat_s in beats.items()
            if beat_s is not None and now_s - beat_s > LONGEST_SILENCE_S
        ]
        return _judged(problems)


def readiness(is_ready: Callable[[], bool], awaited: Callable[[], Sequence[str]]) -> Answer:
    """Return whether the process is ready; otherwise which kinds of object it waits for."""
    if is_ready():
        return _judged([])
    return _judged([f"waiting for {', '.join(awaited()) or 'the first lists'}"])


def metrics_answer(text: bytes) -> Answer:
    """Return metrics as Prometheus reads them."""
    return Answer(text, CONTENT_TYPE)


def json_answer(text: str) -> Answer:
    """Return a document for programs."""
    return Answer(text.encode(), _JSON)


def _judged(problems: Sequence[str]) -> Answer:
    if not problems:
        return Answer(b"ok\n")
    return Answer("".join(f"{each}\n" for each in problems).encode(), status=_UNAVAILABLE)
