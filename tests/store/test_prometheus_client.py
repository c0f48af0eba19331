"""What the client makes of answers, and of servers that give none."""

import json
import socket
import time
from base64 import b64encode
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from threading import Thread

import pytest

from fairlead.errors import StoreError
from fairlead.store.prometheus.answer import Answer, Series
from fairlead.store.prometheus.client import MAX_POINTS, PrometheusClient
from fairlead.usage.settings import Credentials, PrometheusSource
from tests.store.loopback_server import Request, Response, serving
from tests.store.told_series import clock, failure, labels, moments_ms, range_of, success

MINUTE = 60_000
START = 1_767_225_600_000
A = labels(queue_name="a")


def client_of(
    url: str, credentials: Credentials | None = None, timeout_ms: int = 10_000
) -> PrometheusClient:
    source = PrometheusSource(
        url=url, credentials=credentials or Credentials(), query_timeout_ms=timeout_ms
    )
    return PrometheusClient(source, {})


def whole(client: PrometheusClient, query: str, begin_ms: int, end_ms: int, step_ms: int) -> Answer:
    """All pieces of an answer as one."""
    samples: dict[str, list[tuple[int, Decimal]]] = {}
    warnings: list[str] = []
    for answer in client.range(query, begin_ms, end_ms, step_ms):
        warnings += answer.warnings
        for series in answer.series:
            samples.setdefault(json.dumps(series.labels), []).extend(series.samples)
    joined = [Series(labels=json.loads(each), samples=found) for each, found in samples.items()]
    return Answer(series=joined, warnings=tuple(warnings))


def problem_of(url: str, credentials: Credentials | None = None, timeout_ms: int = 10_000) -> str:
    with pytest.raises(StoreError) as problem:
        whole(client_of(url, credentials, timeout_ms), "up", START, START + MINUTE, MINUTE)
    return str(problem.value)


def test_samples_are_the_decimal_texts_of_the_server() -> None:
    texts = {START: "0.1", START + MINUTE: "1e+21", START + 2 * MINUTE: "NaN"}
    with serving(lambda request: range_of({A: texts.get}, request)) as url:
        answer = whole(client_of(url), "held", START, START + 2 * MINUTE, MINUTE)
    [series] = answer.series
    assert series.labels == {"queue_name": "a"}
    assert series.samples[:2] == [(START, Decimal("0.1")), (START + MINUTE, Decimal("1e21"))]
    assert series.samples[2][1].is_nan()


def test_the_server_is_told_how_long_it_may_take() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Response:
        asked.append(request)
        return range_of({}, request)

    with serving(answer) as url:
        whole(client_of(url + "/under/here/", timeout_ms=2_500), "up", START + 5, START + 5, 1)
    [request] = asked
    assert request.path == "/under/here/api/v1/query_range"
    assert request.fields == {
        "query": "up",
        "start": "1767225600.005",
        "end": "1767225600.005",
        "step": "0.001",
        "timeout": "2500ms",
    }


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
    monkeypatch.setattr("fairlead.store.prometheus.http_request.MAX_ANSWER_BYTES", 2000)
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
    tried: list[object] = []

    def unreachable(address: object, *_: object) -> None:
        tried.append(address)
        raise TimeoutError

    monkeypatch.setattr("socket.create_connection", unreachable)
    with pytest.raises(StoreError, match="did not answer within 10 s"):
        whole(client_of("http://h:1"), "held", START, START + 9_999_000, 1000)
    assert tried == [("h", 1)]


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
    monkeypatch.setattr("fairlead.store.prometheus.http_request.MAX_ANSWER_BYTES", 2000)
    many = {labels(queue_name=f"queue-{place}"): lambda _: 1 for place in range(100)}
    with serving(lambda request: range_of(many, request)) as url:
        problem = problem_of(url)
    assert "answered up with more than 32 MiB for one moment; name a query" in problem


def test_a_long_page_of_somebody_else_is_not_asked_for_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.store.prometheus.http_request.MAX_ANSWER_BYTES", 2**21)
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


def test_the_clock_of_the_server_is_asked_for() -> None:
    with serving(lambda _: clock(START + 123)) as url:
        assert client_of(url).clock_ms() == START + 123


