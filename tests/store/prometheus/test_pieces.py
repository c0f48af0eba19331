"""A long time is asked for in pieces, as large as the server and we can bear them."""

import asyncio
import time

import pytest

from fairlead.errors import StoreError
from fairlead.store.prometheus.client import MAX_POINTS
from tests.store.loopback_server import Request, Response, serving
from tests.store.told_series import failure, labels, moments_ms, range_of, success
from tests.store.whole_answer import START, A, client_of, problem_of, whole


@pytest.mark.parametrize(
    ("points", "requests"), [(1, 1), (MAX_POINTS, 1), (MAX_POINTS + 1, 2), (2 * MAX_POINTS + 1, 3)]
)
def test_a_long_time_is_asked_for_in_pieces_of_eleven_thousand_points(
    points: int, requests: int
) -> None:
    asked: list[int] = []

    def answer(request: Request) -> Response:
        asked.append(len(moments_ms(request.fields)))
        return range_of({A: lambda at_ms: at_ms}, request)

    with serving(answer) as url:
        end_ms = START + (points - 1) * 1000 + 999
        [series] = whole(client_of(url), "held", START, end_ms, 1000).series
    assert len(asked) == requests
    assert sum(asked) == points
    assert max(asked) <= MAX_POINTS
    assert [at_ms for at_ms, _ in series.samples] == list(range(START, end_ms + 1, 1000))


def test_a_piece_with_too_many_samples_for_the_server_is_halved() -> None:
    """70 points, of which the server loads 20 at once: asked 70, 35, then 18 four times over."""
    asked: list[int] = []

    def answer(request: Request) -> Response:
        asked.append(len(moments_ms(request.fields)))
        if asked[-1] > 20:
            return failure("execution", "query processing would load too many samples", 422)
        return range_of({A: lambda at_ms: at_ms}, request)

    with serving(answer) as url:
        [series] = whole(client_of(url), "held", START, START + 69_000, 1000).series
    assert asked == [70, 35, 18, 18, 18, 16]
    assert [at_ms for at_ms, _ in series.samples] == list(range(START, START + 70_000, 1000))


def test_a_piece_that_is_too_long_for_us_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """70 points of a series, of which 2,000 bytes hold some 90: of two series, 45 to 36."""
    monkeypatch.setattr("fairlead.store.prometheus.http.MAX_ANSWER_BYTES", 2000)
    asked: list[int] = []

    def answer(request: Request) -> Response:
        asked.append(len(moments_ms(request.fields)))
        return range_of({A: lambda _: 1, labels(queue_name="b"): lambda _: 2}, request)

    with serving(answer) as url:
        found = whole(client_of(url), "held", START, START + 69_000, 1000).series
    assert asked == [70, 35, 35]
    for series in found:
        assert [at_ms for at_ms, _ in series.samples] == list(range(START, START + 70_000, 1000))


def test_a_piece_for_which_the_server_is_too_slow_is_halved_and_so_are_all_later_ones() -> None:
    """12,000 points, of which the server does 5,000 in its time: 11,000, 5,500, then 2,750."""
    asked: list[int] = []

    def answer(request: Request) -> Response:
        asked.append(len(moments_ms(request.fields)))
        if asked[-1] > 5000:
            return failure("timeout", "query timed out in expression evaluation", 503)
        return range_of({A: lambda _: 1}, request)

    with serving(answer) as url:
        client = client_of(url)
        [series] = whole(client, "held", START, START + 11_999_000, 1000).series
        assert asked == [11_000, 5500, 2750, 2750, 2750, 2750, 1000]
        assert len(series.samples) == 12_000
        asked.clear()
        whole(client, "another", START, START + 2_999_000, 1000)
    assert asked == [2750, 250]


def test_a_piece_that_comes_too_late_is_halved() -> None:
    """4,000 points, of which only 2,000 come within the timeout."""
    asked: list[int] = []

    def answer(request: Request) -> Response:
        asked.append(len(moments_ms(request.fields)))
        if asked[-1] > 2000:
            time.sleep(2)
        return range_of({}, request)

    with serving(answer) as url:
        whole(client_of(url, timeout_ms=500), "held", START, START + 3_999_000, 1000)
    assert asked == [4000, 2000, 2000]


def test_a_server_that_is_always_too_slow_is_given_up_after_three_halvings() -> None:
    """And asked only once by the next query, because the size is kept."""
    asked: list[int] = []

    def answer(request: Request) -> Response:
        asked.append(len(moments_ms(request.fields)))
        return failure("timeout", "query timed out in expression evaluation", 503)

    with serving(answer) as url:
        client = client_of(url)
        for sizes in ([11_000, 5500, 2750, 1375], [1375]):
            asked.clear()
            with pytest.raises(StoreError, match="reports an error: query timed out in expression"):
                whole(client, "held", START, START + 19_999_000, 1000)
            assert asked == sizes


