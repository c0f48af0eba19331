"""One request to the API server: its deadline, its errors, its credentials, its connections."""

import asyncio
import gzip
import time

import pytest

from fairlead.cluster.kubernetes.client.errors import (
    ApiError,
    ConflictError,
    GoneError,
    InvalidError,
    LateError,
    NotFoundError,
    RefusedError,
    ServerFaultError,
    TooLongAnswerError,
    TooManyRequestsError,
    UnauthorizedError,
    UnreachableError,
    UnreadableAnswerError,
)
from fairlead.cluster.kubernetes.client.session import Session
from tests.cluster.kubernetes.client.byte_server import (
    FixedToken,
    Playing,
    Request,
    answers,
    run,
    sends,
    serving,
    silence,
    status,
)
from tests.cluster.kubernetes.client.opened_session import session

PODS = "/api/v1/pods"
OK = answers(200, {"kind": "PodList"})


async def asked(play: Playing, method: str = "GET", **options: int | float) -> bytes:
    async with serving(play) as server, session(server, None, **options) as lane:
        return await lane.ask(method, PODS, body=b"{}" if method != "GET" else None)


def failure(play: Playing, method: str = "GET", **options: int | float) -> ApiError:
    with pytest.raises(ApiError) as raised:
        run(asked(play, method, **options))
    return raised.value


def test_a_request_is_sent_as_it_was_given() -> None:
    async def story() -> None:
        async with serving(OK) as server:
            groups = (("Impersonate-Group", "dev"), ("Impersonate-Group", "ops"))
            access = server.access(
                FixedToken("abc"), headers=(("Impersonate-User", "ann"), *groups)
            )
            lane = Session(access, connections=1, deadline_s=5)
            await lane.ask(
                "POST",
                "/api/v1/namespaces/a%2Fb/pods",
                query=(("fieldManager", "x y&z"),),
                body=b'{"a":1}',
            )
            await lane.close()
        [request] = server.requests
        assert (request.method, request.path) == ("POST", "/api/v1/namespaces/a%2Fb/pods")
        assert request.query == {"fieldManager": "x y&z"}
        assert request.body == b'{"a":1}'
        sent = request.headers
        assert sent["authorization"] == "Bearer abc"
        assert sent["impersonate-user"] == "ann"
        assert sent["impersonate-group"] == "dev, ops"
        assert sent["content-type"] == sent["accept"] == "application/json"

    run(story())


def test_a_prefix_of_the_server_stands_before_each_path() -> None:
    async def story() -> str:
        async with serving(OK) as server:
            server.url += "/k8s/clusters/c-1"
            async with session(server) as lane:
                await lane.ask("GET", PODS)
            return server.requests[0].path

    assert run(story()) == "/k8s/clusters/c-1/api/v1/pods"


@pytest.mark.parametrize(
    ("code", "error", "retry_after_s", "is_unknown"),
    [
        (400, InvalidError, None, False),
        (401, UnauthorizedError, None, False),
        (403, RefusedError, None, False),
        (404, NotFoundError, None, False),
        (405, InvalidError, None, False),
        (409, ConflictError, None, False),
        (410, GoneError, None, False),
        (422, InvalidError, None, False),
        (429, TooManyRequestsError, 0, False),
        (500, ServerFaultError, 0, True),
        (503, ServerFaultError, 0, True),
        (302, UnreadableAnswerError, None, False),
    ],
)
def test_each_status_has_its_error(
    code: int, error: type[ApiError], retry_after_s: int | None, is_unknown: bool
) -> None:
    found = failure(answers(code, status(code, "Why", "because\nof this")), "PUT")
    assert type(found) is error
    assert (found.method, found.path, found.status, found.reason) == ("PUT", PODS, code, "Why")
    assert (found.retry_after_s, found.is_unknown) == (retry_after_s, is_unknown)
    assert str(found) == f"PUT {PODS}: {code} Why because of this; {error.advice}"


@pytest.mark.parametrize(
    ("code", "headers", "seconds", "expected_s"),
    [
        (429, {"Retry_After": "7"}, None, 7),
        (429, {}, 10, 10),
        (429, {"Retry_After": "7"}, 10, 10),
        (503, {"Retry_After": "3"}, None, 3),
        (429, {"Retry_After": "999999999999"}, None, 600),
        (429, {"Retry_After": "soon"}, None, 0),
        (429, {"Retry_After": "-5"}, None, 0),
        (429, {}, -5, 0),
        (403, {"Retry_After": "7"}, None, None),
    ],
)
def test_the_server_says_when_to_ask_again(
    code: int, headers: dict[str, str], seconds: int | None, expected_s: int | None
) -> None:
    details = {} if seconds is None else {"retryAfterSeconds": seconds}
    play = answers(code, status(code, "Why", "because", **details), **headers)
    assert failure(play).retry_after_s == expected_s


