"""An API server on this machine that holds objects, and says what a test tells it to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

Object: TypeAlias = dict[str, Any]
_IRREGULAR = {"PriorityClass": "priorityclasses", "StorageClass": "storageclasses"}
_END = None  # of a watch


class CannedApi:
    """Serves the kinds of the objects that it was given; a test may add and change them."""

    def __init__(self) -> None:
        self.kinds: dict[tuple[str, str], str] = {}  # (apiVersion, kind) to plural
        self.objects: dict[str, dict[str, Object]] = {}  # by the path of the collection
        self.answers: dict[str, list[tuple[int, Object]]] = {}  # to play before the real ones
        self.refused: set[str] = set()  # plurals that may not be listed
        self.unwatched: set[str] = set()  # plurals that may not be watched
        self.requests: list[str] = []
        self.url = ""
        self._version = 100
        self._kinds_by_path: dict[str, tuple[str, str]] = {}
        self._changes: dict[str, list[Object]] = {}  # by the path of the collection
        self._watches: dict[str, list[SimpleQueue[Object | None]]] = {}
        self._lock = threading.Lock()

    def serve_kind(self, api_version: str, kind: str) -> str:
        """Let a kind be served, with objects or without; returns the path of its objects."""
        plural = _IRREGULAR.get(kind, f"{kind.lower()}s")
        self.kinds[api_version, kind] = plural
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        path = f"{root}/{plural}"
        self._kinds_by_path[path] = api_version, kind
        self.objects.setdefault(path, {})
        return path

    def put(self, *objects: Object) -> None:
        """Create objects, or replace those of their names; watches are told."""
        for each in objects:
            self._change("ADDED", each)

    def remove(self, each: Object) -> None:
        """Delete an object; watches are told."""
        self._change("DELETED", each)

    def is_watched(self, path: str) -> bool:
        """Return whether a collection is watched now."""
        with self._lock:
            return bool(self._watches.get(path))

    def send(self, path: str, event: Object) -> None:
        """Send an event to the watches of a collection."""
        with self._lock:
            for watch in self._watches.get(path, ()):
                watch.put(event)

    def play(self, path: str, *answers: tuple[int, Object]) -> None:
        """Answer the next requests for *path* with these status codes and bodies."""
        self.answers[path] = [*answers]

    def refuse(self, *plurals: str) -> None:
        """Let the user have no right to list some kinds."""
        self.refused.update(plurals)

    def kubeconfig(self, folder: Path) -> Path:
        """Return a kubeconfig with one context, ours, to this server."""
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "ours",
            "contexts": [{"name": "ours", "context": {"cluster": "here", "user": "me"}}],
            "clusters": [{"name": "here", "cluster": {"server": self.url}}],
            "users": [{"name": "me", "user": {}}],
        }
        file = folder / "kubeconfig"
        file.write_text(json.dumps(document))
        return file

    def _change(self, change: str, each: Object) -> None:
        path = self.serve_kind(each["apiVersion"], each["kind"])
        with self._lock:
            self._version += 1
            metadata = {"resourceVersion": str(self._version), **each["metadata"]}
            name = f"{metadata.get('namespace', '')}/{metadata['name']}"
            metadata.setdefault("uid", f"uid of {path} {name}")
            stored = {**each, "metadata": metadata}
            if change == "DELETED":
                del self.objects[path][name]
            else:
                self.objects[path][name] = stored
            event = {"type": change, "object": stored}
            self._changes.setdefault(path, []).append(event)
            for watch in self._watches.get(path, ()):
                watch.put(event)

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, Object]:
        """Return the answer to a request that is no watch."""
        if self.answers.get(path):
            return self.answers[path].pop(0)
        if path == "/api":
            return 200, {"versions": ["v1"]}
        if path == "/apis":
            return 200, {"groups": self._groups()}
        if path in self.objects:
            return self._list(path, query)
        group_version = path.removeprefix("/apis/").removeprefix("/api/")
        served = [
            {"name": plural, "kind": kind, "namespaced": True, "verbs": ["list"]}
            for (api_version, kind), plural in self.kinds.items()
            if api_version == group_version
        ]
        return (200, {"resources": served}) if served else (404, status(404, "NotFound"))

    def watch(self, path: str, since: int) -> Iterator[Object]:
        """Yield the changes of a collection since a version."""
        changes: SimpleQueue[Object | None] = SimpleQueue()
        with self._lock:
            for event in self._changes.get(path, ()):
                if int(event["object"]["metadata"]["resourceVersion"]) > since:
                    changes.put(event)
            self._watches.setdefault(path, []).append(changes)
        while (each := changes.get()) is not _END:
            yield each

    def end_watches(self) -> None:
        """End every watch that is open."""
        with self._lock:
            watches, self._watches = self._watches, {}
        for each in (one for several in watches.values() for one in several):
            each.put(_END)

    def _groups(self) -> list[Object]:
        versions: dict[str, list[Object]] = {}
        for api_version in {version for version, _ in self.kinds if "/" in version}:
            group, _, version = api_version.partition("/")
            versions.setdefault(group, []).append({"version": version})
        return [{"name": group, "versions": each} for group, each in versions.items()]

    def _list(self, path: str, query: dict[str, list[str]]) -> tuple[int, Object]:
        plural = path.rpartition("/")[2]
        if plural in self.refused:
            return 403, status(403, "Forbidden", f'{plural} is forbidden: User "me" cannot list')
        api_version, kind = self._kinds_by_path[path]
        start, limit = int(query.get("continue", ["0"])[0]), int(query["limit"][0])
        with self._lock:
            known = list(self.objects[path].values())
            version = str(self._version)
        items = [
            {key: value for key, value in each.items() if key not in ("kind", "apiVersion")}
            for each in known[start : start + limit]
        ]
        metadata = {"resourceVersion": version}
        if start + limit < len(known):
            metadata["continue"] = str(start + limit)
        listed = {"kind": f"{kind}List", "apiVersion": api_version}
        return 200, {**listed, "metadata": metadata, "items": items}


def status(code: int, reason: str, message: str = "", **details: Any) -> Object:
    """Return the body of a refusal."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


@contextmanager
def canned_api() -> Iterator[CannedApi]:
    """Give a server until the end of the block."""
    api = CannedApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            with suppress(ConnectionError):  # the client was done, and left
                super().handle()

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            api.requests.append(self.path)
            is_watched = url.path.rpartition("/")[2] not in api.unwatched
            if "watch" in query and is_watched:
                self._stream(url.path, int(query["resourceVersion"][0]))
                return
            code, body = 403, status(403, "Forbidden")
            if "watch" not in query:
                code, body = api.answer(url.path, query)
            data = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, path: str, since: int) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            for each in api.watch(path, since):
                self.wfile.write(json.dumps(each).encode() + b"\n")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield api
    finally:
        api.end_watches()
        server.shutdown()
        server.server_close()
        thread.join()
