"""Every change of one kind, across connections that end or break."""

import json
import time
from contextlib import aclosing
from decimal import Decimal
from typing import Any

import pytest

from fairlead.cluster.kubernetes.client.backoff import Backoff
from fairlead.cluster.kubernetes.client.errors import (
    ApiError,
    GoneError,
    LateError,
    RefusedError,
    ServerFaultError,
    TooLongAnswerError,
    TooManyRequestsError,
    UnreachableError,
    UnreadableAnswerError,
)
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.client.watch import (
    Bookmark,
    Changed,
    Connected,
    Interrupted,
    WatchEvent,
    watch,
)
from tests.cluster.kubernetes.client.byte_server import (
    STREAM_HEAD,
    ByteServer,
    Playing,
    answers,
    chunk,
    run,
    sends,
    serving,
    silence,
    status,
    streams,
)

PODS = Resource(group="", version="v1", plural="pods")
PATH = "GET /api/v1/pods"


def event(kind: str, version: int, name: str = "p") -> dict[str, Any]:
    metadata = {"name": name, "resourceVersion": str(version)}
    return {"type": kind, "object": {"kind": "Pod", "metadata": metadata}}


def error(code: int, reason: str, **details: object) -> dict[str, Any]:
    return {"type": "ERROR", "object": status(code, reason, "because", **details)}


def seen(
    *plays: Playing,
    until: str,
    idle_s: float = 5.0,
    lasting_s: float = 30.0,
    deadline_s: float = 5.0,
    max_line_bytes: int = 2**20,
    first_s: float = 0.001,
) -> tuple[list[WatchEvent], ByteServer]:
    """Watch from version 5 until the version *until* is seen."""

    async def story() -> tuple[list[WatchEvent], ByteServer]:
        events: list[WatchEvent] = []
        async with serving(*plays) as server:
            lane = Session(
                server.access(),
                connections=0,
                deadline_s=deadline_s,
                max_line_bytes=max_line_bytes,
            )
            pauses = Backoff(lambda: 0.5, first_s=first_s, most_s=0.1)
            try:
                all_events = watch(
                    lane, PODS, "5", pauses=pauses, idle_s=idle_s, lasting_s=lasting_s
                )
                async with aclosing(all_events) as all_:
                    async for each in all_:
                        events.append(each)
                        if getattr(each, "resource_version", "") == until:
                            break
            finally:
                await lane.close()
            return events, server

    return run(story())


def failure(*plays: Playing, **how: Any) -> ApiError:
    with pytest.raises(ApiError) as raised:
        seen(*plays, until="never", **how)
    return raised.value


def versions(events: list[WatchEvent]) -> list[str]:
    return [each.resource_version for each in events if isinstance(each, Changed | Bookmark)]


def problems(events: list[WatchEvent]) -> list[type | None]:
    return [
        type(each.error) if each.error else None for each in events if isinstance(each, Interrupted)
    ]


def test_events_are_typed() -> None:
    lines = [
        event("ADDED", 6),
        event("MODIFIED", 7),
        {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "8"}}},
        event("DELETED", 9),
    ]
    events, server = seen(streams(*lines, end="open"), until="9")
    assert events == [
        Connected(),
        Changed(change="added", object=event("", 6)["object"], resource_version="6"),
        Changed(change="modified", object=event("", 7)["object"], resource_version="7"),
        Bookmark(resource_version="8"),
        Changed(change="deleted", object=event("", 9)["object"], resource_version="9"),
    ]
    [request] = server.requests
    assert request.query == {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "timeoutSeconds": "450",  # 300 * (1 + 0.5)
    }


def test_a_watch_that_is_closed_closes_its_connection() -> None:
    async def story() -> None:
        async with serving(streams(event("ADDED", 6), end="open")) as server:
            lane = Session(server.access(), connections=0, deadline_s=5)
            async with aclosing(watch(lane, PODS, "5", pauses=Backoff(lambda: 0.5))) as events:
                async for each in events:
                    if isinstance(each, Changed):
                        break
            await server.has_open(0)
            await lane.close()

    run(story())


def test_numbers_are_exact() -> None:
    line = b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"6"},"weight":0.1}}'
    events, _ = seen(streams(line, end="open"), until="6")
    assert isinstance(events[1], Changed)
    assert events[1].object["weight"] == Decimal("0.1")