def test_a_date_to_ask_again_counts_from_the_clock_of_the_server() -> None:
    """10:00:42 - 10:00:00 = 42 s, in a year in which our clock is not."""
    play = answers(
        429,
        {},
        Date="Sun, 06 Nov 1994 10:00:00 GMT",
        Retry_After="Sun, 06 Nov 1994 10:00:42 GMT",
    )
    assert failure(play).retry_after_s == 42


def test_a_date_that_has_passed_means_now() -> None:
    assert failure(answers(429, {}, Retry_After="Sun, 06 Nov 1994 10:00:00 GMT")).retry_after_s == 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>gateway\x1b[31m</html>", "500 <html>gateway?[31m</html>"),
        (b"", "500"),
        (b"\xff\xfe", "500 ??"),
        (b'{"kind":"Pod","message":"x"}', '500 {"kind":"Pod","message":"x"}'),
        (b'{"kind":"Status","message":7}', '500 {"kind":"Status","message":7}'),
        (b"[" * 30_000, "500 " + "[" * 400 + "..."),
        (b'{"kind":"Status"}', "500"),
    ],
)
def test_a_failure_without_words_of_the_api_server_is_told_too(body: bytes, words: str) -> None:
    words = words.replace("??", "\ufffd\ufffd")  # which are printable
    found = failure(answers(500, body, content_type="text/html"))
    assert str(found) == f"GET {PODS}: {words}; see the log of the API server"


@pytest.mark.parametrize(
    "play",
    [
        silence(),
        sends(b"HTTP/1.1 200 OK\r\n", *[b"X-Drip: 1\r\n"] * 50, pause_s=0.05),
        sends(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n",
            *[b" "] * 50,
            pause_s=0.05,
        ),
    ],
    ids=["no answer", "headers that drip", "a body that drips"],
)
def test_the_deadline_is_that_of_the_whole_exchange(play: Playing) -> None:
    """Every byte comes within 0.05 s of the last; the whole would take 2.5 s."""
    began_s = time.monotonic()
    found = failure(play, "POST", deadline_s=0.3)
    assert time.monotonic() - began_s < 2
    assert isinstance(found, LateError)
    assert found.is_unknown
    assert "no whole answer within 0.3 s" in str(found)


def test_a_request_that_waits_for_a_free_connection_was_not_sent() -> None:
    async def story() -> tuple[LateError, LateError]:
        async with serving(silence()) as server, session(server, connections=1) as lane:
            first, second = await asyncio.gather(
                lane.ask("POST", "/one", deadline_s=1.0),
                lane.ask("POST", "/two", deadline_s=0.4),
                return_exceptions=True,
            )
            assert isinstance(first, LateError)
            assert isinstance(second, LateError)
            assert [each.path for each in server.requests] == ["/one"]
            return first, second

    first, second = run(story())
    assert (first.is_unknown, second.is_unknown) == (True, False)


