"""A small HTTP server on this machine that answers as a test tells it to, over TLS if asked."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple
from urllib.parse import parse_qs


class Request(NamedTuple):
    path: str
    fields: dict[str, str]
    authorization: str
    method: str = "POST"


class Response(NamedTuple):
    body: bytes
    status: int = 200
    content_type: str = "application/json"
    length: int | None = None  # what the header claims; None: the truth


Answering = Callable[[Request], Response]


@contextmanager
def serving(answer: Answering, trust: ssl.SSLContext | None = None) -> Iterator[str]:
    """Give the address at which *answer* is asked, until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer(self.path, form)

        def do_GET(self) -> None:
            path, _, form = self.path.partition("?")
            self._answer(path, form)

        def _answer(self, path: str, form: str) -> None:
            fields = {name: values[0] for name, values in parse_qs(form).items()}
            who = self.headers.get("Authorization", "")
            response = answer(Request(path, fields, who, self.command))
            try:
                self.send_response(response.status)
                self.send_header("Content-Type", response.content_type)
                length = len(response.body) if response.length is None else response.length
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(response.body)
            except OSError:
                pass  # who asked has given up, as some tests want

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
            """Be quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: object, client_address: object) -> None:
            """A handshake that was refused is what some tests want."""

    server = Server(("127.0.0.1", 0), Handler)
    scheme = "http"
    if trust is not None:
        server.socket = trust.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"{scheme}://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
