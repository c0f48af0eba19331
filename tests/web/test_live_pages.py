"""Whether a live process says that it is alive and ready, and where."""

import asyncio
import json
from http.client import HTTPConnection

import pytest

from fairlead.web.live_pages import LONGEST_SILENCE_S, Health, json_answer, readiness
from fairlead.web.page_server import Answer, PageServer
from tests.cluster.kubernetes import virtual_time

OK = Answer(b"ok\n")

# seconds since the event loop and the engine looked around -> what is said
BEATS = {
    "both do": (0, 0, OK),
    "both do, as late as they may": (LONGEST_SILENCE_S, LONGEST_SILENCE_S, OK),
    "the engine does not run yet": (0, None, OK),
    "the engine hangs": (0, 31, Answer(b"the engine has not looked around for 31 s\n", status=503)),
    "the event loop hangs": (
        45,
        None,
        Answer(b"the event loop has not looked around for 45 s\n", status=503),
    ),
    "both hang": (
        60,
        60,
        Answer(
            b"the event loop has not looked around for 60 s\n"
            b"the engine has not looked around for 60 s\n",
            status=503,
        ),
    ),
}


@pytest.mark.parametrize(("loop_s", "engine_s", "said"), BEATS.values(), ids=BEATS.keys())
def test_a_process_is_alive_while_its_parts_look_around(
    loop_s: float, engine_s: float | None, said: Answer
) -> None:
    now_s = 1000.0 - loop_s
    health = Health(lambda: None if engine_s is None else 1000.0 - engine_s, lambda: now_s)
    now_s = 1000.0
    assert health.answer() == said


def test_the_event_loop_looks_around_for_as_long_as_it_runs() -> None:
    async def story() -> None:
        clock = asyncio.get_running_loop().time
        health = Health(lambda: None, clock)
        beating = asyncio.create_task(health.run())
        await asyncio.sleep(1000)
        assert health.answer() == OK
        beating.cancel()
        await asyncio.sleep(1000)
        assert health.answer().status == 503

    virtual_time.run(story())


def test_a_process_is_ready_or_says_what_it_waits_for() -> None:
    assert readiness(lambda: True, lambda: ["Pod"]) == OK
    said = b"waiting for Node, Pod\n"
    assert readiness(lambda: False, lambda: ["Node", "Pod"]) == Answer(said, status=503)
    assert readiness(lambda: False, list).body == b"waiting for the first lists\n"


def test_each_page_has_its_own_status_and_type() -> None:
    pages = {
        "/readyz": lambda: Answer(b"no\n", status=503),
        "/shadow": lambda: json_answer("{}"),
    }
    server = PageServer("127.0.0.1", 0, pages)
    with server.serving():
        port = server.server_address[1]
        found = {path: _get(port, path) for path in ("/readyz?verbose", "/shadow", "/")}
    assert found == {
        "/readyz?verbose": (503, "text/plain; charset=utf-8", b"no\n"),
        "/shadow": (200, "application/json", b"{}"),
        "/": (404, "text/plain; charset=utf-8", b"there is nothing here; try /readyz, /shadow\n"),
    }
    assert json.loads(found["/shadow"][2]) == {}


def _get(port: int, path: str) -> tuple[int, str | None, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.getheader("Content-Type"), response.read()
    finally:
        connection.close()
