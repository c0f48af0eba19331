"""The server of /metrics: what it answers, to how many, and what it does with bad input."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from decimal import Decimal
from http.client import HTTPConnection

import pytest

from fairlead.errors import FairleadError, Finding, ManifestError
from fairlead.store.metrics.family import Family, single
from fairlead.web import page_server
from fairlead.web.last_good_metrics import LastGoodMetrics
from fairlead.web.metrics_server import MetricsServer
from fairlead.web.page_server import MAX_CONNECTIONS, TIME_LIMIT_S
from tests.store.scraped import scraped


@contextmanager
def serving(server: MetricsServer) -> Iterator[int]:
    """Serve in a thread, and give the port."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def get(port: int, path: str, *, method: str = "GET", timeout_s: float = 30) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/metrics", 200, b"x 1.0\n"),
        ("/metrics?name=x", 200, b"x 1.0\n"),
        ("/", 404, b"there is nothing here; try /metrics\n"),
        ("/metrics/x", 404, b"there is nothing here; try /metrics\n"),
    ],
)
def test_only_metrics_are_served(path: str, status: int, body: bytes) -> None:
    with serving(MetricsServer("127.0.0.1", 0, lambda: b"x 1.0\n")) as port:
        assert get(port, path) == (status, body)


def test_nothing_can_be_written() -> None:
    with serving(MetricsServer("127.0.0.1", 0, lambda: b"")) as port:
        assert get(port, "/metrics", method="POST")[0] == 501


def test_whoever_comes_when_all_places_are_taken_is_turned_away() -> None:
    waiting = threading.Semaphore(0)
    enough = threading.Event()

    def answer() -> bytes:
        waiting.release()
        enough.wait(30)
        return b""

    with serving(MetricsServer("127.0.0.1", 0, answer)) as port:
        callers = [
            threading.Thread(target=get, args=(port, "/metrics")) for _ in range(MAX_CONNECTIONS)
        ]
        for caller in callers:
            caller.start()
        for _ in callers:
            assert waiting.acquire(timeout=30)
        with pytest.raises(ConnectionError):
            get(port, "/metrics")
        enough.set()
        for caller in callers:
            caller.join()
        assert _soon_served(port)


def _soon_served(port: int) -> bool:
    """Places become free when threads end, which is a little after their callers were served."""
    for _ in range(1000):
        try:
            return get(port, "/metrics") == (200, b"")
        except ConnectionError:
            threading.Event().wait(0.01)
    return False


def test_a_caller_that_says_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_server, "TIME_LIMIT_S", 0.05)
    with (
        serving(MetricsServer("127.0.0.1", 0, lambda: b"")) as port,
        socket.create_connection(("127.0.0.1", port), timeout=30) as silent,
    ):
        assert silent.recv(1) == b""


def test_50_callers_that_drip_do_not_keep_a_scrape_out() -> None:
    with (
        serving(MetricsServer("127.0.0.1", 0, lambda: b"x 1.0\n")) as port,
        ExitStack() as stack,
    ):
        for _ in range(50):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            slow.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        assert get(port, "/metrics", timeout_s=TIME_LIMIT_S / 2) == (200, b"x 1.0\n")


