"""Reads the audit log of an API server: which user asked for what, and what the answer was.

One request may be in the log twice, since a watch is noted when it begins and when it ends. The
last entry counts. It does not judge: a test compares the requests with the rights of a role.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, order=True)
class Request:
    """One request to the API server; a text that does not apply is empty."""

    user: str
    verb: str
    group: str
    resource: str  # "": a path without objects, such as /readyz
    subresource: str
    namespace: str
    name: str
    code: int
    path: str


def read_audit(log: Path, *, after_bytes: int = 0) -> list[Request]:
    """Return the requests of an audit log, in the order in which they were answered.

    *after_bytes*: only what was written since the log had that size.
    """
    entries: dict[str, dict[str, Any]] = {}
    for entry in _entries(log, after_bytes):
        entries.pop(entry["auditID"], None)
        entries[entry["auditID"]] = entry
    return [_request(entry) for entry in entries.values()]


def _entries(log: Path, after_bytes: int) -> Iterator[dict[str, Any]]:
    with log.open("rb") as lines:
        lines.seek(after_bytes)
        for line in lines:
            if line.endswith(b"\n"):  # else the server is still writing it, or was killed there
                yield json.loads(line)


def _request(entry: dict[str, Any]) -> Request:
    about = entry.get("objectRef", {})
    return Request(
        user=entry.get("user", {}).get("username", ""),
        verb=entry["verb"],
        group=about.get("apiGroup", ""),
        resource=about.get("resource", ""),
        subresource=about.get("subresource", ""),
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        code=entry.get("responseStatus", {}).get("code", 0),
        path=entry["requestURI"].partition("?")[0],
    )
