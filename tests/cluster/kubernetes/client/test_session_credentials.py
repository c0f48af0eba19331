"""As which user a session asks, what it does after a 401, and what it does not show."""

import asyncio

import pytest

from fairlead.cluster.kubernetes.client.errors import (
    LateError,
    RefusedError,
    UnauthorizedError,
    UnreachableError,
)
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.errors import ClusterError
from tests.cluster.kubernetes.client.byte_server import (
    FixedToken,
    answers,
    run,
    serving,
    status,
)
from tests.cluster.kubernetes.client.opened_session import session

PODS = "/api/v1/pods"
OK = answers(200, {"kind": "PodList"})
UNAUTHORIZED = answers(401, status(401, "Unauthorized", "Unauthorized"))


def test_a_401_renews_the_credentials_and_asks_once_more() -> None:
    async def story() -> None:
        tokens = FixedToken("old", "new")
        async with serving(UNAUTHORIZED, OK) as server, session(server, tokens) as lane:
            await lane.ask("POST", PODS, body=b'{"a":1}')
        sent = [each.headers["authorization"] for each in server.requests]
        assert sent == ["Bearer old", "Bearer new"]
        assert [each.body for each in server.requests] == [b'{"a":1}'] * 2
        assert [each.connection for each in server.requests] == [1, 2], "a new certificate counts"
        assert tokens.refusals == 1

    run(story())


def test_connections_of_old_credentials_are_closed() -> None:
    async def story() -> None:
        tokens = FixedToken("old", "new")
        async with serving(OK, UNAUTHORIZED, OK) as server, session(server, tokens) as lane:
            await lane.ask("GET", PODS)
            await lane.ask("GET", PODS)
            assert server.connections == 2
            await server.has_open(1)

    run(story())


def test_a_second_401_is_an_error() -> None:
    async def story() -> int:
        tokens = FixedToken("old", "new")
        async with serving(UNAUTHORIZED) as server, session(server, tokens) as lane:
            with pytest.raises(UnauthorizedError):
                await lane.ask("GET", PODS)
            return len(server.requests)

    assert run(story()) == 2


def test_many_401_at_once_renew_the_credentials_once() -> None:
    """A second renewal would throw away the token that the first one has just fetched."""

    async def play(request: object, writer: asyncio.StreamWriter) -> None:
        headers = getattr(request, "headers", {})
        await asyncio.sleep(0.05)
        is_new = headers["authorization"] == "Bearer new"
        await (OK if is_new else UNAUTHORIZED)(request, writer)  # type: ignore[arg-type]

    async def story() -> int:
        tokens = FixedToken("old", "new", "never")
        async with serving(play) as server, session(server, tokens) as lane:
            await asyncio.gather(*(lane.ask("GET", PODS) for _ in range(4)))
        return tokens.refusals

    assert run(story()) == 1


def test_a_request_in_flight_survives_the_renewal_of_another() -> None:
    async def play(request: object, writer: asyncio.StreamWriter) -> None:
        path = getattr(request, "path", "")
        if path == "/slow":
            await asyncio.sleep(0.4)
        await (UNAUTHORIZED if path == "/refused" else OK)(request, writer)  # type: ignore[arg-type]

    async def story() -> tuple[bytes | BaseException, bytes | BaseException]:
        async with serving(play) as server, session(server, FixedToken("a", "b")) as lane:
            return await asyncio.gather(
                lane.ask("GET", "/slow"), lane.ask("GET", "/refused"), return_exceptions=True
            )

    slow, refused = run(story())
    assert slow == b'{"kind": "PodList"}'
    assert isinstance(refused, UnauthorizedError)


class SlowToken(FixedToken):
    async def token(self) -> str | None:
        await asyncio.sleep(20)
        return None


def test_credentials_that_hang_are_within_the_deadline() -> None:
    async def story() -> None:
        async with serving(OK) as server, session(server, SlowToken(), deadline_s=0.2) as lane:
            await lane.ask("POST", PODS)

    with pytest.raises(LateError) as raised:
        run(story())
    assert not raised.value.is_unknown


@pytest.mark.parametrize("token", ["two\r\nlines", "two\nlines", "schl\u00fcssel", "a\x00b"])
def test_a_token_that_is_no_header_is_refused_and_not_shown(token: str) -> None:
    async def story() -> None:
        async with serving(OK) as server, session(server, FixedToken(token)) as lane:
            await lane.ask("GET", PODS)

    with pytest.raises(ClusterError, match="not a single line of ASCII") as raised:
        run(story())
    assert token not in str(raised.value)


@pytest.mark.parametrize(
    "body",
    [b"you sent Authorization: Bearer s3cret", status(403, "Forbidden", "token s3cret is not")],
    ids=["a page", "a Status"],
)
def test_a_server_that_repeats_the_token_does_not_bring_it_into_the_message(body: object) -> None:
    async def story() -> None:
        play = answers(403, body)
        async with serving(play) as server, session(server, FixedToken("s3cret")) as lane:
            await lane.ask("GET", PODS)

    with pytest.raises(RefusedError) as raised:
        run(story())
    assert "s3cret" not in str(raised.value)
    assert "..." in str(raised.value)


def test_the_login_of_a_proxy_is_not_shown() -> None:
    async def story() -> None:
        async with serving(OK) as server:
            pass
        access = server.access(proxy=server.url.replace("http://", "http://ann:s3cret@"))
        lane = Session(access, connections=1, deadline_s=5)
        try:
            await lane.ask("GET", PODS)
        finally:
            await lane.close()

    with pytest.raises(UnreachableError, match="proxy cannot be reached") as raised:
        run(story())
    assert "s3cret" not in f"{raised.value!r} {raised.value}"
