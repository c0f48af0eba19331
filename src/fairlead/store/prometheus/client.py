"""Range queries to one Prometheus server.

A server answers at most 11,000 points of a series at once, loads a limited number of samples for
it and works on it for a limited time; and an answer in which every queue of a large cluster tells
of every minute would not fit into our memory. A longer time is asked for in pieces, which are
handed on one by one.
"""

from collections.abc import Iterator, Mapping
from operator import lt
from typing import Final

from fairlead.errors import StoreError
from fairlead.store.prometheus.answer import (
    Answer,
    AnswerError,
    Samples,
    TimedOutError,
    TooManySamplesError,
    range_answer,
)
from fairlead.store.prometheus.http import (
    MAX_ANSWER_BYTES,
    LateAnswerError,
    PrometheusHttp,
    TooLongAnswerError,
)
from fairlead.usage.settings import PrometheusSource

MAX_POINTS: Final = 11_000
# Every time-out costs the whole timeout. A server that is late with fewer points than twice these
# would be late with any: so 11,000 are halved three times, not thirteen.
FEWEST_LATE_POINTS: Final = 1_000

_TOO_LARGE: Final = (TooManySamplesError, TooLongAnswerError)
_TOO_SLOW: Final = (TimedOutError, LateAnswerError)


class PrometheusClient:
    """One server, asked over HTTP. Every failure is a StoreError that says what to do."""

    def __init__(self, source: PrometheusSource, environ: Mapping[str, str]) -> None:
        """Find out where the server is, in *source* or in a variable of *environ*."""
        self._http = PrometheusHttp(source, environ)
        self._timeout_ms = source.query_timeout_ms
        self._points = MAX_POINTS  # of a piece; what was too much once is not asked for again
        self.name = self._http.name

    def range(self, query: str, begin_ms: int, end_ms: int, step_ms: int) -> Iterator[Answer]:
        """The series of *query* at begin, begin + step, ... up to end, that one included.

        In pieces that follow each other in time: one request for every 11,000 points, each within
        the timeout. A piece that the server cannot load or do in time, or we cannot hold, is
        halved, and so are all later ones, of other queries too.

        Law: no sample is of another time than its piece; a StoreError says so.
        """
        while begin_ms <= end_ms:
            last_ms = min(end_ms, begin_ms + (self._points - 1) * step_ms)
            fields = {
                "query": query,
                "start": _seconds(begin_ms),
                "end": _seconds(last_ms),
                "step": _seconds(step_ms),
                "timeout": f"{self._timeout_ms}ms",
            }
            try:
                answer = range_answer(self._http.ask("/api/v1/query_range", fields))
            except (*_TOO_LARGE, *_TOO_SLOW) as problem:
                self._ask_for_less((last_ms - begin_ms) // step_ms + 1, problem, query)
                continue
            except AnswerError as problem:
                raise self._http.problem(str(problem)) from problem
            self._check_time(answer, begin_ms, last_ms)
            yield answer
            begin_ms = last_ms + step_ms

    def _ask_for_less(self, asked: int, problem: Exception, query: str) -> None:
        """Halve a piece that was too much; StoreError where that is no cure."""
        half = -(-asked // 2)
        if isinstance(problem, _TOO_SLOW):
            if half < FEWEST_LATE_POINTS:
                raise self._given_up(problem, query) from problem
        elif asked == 1:
            self._points = MAX_POINTS  # fewer were of no help
            raise self._given_up(problem, query) from problem
        self._points = half

    def _given_up(self, problem: Exception, query: str) -> StoreError:
        match problem:
            case LateAnswerError():  # which names the server already
                return StoreError(str(problem))
            case TooLongAnswerError():
                return self._http.problem(
                    f"answered {query} with more than {MAX_ANSWER_BYTES // 2**20} MiB for one "
                    "moment; name a query with fewer series, such as sum by (queue_name) (...)"
                )
        return self._http.problem(str(problem))

    def _check_time(self, answer: Answer, begin_ms: int, last_ms: int) -> None:
        """Refuse samples of another time, which would contradict what is known of that.

        There is no tolerance of a step: proxies that align the ends of a query align them to
        multiples of its step, where ours are already.
        """
        if not all(_is_between(begin_ms, last_ms, series.samples) for series in answer.series):
            raise self._http.problem(
                "answered about another time than it was asked about; is there something between "
                "it and us that keeps old answers?"
            )


def _is_between(begin_ms: int, last_ms: int, samples: Samples) -> bool:
    """Whether *samples* are in the order of time, and within it."""
    moments = [at_ms for at_ms, _ in samples]
    in_order = all(map(lt, moments, moments[1:]))
    return in_order and (not moments or begin_ms <= moments[0] <= moments[-1] <= last_ms)


def _seconds(time_ms: int) -> str:
    return f"{time_ms // 1000}.{time_ms % 1000:03d}"