@pytest.mark.parametrize("end", ["ended", "cut"])
def test_a_watch_goes_on_from_the_last_version_it_saw(end: str) -> None:
    events, server = seen(
        streams(event("ADDED", 6), event("BOOKMARK", 70), end=end),
        streams(event("ADDED", 71), end="open"),
        until="71",
    )
    assert versions(events) == ["6", "70", "71"]
    assert [each.query["resourceVersion"] for each in server.requests] == ["5", "70"]
    assert problems(events) == [None if end == "ended" else UnreachableError]
    assert [type(each) for each in events].count(Connected) == 2


def test_a_stream_cut_at_any_byte_loses_and_repeats_nothing() -> None:
    """Two events as one text, cut before byte 0, 1, ...: a line counts when its newline is in."""
    text = b"".join(
        b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"%d"}}}\n' % version
        for version in (6, 7)
    )
    line = len(text) // 2
    for at in range(len(text) + 1):
        first = sends(STREAM_HEAD + (chunk(text[:at]) if at else b""), is_cut=True)
        rest = [event("ADDED", version) for version in (6, 7, 8)][at // line :]
        events, server = seen(first, streams(*rest, end="open"), until="8")
        assert versions(events) == ["6", "7", "8"], at
        expected = ["5", ["5", "6", "7"][at // line]]
        assert [each.query["resourceVersion"] for each in server.requests] == expected, at


def test_lines_are_independent_of_pieces() -> None:
    """Byte by byte, two lines in one piece, and empty lines between."""
    text = b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"6"}}}\n'
    dripped = sends(STREAM_HEAD, *(chunk(bytes([each])) for each in text), pause_s=0)
    assert versions(seen(dripped, until="6")[0]) == ["6"]
    both = text + b"\n\r\n" + text.replace(b'"6"', b'"7"')
    assert versions(seen(sends(STREAM_HEAD, chunk(both)), until="7")[0]) == ["6", "7"]


def test_a_version_that_is_gone_asks_for_a_new_list() -> None:
    found = failure(streams(event("ADDED", 6), error(410, "Expired")))
    assert isinstance(found, GoneError)
    assert str(found) == f"{PATH}: 410 Expired because; list the objects anew"
    assert isinstance(failure(answers(410, status(410, "Gone", "too old"))), GoneError)


@pytest.mark.parametrize(
    ("play", "problem"),
    [
        (answers(500, b"oops"), ServerFaultError),
        (answers(429, status(429, "TooManyRequests", "x", retryAfterSeconds=0)), None),
        (streams(error(500, "InternalError")), ServerFaultError),
        (streams(error(0, "")), ServerFaultError),
        (streams({"type": "ERROR", "object": {"code": "no Status"}}), ServerFaultError),
        (streams(b"{"), UnreadableAnswerError),
        (streams({"type": "ADDED", "object": {}}), UnreadableAnswerError),
        (streams({"type": "ADDED", "object": {"metadata": {}}}), UnreadableAnswerError),
        (streams({"type": "ADDED", "object": {"metadata": None}}), UnreadableAnswerError),
        (streams({"type": "BOOKMARK", "object": {}}), UnreadableAnswerError),
        (streams({"type": "ADDED", "object": None}), UnreadableAnswerError),
        (streams(event("ADDED", 6) | {"type": 1}), UnreadableAnswerError),
        (streams(event("NEWS", 6)), UnreadableAnswerError),
        (answers(200, b"<html>", content_type="text/html"), UnreadableAnswerError),
        (sends(is_cut=True), UnreachableError),
    ],
)
def test_what_may_pass_is_told_and_tried_again(play: Playing, problem: type[ApiError]) -> None:
    events, server = seen(play, streams(event("ADDED", 6), end="open"), until="6")
    assert problems(events) == [problem or TooManyRequestsError]
    assert versions(events) == ["6"]
    assert [each.query["resourceVersion"] for each in server.requests] == ["5", "5"]


@pytest.mark.parametrize(
    ("play", "problem"),
    [
        (answers(403, status(403, "Forbidden", "no")), RefusedError),
        (streams(error(403, "Forbidden")), RefusedError),
        (streams(b"x" * 301), TooLongAnswerError),
    ],
)
def test_what_will_not_pass_ends_the_watch(play: Playing, problem: type[ApiError]) -> None:
    assert type(failure(play, max_line_bytes=300)) is problem