@pytest.mark.parametrize(
    ("points", "sizes"), [(2000, [2000, 1000]), (1999, [1999, 1000]), (1998, [1998]), (1, [1])]
)
def test_who_is_too_slow_is_asked_for_no_less_than_a_thousand_points(
    points: int, sizes: list[int]
) -> None:
    asked: list[int] = []

    def answer(request: Request) -> Response:
        asked.append(len(moments_ms(request.fields)))
        return failure("timeout", "query timed out", 503)

    with serving(answer) as url, pytest.raises(StoreError, match="query timed out"):
        whole(client_of(url), "held", START, START + (points - 1) * 1000, 1000)
    assert asked == sizes


def test_a_server_that_cannot_be_reached_in_time_is_not_asked_for_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = 0

    async def unreachable(*_: object, **_options: object) -> None:
        nonlocal tried
        tried += 1
        await asyncio.sleep(60)

    monkeypatch.setattr("aiohappyeyeballs.start_connection", unreachable)
    client = client_of("http://127.0.0.1:1", timeout_ms=100)
    with pytest.raises(StoreError, match=r"did not answer within 0\.1 s"):
        whole(client, "held", START, START + 9_999_000, 1000)
    assert tried == 1


def test_a_moment_that_cannot_be_had_does_not_make_later_pieces_small() -> None:
    """Else all that is asked for next would come point by point."""
    asked: list[int] = []

    def answer(request: Request) -> Response:
        asked.append(len(moments_ms(request.fields)))
        if request.fields["query"] == "huge":
            return failure("execution", "query processing would load too many samples", 422)
        return range_of({}, request)

    with serving(answer) as url:
        client = client_of(url)
        with pytest.raises(StoreError, match="too many samples"):
            whole(client, "huge", START, START + 3000, 1000)
        whole(client, "small", START, START + 3000, 1000)
    assert asked == [4, 2, 1, 4]


OTHER_TIMES = {
    "the piece before": [START - 1000],
    "a moment too early": [START - 1, START],
    "a moment too late": [START, START + 1001],
    "an early one in between": [START, START - 1000, START + 1000],
    "backwards": [START + 1000, START],
    "one moment twice": [START, START],
}


@pytest.mark.parametrize("moments", OTHER_TIMES.values(), ids=OTHER_TIMES.keys())
def test_samples_of_another_time_than_was_asked_about_are_refused(moments: list[int]) -> None:
    values = [[at_ms / 1000, "1"] for at_ms in moments]
    answer = success({"resultType": "matrix", "result": [{"metric": {}, "values": values}]})
    with (
        serving(lambda _: answer) as url,
        pytest.raises(StoreError, match="answered about another time than it was asked about"),
    ):
        whole(client_of(url), "held", START, START + 1000, 1000)


def test_a_cache_that_answers_every_piece_with_the_first_is_found_out() -> None:
    """Its samples are all within the whole time, but not within the second piece."""
    kept: list[Response] = []

    def answer(request: Request) -> Response:
        kept.append(range_of({A: lambda _: 1}, request))
        return kept[0]

    with serving(answer) as url:
        pieces = client_of(url).range("held", START, START + MAX_POINTS * 1000, 1000)
        assert len(next(pieces).series[0].samples) == MAX_POINTS
        with pytest.raises(StoreError, match="something between it and us that keeps old answers"):
            next(pieces)


def test_one_moment_that_is_too_long_is_told_with_what_to_ask_instead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.store.prometheus.http.MAX_ANSWER_BYTES", 2000)
    many = {labels(queue_name=f"queue-{place}"): lambda _: 1 for place in range(100)}
    with serving(lambda request: range_of(many, request)) as url:
        problem = problem_of(url)
    assert "answered up with more than 32 MiB for one moment; name a query" in problem


def test_a_long_page_of_somebody_else_is_not_asked_for_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.store.prometheus.http.MAX_ANSWER_BYTES", 2**21)
    asked: list[Request] = []

    def answer(request: Request) -> Response:
        asked.append(request)
        return Response(b"<p>" * 2**20, 200, "text/html")

    with serving(answer) as url:
        problem = problem_of(url)
    assert problem.endswith(
        "2 MiB of text/html, which is no answer of Prometheus; is the address right?"
    )
    assert len(asked) == 1


def test_a_single_point_with_too_many_samples_is_an_error() -> None:
    def answer(request: Request) -> Response:
        return failure("execution", "query processing would load too many samples", 422)

    with serving(answer) as url:
        assert "too many samples" in problem_of(url)


def test_a_series_that_appears_in_a_later_piece_is_there_from_then_on() -> None:
    late_ms = START + (MAX_POINTS + 5) * 1000
    series = {
        A: lambda _: 1,
        labels(queue_name="b"): lambda at_ms: 2 if at_ms >= late_ms else None,
    }
    with serving(lambda request: range_of(series, request)) as url:
        found = whole(client_of(url), "held", START, late_ms + 1000, 1000).series
    firsts = {each.labels["queue_name"]: each.samples[0][0] for each in found}
    assert firsts == {"a": START, "b": late_ms}


def test_warnings_are_passed_on_with_every_piece() -> None:
    def answer(request: Request) -> Response:
        return range_of({A: lambda _: 1}, request, warnings=["store 2 is\naway"])

    with serving(answer) as url:
        answered = whole(client_of(url), "held", START, START + MAX_POINTS * 1000, 1000)
    assert answered.warnings == ("store 2 is away", "store 2 is away")