@pytest.mark.parametrize(
    "play",
    [
        sends(b"", is_cut=True),
        sends(b"HTTP/1.1 200 OK\r\nContent-Ty", is_cut=True),
        sends(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
            is_cut=True,
        ),
        sends(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n9\r\n{",
            is_cut=True,
        ),
        sends(b"SSH-2.0-OpenSSH\r\n", is_cut=True),
    ],
    ids=["at once", "in the headers", "in the body", "in a chunk", "another protocol"],
)
def test_an_answer_that_breaks_off_leaves_the_outcome_unknown(play: Playing) -> None:
    found = failure(play, "POST")
    assert type(found) is UnreachableError
    assert found.is_unknown
    assert found.retry_after_s == 0


def test_nothing_was_done_where_nothing_listens() -> None:
    async def story() -> None:
        async with serving(OK) as server:
            pass
        async with session(server) as lane:
            await lane.ask("POST", PODS)

    with pytest.raises(UnreachableError, match="nothing listens there") as raised:
        run(story())
    assert not raised.value.is_unknown
    assert raised.value.retry_after_s == 0


def test_a_put_is_not_sent_twice_when_a_used_connection_breaks() -> None:
    """By itself aiohttp would repeat it, and the second would report a conflict with the first."""

    async def story() -> list[str]:
        async with serving(OK, sends(is_cut=True), OK) as server, session(server) as lane:
            await lane.ask("GET", PODS)
            with pytest.raises(UnreachableError):
                await lane.ask("PUT", PODS, body=b"{}")
            return [each.method for each in server.requests]

    assert run(story()) == ["GET", "PUT"]


def test_connections_are_used_again() -> None:
    async def story() -> list[int]:
        async with serving(OK) as server, session(server, connections=1) as lane:
            for _ in range(3):
                await lane.ask("GET", PODS)
            return [each.connection for each in server.requests]

    assert run(story()) == [1, 1, 1]


def test_a_new_connection_replaces_one_that_broke() -> None:
    async def story() -> list[int]:
        async with serving(sends(is_cut=True), OK) as server, session(server) as lane:
            with pytest.raises(UnreachableError):
                await lane.ask("GET", PODS)
            await lane.ask("GET", PODS)
            return [each.connection for each in server.requests]

    assert run(story()) == [1, 2]


@pytest.mark.parametrize("is_chunked", [True, False])
def test_an_answer_is_bounded(is_chunked: bool) -> None:
    """100 bytes are held, 101 are not."""

    def body(count: int) -> Playing:
        data = b"0" * count
        if not is_chunked:
            return answers(200, data)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        return sends(
            head + b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n%b\r\n0\r\n\r\n" % (count, data)
        )

    assert len(run(asked(body(100), max_body_bytes=100))) == 100
    found = failure(body(101), "POST", max_body_bytes=100)
    assert isinstance(found, TooLongAnswerError)
    assert found.is_unknown


def test_an_answer_is_not_expanded() -> None:
    """We ask for plain text; 100 kB of gzip may be 100 MB of zeros, beyond every bound."""
    packed = gzip.compress(b"0" * 1_000_000)
    play = answers(200, packed, Content_Encoding="gzip")
    assert run(asked(play, max_body_bytes=10_000)) == packed


def test_the_text_of_a_failure_is_bounded_too() -> None:
    assert len(str(failure(answers(500, b"x" * 10_000_000)))) < 600


def test_a_login_page_is_no_success() -> None:
    found = failure(answers(200, b"<html>", content_type="text/html"), "POST")
    assert type(found) is UnreadableAnswerError
    assert found.is_unknown
    assert "the answer is text/html, not application/json" in str(found)


def test_text_is_read_where_it_was_asked_for() -> None:
    async def story() -> bytes:
        play = answers(200, b"ok", content_type="text/plain; charset=utf-8")
        async with serving(play) as server, session(server) as lane:
            return await lane.ask("GET", "/readyz", accept="text/plain")

    assert run(story()) == b"ok"


def test_a_redirect_is_not_followed() -> None:
    async def story() -> int:
        play = answers(302, b"", Location="/elsewhere")
        async with serving(play) as server, session(server, FixedToken("abc")) as lane:
            with pytest.raises(UnreadableAnswerError):
                await lane.ask("GET", PODS)
            return len(server.requests)

    assert run(story()) == 1


def test_requests_go_through_the_proxy() -> None:
    async def story() -> list[str]:
        async with serving(OK) as proxy:
            access = proxy.access(proxy=proxy.url)
            lane = Session(
                type(access)(
                    server="http://api.invalid:6443",
                    ssl=None,
                    proxy=proxy.url,
                    credentials=FixedToken(),
                ),
                connections=1,
                deadline_s=5,
            )
            await lane.ask("GET", PODS)
            await lane.close()
            return [each.path for each in proxy.requests]

    assert run(story()) == ["http://api.invalid:6443/api/v1/pods"]


def test_a_request_that_was_given_up_leaves_nothing_to_the_next() -> None:
    """Its answer, which may still come, must not be taken for that of the next request."""

    async def late(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.3)
        await answers(200, {"for": "the first"})(request, writer)

    async def story() -> bytes:
        async with serving(late, OK) as server, session(server, connections=1) as lane:
            first = asyncio.ensure_future(lane.ask("GET", "/first"))
            while not server.requests:
                await asyncio.sleep(0.01)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            return await lane.ask("GET", PODS)

    assert run(story()) == b'{"kind": "PodList"}'


def test_a_full_lane_does_not_delay_another() -> None:
    async def story() -> bytes:
        async with (
            serving(silence(), OK) as server,
            session(server, connections=1) as acts,
            session(server, connections=1, deadline_s=2) as lease,
        ):
            stuck = asyncio.ensure_future(acts.ask("POST", PODS))
            while not server.requests:
                await asyncio.sleep(0.01)
            body = await lease.ask("GET", "/lease")
            stuck.cancel()
            await asyncio.gather(stuck, return_exceptions=True)
            return body

    assert run(story()) == b'{"kind": "PodList"}'
