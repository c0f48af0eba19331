"""Queries to one Prometheus server: how much was there between two moments, and what time is it.

A server answers at most 11,000 points of a series at once, and loads a limited number of samples
for it; and an answer in which every queue of a large cluster tells of every minute would not fit
into our memory. A longer time is asked for in pieces, which are handed on one by one.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from fairlead.errors import StoreError
from fairlead.store.prometheus.answer import (
    Answer,
    AnswerError,
    TooManySamplesError,
    clock_answer,
    range_answer,
)
from fairlead.store.prometheus.http_request import (
    MAX_ANSWER_BYTES,
    PrometheusHttp,
    Reply,
    TooLongAnswerError,
)
from fairlead.usage.settings import PrometheusSource

MAX_POINTS: Final = 11_000

Read = TypeVar("Read")


class PrometheusClient:
    """One server, asked over HTTP. Every failure is a StoreError that says what to do."""

    def __init__(self, source: PrometheusSource, environ: Mapping[str, str]) -> None:
        """Find out where the server is, in *source* or in a variable of *environ*."""
        self._http = PrometheusHttp(source, environ)
        self._timeout_ms = source.query_timeout_ms
        self.name = self._http.name

    def range(self, query: str, begin_ms: int, end_ms: int, step_ms: int) -> Iterator[Answer]:
        """The series of *query* at begin, begin + step, ... up to end, that one included.

        In pieces that follow each other in time: one request for every 11,000 points, each within
        the timeout. A piece that the server cannot load, or we cannot hold, is halved.
        """
        points = MAX_POINTS
        while begin_ms <= end_ms:
            last_ms = min(end_ms, begin_ms + (points - 1) * step_ms)
            fields = {
                "query": query,
                "start": _seconds(begin_ms),
                "end": _seconds(last_ms),
                "step": _seconds(step_ms),
            }
            try:
                yield self._read(self._ask("/api/v1/query_range", fields), range_answer)
            except (TooManySamplesError, TooLongAnswerError) as problem:
                asked = (last_ms - begin_ms) // step_ms + 1
                if asked == 1:
                    raise self._cannot_be_halved(problem, query) from problem
                points = -(-asked // 2)
                continue
            begin_ms = last_ms + step_ms

    def clock_ms(self) -> int:
        """What time the server has."""
        reply = self._ask("/api/v1/query", {"query": "time()"})
        return self._read(reply, clock_answer)

    def _cannot_be_halved(self, problem: Exception, query: str) -> StoreError:
        if isinstance(problem, TooManySamplesError):
            return self._http.problem(str(problem))
        return self._http.problem(
            f"answered {query} with more than {MAX_ANSWER_BYTES // 2**20} MiB for one moment; "
            "name a query with fewer series, such as sum by (queue_name) (...)"
        )

    def _ask(self, path: str, fields: Mapping[str, str]) -> Reply:
        return self._http.ask(path, {**fields, "timeout": f"{self._timeout_ms}ms"})

    def _read(self, reply: Reply, read: Callable[[Reply], Read]) -> Read:
        try:
            return read(reply)
        except TooManySamplesError:
            raise
        except AnswerError as problem:
            raise self._http.problem(str(problem)) from problem


def _seconds(time_ms: int) -> str:
    return f"{time_ms // 1000}.{time_ms % 1000:03d}"
