"""Serves ``/metrics`` to Prometheus.

A scrape costs a reading of the input, so there is a bound on what callers can ask for at once: a
few connections, each with a time limit; further ones are refused. What is answered
is computed by one thread at a time (`last_good_metrics`).
"""

import socket
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import BoundedSemaphore
from typing import Any, Final

from fairlead.errors import FairleadError
from fairlead.store.metrics.exposition import CONTENT_TYPE

MAX_CONNECTIONS: Final = 8
TIME_LIMIT_S: Final = 10  # for a caller to say something, or to take what is sent
ELSEWHERE: Final = b"the metrics are at /metrics\n"


class MetricsServer(ThreadingTCPServer):
    """Answers ``GET /metrics`` with what *answer* returns, from many threads."""

    allow_reuse_address = True
    daemon_threads = True  # a caller that hangs does not keep the program from ending

    def __init__(self, host: str, port: int, answer: Callable[[], bytes]) -> None:
        """Listen on *host*; port 0 is any that is free. Raises FairleadError if that cannot be."""
        self.answer = answer
        self._places = BoundedSemaphore(MAX_CONNECTIONS)
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
    def url(self) -> str:
        """Where the metrics are."""
        host, port = self.server_address[:2]
        shown = str(host)
        return (
            f"http://[{shown}]:{port}/metrics" if ":" in shown else f"http://{shown}:{port}/metrics"
        )

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a caller in, or turn it away if there are too many."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a caller, and make room for the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of callers that left in the middle; show what is a defect of ours."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: MetricsServer
    timeout = TIME_LIMIT_S
    server_version = "fairlead"
    sys_version = ""  # callers need not know which Python this is

    def do_GET(self) -> None:
        is_metrics = self.path.partition("?")[0] == "/metrics"
        body = self.server.answer() if is_metrics else ELSEWHERE
        self.send_response(200 if is_metrics else 404)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the library's name
        """Say nothing: a line for each scrape would hide what matters."""
