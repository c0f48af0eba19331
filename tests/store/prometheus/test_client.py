"""What the client makes of answers, and of servers that give none."""

import socket
import subprocess
import sys
import time
from base64 import b64encode
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from threading import Thread

import pytest

from fairlead.errors import StoreError
from fairlead.store.prometheus.client import PrometheusClient
from fairlead.usage.settings import Credentials, PrometheusSource
from tests.store.loopback_server import Request, Response, serving
from tests.store.told_series import failure, range_of, success
from tests.store.whole_answer import MINUTE, START, A, client_of, problem_of, whole


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
    "broken off": (
        Response(b'{"status":', length=500),
        "closed the connection before its answer was complete",
    ),
    "another kind": (
        success({"resultType": "scalar", "result": [1, "1"]}),
        "that is no answer of Prometheus",
    ),
    "no number": (
        success({"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "much"]]}]}),
        "'much' in the place of a number",
    ),
    "nested too deep": (
        Response(b'{"status":"success","x":' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
        "no answer of Prometheus",
    ),
    "a time that cannot be": (
        success({"resultType": "matrix", "result": [{"metric": {}, "values": [[1e308, "1"]]}]}),
        "a sample of a time that no clock shows",
    ),
    "the same series twice": (
        success({"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "1"]]}] * 2}),
        "answered with two series of the same labels",
    ),
    "a time that is a text": (
        success({"resultType": "matrix", "result": [{"metric": {}, "values": [["1", "1"]]}]}),
        "that is no answer of Prometheus",
    ),
    "a time that is no number": (
        Response(
            b'{"status":"success","data":{"resultType":"matrix","result":'
            b'[{"metric":{},"values":[[NaN,"1"]]}]}}'
        ),
        "that is no answer of Prometheus",
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
    assert problem.endswith(
        "did not answer within 0.2 s; set queryTimeout, or in a SchedulingShard usageQueryTimeout, "
        "to wait longer"
    )


OK = b"HTTP/1.1 200 OK\r\n"
DRIPS = {
    "a body": (OK + b"Content-Length: 100000\r\n\r\n", b" "),
    "a header": (OK + b"X: ", b"a"),
    "interim replies": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "trailers": (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"X: y\r\n"),
}


@pytest.mark.parametrize(("begin", "drop"), DRIPS.values(), ids=DRIPS)
def test_an_answer_without_end_is_given_up(begin: bytes, drop: bytes) -> None:
    """A part every 20 ms would never be late by itself."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        thread = Thread(target=_drip, args=(listening, begin, drop), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert "did not answer within 0.4 s" in problem_of(url, timeout_ms=400)
        thread.join()


def _drip(listening: socket.socket, begin: bytes, drop: bytes) -> None:
    caller, _ = listening.accept()
    with caller, suppress(OSError):
        caller.sendall(begin)
        while True:
            caller.sendall(drop)
            time.sleep(0.02)


def test_a_server_that_only_listens_is_given_up() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert "did not answer within 0.2 s" in problem_of(url, timeout_ms=200)


LOOKUP_THAT_HANGS = """
import socket, sys, time
from fairlead.store.prometheus.client import PrometheusClient
from fairlead.usage.settings import PrometheusSource

socket.getaddrinfo = lambda *_, **__: time.sleep(600)
source = PrometheusSource(url="http://prometheus.example:9090", query_timeout_ms=200)
try:
    list(PrometheusClient(source, {}).range("up", 0, 0, 1000))
except Exception as problem:
    sys.exit(str(problem))
"""


def test_a_lookup_that_hangs_outlasts_neither_the_deadline_nor_the_program() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOOKUP_THAT_HANGS],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.stderr.startswith(
        "Prometheus at http://prometheus.example:9090 did not answer within 0.2 s"
    )


def test_a_host_that_nobody_knows_is_named() -> None:
    assert "cannot resolve host nowhere.invalid" in problem_of("http://nowhere.invalid:9090")


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


def test_both_ways_to_ask_have_one_deadline() -> None:
    def answer(request: Request) -> Response:
        time.sleep(0.6)
        return Response(b"", 405) if request.method == "POST" else range_of({}, request)

    with serving(answer) as url:
        assert "did not answer within 1 s" in problem_of(url, timeout_ms=1000)


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
    assert "cannot resolve host \u00fc" in problem_of("http://" + "\u00fc" * 70 + ".invalid")


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
        assert problem.endswith(" cannot be asked: the token is not a single line of ASCII text")
        file.write_text("t\u00f6ken", encoding="utf-8")
        assert problem_of(url, Credentials(token_file=str(file))) == problem