def test_a_request_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A letter every 20 ms would never be late by itself."""
    monkeypatch.setattr(page_server, "TIME_LIMIT_S", 0.2)
    with (
        serving(MetricsServer("127.0.0.1", 0, lambda: b"")) as port,
        socket.create_connection(("127.0.0.1", port), timeout=0.02) as slow,
    ):
        for _ in range(500):
            try:
                slow.sendall(b"G")
                if not slow.recv(1):
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
    pytest.fail("the server still reads after 10 s")


def test_an_answer_that_is_taken_slowly_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_server, "TIME_LIMIT_S", 0.2)
    body = bytes(2**26)  # more than the buffers of both ends hold
    with (
        serving(MetricsServer("127.0.0.1", 0, lambda: body)) as port,
        socket.create_connection(("127.0.0.1", port), timeout=30) as slow,
    ):
        slow.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        taken = 0
        with suppress(ConnectionError):
            for _ in range(200):
                taken += len(slow.recv(1))
                time.sleep(0.005)
            while piece := slow.recv(2**20):
                taken += len(piece)
    assert taken < len(body)


def test_an_address_that_is_taken_is_told() -> None:
    with serving(MetricsServer("127.0.0.1", 0, lambda: b"")) as port:
        other = socket.socket()
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        assert taken != port
        with other, pytest.raises(FairleadError, match=f"cannot listen on 127.0.0.1 port {taken}"):
            MetricsServer("127.0.0.1", taken, lambda: b"")


def test_the_address_is_shown_as_a_browser_takes_it() -> None:
    with MetricsServer("127.0.0.1", 0, lambda: b"") as server:
        assert server.url == f"http://127.0.0.1:{server.server_address[1]}/metrics"
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        server = MetricsServer("::1", 0, lambda: b"")
    except FairleadError:
        pytest.skip("this machine has no IPv6 loopback")
    with server:
        assert server.url == f"http://[::1]:{server.server_address[1]}/metrics"


class Input:
    """An input that says one number, or is broken."""

    def __init__(self) -> None:
        self.number = 1
        self.wrong: Exception | None = None

    def read(self) -> Sequence[Family]:
        if self.wrong is not None:
            raise self.wrong
        return [single("x", "m", self.number)]


def finding(severity: str, message: str) -> Finding:
    assert severity in ("error", "warning")
    return Finding(
        severity="error" if severity == "error" else "warning",
        code="c",
        file="q.yaml",
        message=message,
    )


def test_a_broken_input_leaves_the_numbers_and_is_told_once() -> None:
    source = Input()
    told: list[str] = []
    metrics = LastGoodMetrics(source.read(), source.read, told.append)

    def answered() -> tuple[float, float]:
        numbers = scraped(metrics.answer().decode())
        return numbers["x"][()], numbers["fairlead_input_errors"][()]

    assert answered() == (1, 0)
    source.number = 2
    assert answered() == (2, 0)
    source.number = 3
    source.wrong = ManifestError(
        [finding("error", "no"), finding("warning", "hm"), finding("error", "nor this")]
    )
    assert answered() == (2, 2)
    assert answered() == (2, 2)
    assert len(told) == 1
    assert "q.yaml: error: $: no" in told[0]
    source.wrong = FairleadError("another mistake")
    assert answered() == (2, 1)
    source.wrong = None
    assert answered() == (3, 0)
    assert answered() == (3, 0)
    assert [each.splitlines()[-1] for each in told[1:]] == [
        "another mistake",
        "the input can be read again",
    ]


def test_a_defect_leaves_the_last_numbers_and_is_told_once() -> None:
    source = Input()
    told: list[str] = []
    metrics = LastGoodMetrics(source.read(), source.read, told.append)
    source.wrong = KeyError("quota")
    with serving(MetricsServer("127.0.0.1", 0, metrics.answer)) as port:
        for _ in range(2):
            status, text = get(port, "/metrics")
            numbers = scraped(text.decode())
            assert (status, numbers["x"][()], numbers["fairlead_input_errors"][()]) == (200, 1, 1)
        assert [each.splitlines()[-1] for each in told] == [
            "a defect of Fairlead, please report it: KeyError('quota')"
        ]
        source.wrong = None
        assert get(port, "/metrics")[0] == 200
    assert told[1:] == ["the input can be read again"]


def test_numbers_that_cannot_be_written_leave_the_last_ones() -> None:
    def read() -> Sequence[Family]:
        return [Family(name="x", meaning="m", samples=(((), Decimal("sNaN")),))]

    metrics = LastGoodMetrics([single("x", "m", 1)], read, lambda _message: None)
    numbers = scraped(metrics.answer().decode())
    assert (numbers["x"][()], numbers["fairlead_input_errors"][()]) == (1, 1)


def test_the_input_is_read_by_one_caller_at_a_time() -> None:
    inside = 0
    most = 0
    lock = threading.Lock()

    def read() -> Sequence[Family]:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.01)
        with lock:
            inside -= 1
        return []

    metrics = LastGoodMetrics([], read, lambda _message: None)
    callers = [threading.Thread(target=metrics.answer) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert most == 1