def test_a_line_without_an_end_is_bounded() -> None:
    play = sends(STREAM_HEAD, *[chunk(b"x" * 50)] * 1000)
    assert isinstance(failure(play, max_line_bytes=100), TooLongAnswerError)


def test_a_silent_watch_is_begun_anew_and_is_no_error() -> None:
    events, _ = seen(
        streams(event("ADDED", 6), end="open"),
        streams(event("ADDED", 7), end="open"),
        until="7",
        idle_s=0.6,
    )
    assert versions(events) == ["6", "7"]
    assert problems(events) == [None]


def test_connections_that_lasted_without_an_event_do_not_lengthen_pauses() -> None:
    """A silent one ends after 0.3 s, an empty one at once; 0.2 s is lasting. From 1 ms."""
    quiet, ended = streams(end="open"), streams()
    events, _ = seen(
        quiet,
        quiet,
        ended,
        quiet,
        streams(event("ADDED", 6), end="open"),
        until="6",
        idle_s=0.3,
        lasting_s=0.2,
    )
    pauses = [each.pause_s for each in events if isinstance(each, Interrupted)]
    assert pauses == pytest.approx([0.00075, 0.00075, 0.0015, 0.00075])


def test_the_idle_deadline_begins_anew_with_each_line() -> None:
    """4 lines, 0.4 s apart, take 1.2 s; a line may take 1 s."""
    lines = [
        chunk(json.dumps(event("ADDED", version)).encode() + b"\n") for version in range(6, 10)
    ]
    slow = sends(STREAM_HEAD + lines[0], *lines[1:], pause_s=0.4)
    events, _ = seen(slow, until="9", idle_s=1.0)
    assert versions(events) == ["6", "7", "8", "9"]
    assert problems(events) == []


def test_a_line_that_drips_is_no_sign_of_life() -> None:
    began_s = time.monotonic()
    drip = sends(STREAM_HEAD, *[chunk(b" ")] * 100, pause_s=0.05)
    events, _ = seen(drip, streams(event("ADDED", 6), end="open"), until="6", idle_s=0.6)
    assert problems(events) == [None]
    assert time.monotonic() - began_s < 4.5


def test_headers_that_do_not_come_are_bounded_by_the_deadline() -> None:
    events, _ = seen(
        silence(), streams(event("ADDED", 6), end="open"), until="6", deadline_s=0.6, idle_s=10
    )
    assert problems(events) == [LateError]


def test_pauses_double_until_an_event_comes() -> None:
    """From 1 ms, random part 0.5: 0.75, 1.5 and 3 ms; then an event, and 0.75 ms again."""
    ended = streams()
    events, _ = seen(
        ended, ended, ended, streams(event("ADDED", 6)), streams(event("ADDED", 7)), until="7"
    )
    pauses = [each.pause_s for each in events if isinstance(each, Interrupted)]
    assert pauses == pytest.approx([0.00075, 0.0015, 0.003, 0.00075])


def test_the_server_says_how_long_to_pause() -> None:
    busy = answers(429, status(429, "TooManyRequests", "x", retryAfterSeconds=1))
    began_s = time.monotonic()
    events, _ = seen(busy, streams(event("ADDED", 6), end="open"), until="6")
    [pause_s] = [each.pause_s for each in events if isinstance(each, Interrupted)]
    assert pause_s == pytest.approx(1.05)  # 1 s and half of a tenth
    assert time.monotonic() - began_s >= 1


@pytest.mark.parametrize(("random", "shares"), [(0.0, 0.5), (0.5, 0.75), (0.999, 0.9995)])
def test_a_pause_is_between_half_and_the_whole_of_its_bound(random: float, shares: float) -> None:
    """The bounds are 1, 2, 4, 5, 5 s: they double up to the most."""
    pauses = Backoff(lambda: random, first_s=1, most_s=5)
    assert [pauses.next_s() for _ in range(5)] == [shares * bound for bound in (1, 2, 4, 5, 5)]
    pauses.reset()
    assert pauses.next_s() == shares


def test_a_pause_stays_finite_after_many_failures() -> None:
    pauses = Backoff(lambda: 0.0, first_s=1, most_s=5)
    assert [pauses.next_s() for _ in range(5000)][-1] == 2.5
