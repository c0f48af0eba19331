"""Queries to one Prometheus server: how much was there between two moments, and what time is it.

A server answers at most 11,000 points of a series at once, and loads a limited number of samples
for it. A longer time is asked for in pieces, which are put together again here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from fairlead.store.prometheus.answer import (
    Answer,
    AnswerError,
    Series,
    TooManySamplesError,
    clock_answer,
    range_answer,
)
from fairlead.store.prometheus.http_request import PrometheusHttp, Reply
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

    def range(self, query: str, begin_ms: int, end_ms: int, step_ms: int) -> Answer:
        """The series of *query* at begin, begin + step, ... up to end, that one included.

        One request for every 11,000 points, each within the timeout; a piece that the server cannot
        load at once is halved.
        """
        answers = list(self._pieces(query, begin_ms, end_ms, step_ms, MAX_POINTS))
        return answers[0] if len(answers) == 1 else _joined(answers)

    def clock_ms(self) -> int:
        """What time the server has."""
        reply = self._ask("/api/v1/query", {"query": "time()"})
        return self._read(reply, clock_answer)

    def _pieces(
        self, query: str, begin_ms: int, end_ms: int, step_ms: int, points: int
    ) -> Iterator[Answer]:
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
            except TooManySamplesError as problem:
                asked = (last_ms - begin_ms) // step_ms + 1
                if asked == 1:
                    raise self._http.problem(str(problem)) from problem
                points = -(-asked // 2)
                continue
            begin_ms = last_ms + step_ms

    def _ask(self, path: str, fields: Mapping[str, str]) -> Reply:
        return self._http.ask(path, {**fields, "timeout": f"{self._timeout_ms}ms"})

    def _read(self, reply: Reply, read: Callable[[Reply], Read]) -> Read:
        try:
            return read(reply)
        except TooManySamplesError:
            raise
        except AnswerError as problem:
            raise self._http.problem(str(problem)) from problem


def _joined(answers: list[Answer]) -> Answer:
    """One answer of several that follow each other in time."""
    joined: dict[tuple[tuple[str, str], ...], Series] = {}
    warnings: dict[str, None] = {}
    for answer in answers:
        warnings.update(dict.fromkeys(answer.warnings))
        for series in answer.series:
            key = tuple(sorted(series.labels.items()))
            if key in joined:
                joined[key].samples.extend(series.samples)
            else:
                joined[key] = series
    return Answer(series=list(joined.values()), warnings=tuple(warnings))


def _seconds(time_ms: int) -> str:
    return f"{time_ms // 1000}.{time_ms % 1000:03d}"