ODD_ANSWERS: dict[str, tuple[Response, str]] = {
    "a page": (
        Response(b"<html><title>Sign\nin</title>", 200, "text/html"),
        "status 200 and text/html that is no answer of Prometheus ('<html><title>Sign in</title>')",
    ),
    "an error of a proxy": (Response(b"bad gateway", 502, "text/plain"), "status 502"),
    "nothing": (Response(b""), "no answer of Prometheus"),
    "no text at all": (Response(b"\xff\xfe\x00"), "no answer of Prometheus"),
    "an error": (failure("bad_data", "parse error at char 3", 400), "parse error at char 3"),
    "too slow for itself": (
        failure("timeout", "query timed out in query execution", 503),
        "query timed out",
    ),
    "not let in": (Response(b"no", 401, "text/plain"), "does not let us in (status 401)"),
    "forbidden": (Response(b"no", 403, "text/plain"), "check the user, password or token"),
    "sent away": (Response(b"", 302, "text/html"), "sends us elsewhere (status 302)"),
    "broken off": (Response(b'{"status":', length=500), "broke off its answer after 10 bytes"),
    "another kind": (success({"resultType": "scalar", "result": [1, "1"]}), "something else"),
    "no number": (
        success({"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "much"]]}]}),
        "'much' in the place of a number",
    ),
    "a number that cannot be compared": (
        success({"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "sNaN"]]}]}),
        "'sNaN' in the place of a number",
    ),
}


@pytest.mark.parametrize(("response", "text"), ODD_ANSWERS.values(), ids=ODD_ANSWERS.keys())
def test_an_odd_answer_is_told_for_what_it_is(response: Response, text: str) -> None:
    with serving(lambda _: response) as url:
        problem = problem_of(url)
    assert problem.startswith(f"Prometheus at {url} ")
    assert text in problem
    assert problem.isprintable()


def test_a_server_that_is_down_refuses_the_connection() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert "nothing listens there" in problem_of(f"http://127.0.0.1:{port}")


def test_a_server_that_does_not_answer_in_time_is_given_up() -> None:
    def answer(request: Request) -> Response:
        time.sleep(2)
        return range_of({}, request)

    with serving(answer) as url:
        problem = problem_of(url, timeout_ms=200)
    assert "did not answer within 0.2 s; queryTimeout sets how long is waited" in problem
    assert problem.endswith("in a SchedulingShard usageQueryTimeout")


def test_an_answer_that_drips_for_ever_is_given_up() -> None:
    """A byte every 20 ms would never be late by itself."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        thread = Thread(target=_drip, args=(listening,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert "did not answer within 0.4 s" in problem_of(url, timeout_ms=400)
        thread.join()


def _drip(listening: socket.socket) -> None:
    caller, _ = listening.accept()
    with caller:
        caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        with suppress(OSError):
            while True:
                caller.sendall(b" ")
                time.sleep(0.02)


def test_a_server_that_only_listens_is_given_up() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert "did not answer within 0.2 s" in problem_of(url, timeout_ms=200)


def test_a_host_that_nobody_knows_is_named() -> None:
    assert "is not known by that name" in problem_of("http://nowhere.invalid:9090")


def test_some_that_resemble_prometheus_say_the_time_as_a_vector() -> None:
    told = {"resultType": "vector", "result": [{"metric": {}, "value": [1, "1767225600.5"]}]}
    with serving(lambda _: success(told)) as url:
        assert client_of(url).clock_ms() == START + 500
    told["result"] = []
    with (
        serving(lambda _: success(told)) as url,
        pytest.raises(StoreError, match="did not say what time it is there"),
    ):
        client_of(url).clock_ms()


@pytest.mark.parametrize("status", [405, 501])
def test_who_takes_no_form_is_asked_in_the_address(status: int, tmp_path: Path) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Response:
        asked.append(request)
        return Response(b"", status) if request.method == "POST" else range_of({}, request)

    token = tmp_path / "token"
    token.write_text("ticket", encoding="utf-8")
    with serving(answer) as url:
        client = client_of(url, Credentials(token_file=str(token)))
        assert whole(client, "sum(x) / 2", START, START, 1).series == []
    assert [request.method for request in asked] == ["POST", "GET"]
    assert asked[1][:3] == asked[0][:3]
    assert asked[0].fields["query"] == "sum(x) / 2"


def test_a_query_in_the_address_goes_along_with_every_request_and_is_not_shown() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Response:
        asked.append(request)
        return Response(b"", 405) if request.method == "POST" else range_of({}, request)

    with serving(answer) as url:
        client = client_of(f"{url}/p/?tenant=a%20b&dedup=true")
        assert client.name == f"{url}/p"
        assert whole(client, "up", START, START, 1).series == []
    post, get = asked
    assert (post.path, post.fields["query"]) == (
        "/p/api/v1/query_range?tenant=a%20b&dedup=true",
        "up",
    )
    assert get.path == "/p/api/v1/query_range"
    assert (get.fields["tenant"], get.fields["dedup"], get.fields["query"]) == ("a b", "true", "up")


@pytest.mark.parametrize(
    ("kind", "error"), [("timeout", "query timed out"), ("execution", "too many samples")]
)
def test_an_error_in_the_place_of_the_time_is_told(kind: str, error: str) -> None:
    with (
        serving(lambda _: failure(kind, error, 503)) as url,
        pytest.raises(StoreError, match=f"Prometheus at {url} reports an error: {error}"),
    ):
        client_of(url).clock_ms()


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-1", "1e99999999"])
def test_a_time_that_cannot_be_is_none(text: str) -> None:
    answer = success({"resultType": "scalar", "result": [1, text]})
    with (
        serving(lambda _: answer) as url,
        pytest.raises(StoreError, match=r"says that it is .* s since 1970 there"),
    ):
        client_of(url).clock_ms()


@pytest.mark.parametrize("url", ["prometheus:9090", "ftp://host", "file:///etc", "http://", "x"])
def test_an_address_without_a_scheme_or_host_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="is no address of Prometheus"):
        client_of(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://admin:s3/cret@prom:9090", "http://...@prom:9090"),
        ("admin:s3cret@prom:9090", "...@prom:9090"),
        ("http:/admin:s3cret@prom:9090", "http:/...@prom:9090"),
        ("ftp://admin:s3cret@prom", "ftp://...@prom"),
        ("https://admin:s3cret@prom:99999", "https://...@prom:99999"),
        ("http://admin:s3 cret@prom", "http://...@prom"),
        ("http://admin:s3\udcffcret@prom", "http://...@prom"),  # as a variable may have it
    ],
    ids=ascii,
)
def test_a_password_in_an_address_that_is_none_is_not_shown(url: str, shown: str) -> None:
    with pytest.raises(StoreError) as problem:
        client_of(url)
    assert str(problem.value) == (
        f"'{shown}' is no address of Prometheus; one is http://host:9090 or https://host/path"
    )


def test_a_password_that_is_taken_for_the_path_is_not_shown() -> None:
    assert client_of("http://admin:9/s3cret@prom:9090/p").name == "http://...@prom:9090/p"


def test_letters_beyond_ascii_in_the_address_are_sent_as_they_are_quoted() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Response:
        asked.append(request)
        return Response(b"", 405) if request.method == "POST" else range_of({}, request)

    with serving(answer) as url:
        whole(client_of(f"{url}/~\u00fc/?tenant=\u00fc&a=%20[b]"), "up", START, START, 1)
    post, get = asked
    assert post.path == "/~%C3%BC/api/v1/query_range?tenant=%C3%BC&a=%20[b]"
    assert (get.fields["tenant"], get.fields["a"], get.fields["query"]) == ("\u00fc", " [b]", "up")


def test_a_host_whose_name_cannot_be_one_is_not_known() -> None:
    assert "is not known by that name" in problem_of("http://" + "\u00fc" * 70 + ".invalid")


def test_the_address_may_be_in_a_variable() -> None:
    source = PrometheusSource(url_variable="WHERE")
    assert PrometheusClient(source, {"WHERE": "https://h:1/p/"}).name == "https://h:1/p"
    with pytest.raises(StoreError, match="variable WHERE, which is not set"):
        PrometheusClient(source, {})
    with pytest.raises(StoreError, match="name its URL"):
        PrometheusClient(PrometheusSource(), {"WHERE": "http://h"})


def asking(request: Request) -> Response:
    """Answers only who says who it is, and hands what was said back as a warning."""
    if not request.authorization:
        return Response(b"who are you?", 401, "text/plain")
    return range_of({}, request, warnings=[request.authorization])


def said(url: str, credentials: Credentials) -> str:
    [warning] = whole(client_of(url, credentials), "up", START, START, 1).warnings
    return warning


def basic(text: str) -> str:
    return "Basic " + b64encode(text.encode()).decode()


def test_users_passwords_and_tokens_reach_the_server(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("päss:word\n", encoding="utf-8")
    file = str(secret)
    with serving(asking) as url:
        assert "does not let us in" in problem_of(url)
        by_password = Credentials(user="ann", password_file=file)
        assert said(url, by_password) == basic("ann:päss:word")
        secret.write_text("tick.et\n", encoding="utf-8")
        assert said(url, Credentials(token_file=file)) == "Bearer tick.et"
        secret.write_text("renewed", encoding="utf-8")
        assert said(url, Credentials(token_file=file)) == "Bearer renewed"
        in_address = url.replace("http://", "http://bob:se%40cret@")
        assert said(in_address, Credentials()) == basic("bob:se@cret")
        assert "cret" not in client_of(in_address).name


def test_a_secret_that_cannot_be_used_is_told_without_the_secret(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with serving(asking) as url:
        problem = problem_of(url, Credentials(token_file=str(file)))
        assert problem.endswith("token cannot be read: No such file or directory")
        file.write_text("two\nlines", encoding="utf-8")
        problem = problem_of(url, Credentials(token_file=str(file)))
        assert problem.endswith(" cannot be asked: the token is no single line of ASCII text")
        file.write_text("t\u00f6ken", encoding="utf-8")
        assert problem_of(url, Credentials(token_file=str(file))) == problem
