"""Answers the client of Prometheus wrongly, and asks the metrics server wrongly, on loopback.

Whatever a server sends, the client ends by its deadline with a reading or a StoreError that names
the server. Whatever callers send, a normal scrape beside them is served in its time.
"""

import gzip
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from threading import Thread
from time import sleep
from typing import Any, Final

from fairlead.errors import StoreError
from fairlead.store.metrics.family import single
from fairlead.store.prometheus.history import PrometheusHistory
from fairlead.usage.settings import PrometheusSource, UsageRules
from fairlead.usage.window import Sliding
from fairlead.web.last_good_metrics import LastGoodMetrics
from fairlead.web.metrics_server import MetricsServer
from tests.fuzz.rounds import main

TIMEOUT_MS: Final = 200
SCRAPE_S: Final = 5.0
CALLERS: Final = 50
MINUTE_MS: Final = 60_000
NOW_MS: Final = 1_767_225_600_000
RULES: Final = UsageRules(window=Sliding(10 * MINUTE_MS))
NUMBERS: Final = ("0", "1", "2.5", "-1", "NaN", "+Inf", "sNaN", "1e33", "1e400", "1e999999999")
ODD: Final = (*NUMBERS, "", "1_0", "\u0661", "x" * 300, "0." + "1" * 5000)
TIMES: Final[tuple[Any, ...]] = (0, -1, 1e308, 1e20, "1", None, True, [], 10**400)
STATUS: Final = (b"200 OK", b"200", b"204 No", b"301 M", b"401 U", b"405 M", b"500 E", b"999 X")
BAD_STATUS: Final = (b"HTTP/9.9 200 OK", b"HTTP/1.1 -1 OK", b"ICY 200 OK", b"", b"\xff\x00", b"{}")
HEADERS: Final = (
    b"Content-Length: -1",
    b"Content-Length: 99999999999999999999",
    b"Content-Length: 3\r\nContent-Length: 4",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Content-Encoding: gzip",
    b"Content-Encoding: deflate",
    b"Content-Encoding: br",
    b"Content-Type: text/html; charset=\xff",
    b"Content-Type: application/json; charset=utf-7",
    b"Location: http://127.0.0.1:1/",
    b"Set-Cookie: a=b; Max-Age=x",
    b"Connection: keep-alive, upgrade\r\nUpgrade: h2c",
    b"X: " + b"y" * 70_000,
    b"no colon",
    b" folded",
    b"\x00: \x01",
)
ENDLESS: Final = (b"a", b"X: y\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"1\r\n \r\n", b"\x00")
REQUESTS: Final = (
    b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\nx",
    b"GET http://[::1 HTTP/1.1\r\n\r\n",
    b"GET /metrics HTTP/9.9\r\n\r\n",
    b"GET /" + b"a" * 70_000,
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
    b"GET /metrics HTTP/1.1\r\nExpect: 100-continue\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01",
    b"",
)


def attack(random: Random, folder: Path) -> str:
    """Make one round: mostly against the client, which takes less time."""
    return ask_wrongly(random, folder) if random.random() < 0.1 else answer_wrongly(random, folder)


def answer_wrongly(random: Random, folder: Path) -> str:
    """Give the client a few replies, the same ones again and again."""
    replies = [reply(random) for _ in range(random.choice((1, 2, 6)))]
    for number, (content, drop) in enumerate(replies):
        (folder / f"reply-{number}").write_bytes(content)
        (folder / f"drop-{number}").write_bytes(drop)
    with _replying(replies) as url:
        source = PrometheusSource(url=url, query_timeout_ms=TIMEOUT_MS)
        history = PrometheusHistory(source, RULES, {})
        try:
            reading = history.read(NOW_MS)
        except StoreError as problem:
            return check_told(str(problem), url)
    assert all(each.isprintable() for each in reading.problems)
    use = reading.ledger.usage(NOW_MS)
    assert all(each >= 0 for queue in use.queues.values() for each in queue.all)
    reading.ledger.normalised(NOW_MS)
    return "read"


def check_told(text: str, url: str) -> str:
    """A failure names the server, in words that a terminal can show."""
    assert url in text, f"names no server: {text}"
    assert text.isprintable(), f"cannot be shown: {text!r}"
    return "told"


def reply(random: Random) -> tuple[bytes, bytes]:
    """What is sent at once, and what drips after that, if anything."""
    body = json_body(random)
    if random.random() < 0.5:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
        return head + b"%d\r\n\r\n" % len(body) + body, b""
    headers = [b"Content-Type: application/json"]
    match random.randrange(6):
        case 0:
            headers.append(b"Content-Encoding: gzip")
            body = gzip.compress(body)
        case 1:
            headers.append(b"Transfer-Encoding: chunked")
            size = random.choice((b"%x" % len(body), b"-1", b"f" * 20, b"", b"1;x=" + b"y" * 9_999))
            body = (
                size + b"\r\n" + body + b"\r\n0\r\n" + random.choice((b"X: y\r\n", b"")) + b"\r\n"
            )
        case _:
            headers.append(b"Content-Length: %d" % (len(body) + random.choice((0, 0, 0, -1, 9))))
    if random.random() < 0.4:
        headers.insert(random.randrange(len(headers) + 1), random.choice(HEADERS))
    status = b"HTTP/1.1 " + random.choice((STATUS[0],) * 6 + STATUS)
    if random.random() < 0.05:
        status = random.choice(BAD_STATUS)
    content = b"\r\n".join([status, *headers, b"", body])
    if random.random() < 0.1:
        content = ENDLESS[2] * random.choice((1, 3, 500)) + content
    content = mutated(random, content) if random.random() < 0.3 else content
    if random.random() < 0.1:
        return content[: random.randrange(len(content) + 1)], random.choice(ENDLESS)
    return content, b""


def json_body(random: Random) -> bytes:
    """Mostly an answer of Prometheus, or something that has a part of its form."""
    samples: list[Any] = [
        [(NOW_MS - step * MINUTE_MS) / 1000, random.choice(NUMBERS[:4])] for step in (3, 2, 1, 0)
    ]
    if random.random() < 0.3:
        samples[random.randrange(4)][1] = random.choice(ODD)
    if random.random() < 0.05:
        samples[random.randrange(4)][0] = random.choice(TIMES)
    if random.random() < 0.05:
        random.shuffle(samples)
    name = random.choice(("a", "b", "", "\u202e\n", "x" * 10_000))
    series = [{"metric": {"queue_name": name}, "values": samples}] * random.choice(
        (0, 1, 1, 1, 1, 2)
    )
    data: Any = {"resultType": random.choice(("matrix",) * 30 + ("vector",)), "result": series}
    answer: Any = {"status": "success", "data": data, "warnings": random.choice(([], ["\x1b[2J"]))}
    match random.randrange(40):
        case 0:
            depth = random.choice((10, 2_000, 200_000))
            return b'{"status":"success","x":' + b"[" * depth + b"]" * depth + b"}"
        case 1:
            answer = {
                "status": "error",
                "errorType": "timeout",
                "error": "\x1b[2J too many samples",
            }
        case 2:
            answer = random.choice((None, [], {}, {"status": 1}, {"status": "success"}, "\ud800"))
    return json.dumps(answer).encode()


def mutated(random: Random, content: bytes) -> bytes:
    """*content* with a few bytes flipped, lost or repeated."""
    for _ in range(random.choice((1, 2, 8))):
        at = random.randrange(len(content) + 1)
        part = random.choice((b"", bytes([random.randrange(256)]), content[at : at + 20] * 2))
        content = content[:at] + part + content[at + random.choice((0, 1, 20)) :]
    return content


@contextmanager
def _replying(replies: list[tuple[bytes, bytes]]) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    thread = Thread(target=_reply, args=(listening, replies), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def _reply(listening: socket.socket, replies: list[tuple[bytes, bytes]]) -> None:
    number = 0
    while True:
        try:
            caller, _ = listening.accept()
        except OSError:
            return  # the round is over
        content, drop = replies[number % len(replies)]
        number += 1
        with caller, suppress(OSError):
            caller.settimeout(TIMEOUT_MS / 1000)
            caller.recv(65_536)
            caller.sendall(content)
            while drop:
                caller.sendall(drop)
                sleep(0.01)
            caller.shutdown(socket.SHUT_WR)


def ask_wrongly(random: Random, folder: Path) -> str:
    """Send many wrong requests, leave some connections open, and scrape beside them."""
    metrics = LastGoodMetrics([single("x", "m", 1)], lambda: [single("x", "m", 2)], lambda _: None)
    server = _Server("127.0.0.1", 0, metrics.answer)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    asked = [_request(random) for _ in range(CALLERS)]
    (folder / "requests").write_text(repr(asked), encoding="utf-8")
    try:
        with ExitStack() as stack:
            for request in asked:
                _ask(stack, server.server_address[1], request, stays=random.random() < 0.8)
            scraped = _scraped(server.server_address[1])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert b"\nx 2.0\n" in scraped, f"a scrape got {scraped!r}"
    assert not server.faults, server.faults
    return "scraped"


class _Server(MetricsServer):
    """Keeps what goes wrong in its threads."""

    def __init__(self, host: str, port: int, answer: Any) -> None:
        super().__init__(host, port, answer)
        self.faults: list[str] = []

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        fault = sys.exception()
        if not isinstance(fault, OSError):
            self.faults.append(repr(fault))


def _request(random: Random) -> bytes:
    request = mutated(random, random.choice(REQUESTS))
    return request[: random.randrange(len(request) + 1)] if random.random() < 0.5 else request


def _ask(stack: ExitStack, port: int, request: bytes, *, stays: bool) -> None:
    with suppress(OSError):
        caller = socket.create_connection(("127.0.0.1", port), timeout=SCRAPE_S)
        if stays:
            stack.enter_context(caller)
        caller.sendall(request)
        if not stays:
            caller.close()


def _scraped(port: int) -> bytes:
    connection = HTTPConnection("127.0.0.1", port, timeout=SCRAPE_S)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read()
    finally:
        connection.close()


if __name__ == "__main__":
    raise SystemExit(main("http", attack))
