"""Serves a few pages, such as ``/metrics`` to Prometheus and ``/healthz`` to a kubelet.

An answer may cost a reading of the input, so there is a bound on what callers can ask for at once:
a few connections, each with one time limit for its whole request and one for taking the whole
answer. A caller that is slow must not keep a normal scrape out: if all places are taken, the oldest
one that still sends or takes something is closed.
"""

import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Lock, Thread
from typing import Any, Final, TypeAlias

import msgspec

from fairlead.errors import FairleadError

MAX_CONNECTIONS: Final = 32
TIME_LIMIT_S: Final = 10.0  # for a caller to send its request, and again to take the answer
PLAIN_TEXT: Final = "text/plain; charset=utf-8"


class Answer(msgspec.Struct, frozen=True):
    """What a caller gets."""

    body: bytes
    content_type: str = PLAIN_TEXT
    status: int = 200


Pages: TypeAlias = Mapping[str, Callable[[], Answer]]
"""What answers at each path. Many threads may ask at once."""


class PageServer(ThreadingTCPServer):
    """Answers ``GET`` of each of its pages, from many threads."""

    allow_reuse_address = True
    daemon_threads = True  # a caller that hangs does not keep the program from ending

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        """Listen on *host*; port 0 is any that is free. Raises FairleadError if that cannot be."""
        self.pages = pages
        # When each open connection is closed, the oldest first. None: it waits for its answer.
        self._closed_at_s: dict[socket.socket, float | None] = {}
        self._lock = Lock()
        if ":" in host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as wrong:
            reason = wrong.strerror if isinstance(wrong, OSError) else None
            raise FairleadError(
                f"cannot listen on {host} port {port}: {reason or wrong}"
            ) from wrong

    @property
    def address(self) -> str:
        """Where the pages are, such as ``http://127.0.0.1:9464``."""
        host, port = self.server_address[:2]
        shown = str(host)
        return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Answer in a thread of its own for the time of the block."""
        thread = Thread(target=self.serve_forever, name="pages", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            thread.join()
            self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a caller in, in the place of the oldest slow one if there are too many.

        If all of them wait for their answers, it is turned away.
        """
        with self._lock:
            slow = [each for each, at_s in self._closed_at_s.items() if at_s is not None]
            is_full = len(self._closed_at_s) >= MAX_CONNECTIONS
            if is_full and slow:
                self._hang_up(slow[0])
            is_taken = not is_full or bool(slow)
            if is_taken:
                self._closed_at_s[request] = time.monotonic() + TIME_LIMIT_S
        if is_taken:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Close the connections whose time is over; called twice a second at least."""
        super().service_actions()
        now_s = time.monotonic()
        with self._lock:
            for connection, at_s in list(self._closed_at_s.items()):
                if at_s is not None and at_s <= now_s:
                    self._hang_up(connection)

    def shutdown_request(self, request: Any) -> None:
        """End a connection, and make room for the next."""
        with self._lock:
            self._closed_at_s.pop(request, None)
        super().shutdown_request(request)

    def limit_time(self, connection: socket.socket, limit_s: float | None) -> None:
        """Give a connection so much more time; None while the delay is ours."""
        with self._lock:
            if connection in self._closed_at_s:  # else it is closed already
                self._closed_at_s[connection] = (
                    None if limit_s is None else time.monotonic() + limit_s
                )

    def _hang_up(self, connection: socket.socket) -> None:
        """Let the thread that reads or writes there find an end at once."""
        del self._closed_at_s[connection]
        with suppress(OSError):  # the caller has left by itself
            connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of callers that left in the middle; show what is a defect of ours."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "fairlead"
    sys_version = ""  # callers need not know which Python this is

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            known = ", ".join(self.server.pages)
            answer = Answer(f"there is nothing here; try {known}\n".encode(), status=404)
        else:
            self.server.limit_time(self.connection, None)
            answer = page()
            self.server.limit_time(self.connection, TIME_LIMIT_S)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the library's name
        """Say nothing: a line for each caller would hide what matters."""
