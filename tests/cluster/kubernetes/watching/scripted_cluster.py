"""An API server that serves kinds, lists and watches as a test scripts them, without a network."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.watching.kinds import kinds_to_watch

Answer = dict[str, Any] | Exception
END = None
"""The server ends a watch."""


class _Lines:
    """The lines of one watch."""

    def __init__(self, asked: str, lines: "asyncio.Queue[Answer | None]") -> None:
        self.asked = asked
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (line := await self._lines.get()) is not END:
            if isinstance(line, Exception):
                raise line
            yield json.dumps(line).encode()


class ScriptedCluster:
    """Kinds that are served, and what a list and a watch of each answer."""

    def __init__(self) -> None:
        self.uid = "cluster-1"
        self.served: dict[GroupKind, str] = {
            kind: versions[0] for kind, versions in kinds_to_watch("elastic-quota").items()
        }
        self.failure: Exception | None = None  # of every question but lists and watches
        self.lists: dict[str, list[Answer]] = {}  # by the plural; the last one stays
        self.watches: dict[str, asyncio.Queue[Answer | None]] = {}  # by the plural
        self.refusals: dict[str, list[Exception]] = {}  # of the next watches of a plural
        self.asked: list[str] = []  # the lists and watches, such as "list pods"

    @property
    def session(self) -> Session:
        """What is handed to the code under test."""
        return cast("Session", self)

    async def ask(self, method: str, path: str, *, query: object = ()) -> bytes:  # noqa: ARG002
        """Answer a question at once."""
        plural = path.rpartition("/")[2]
        if any(plural == plural_of(kind) for kind in self.served):
            self.asked.append(f"list {plural}")
            answers = self.lists.get(plural, [listing()])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
        else:
            answer = self.failure if self.failure is not None else self._found(path)
        if isinstance(answer, Exception):
            raise answer
        return json.dumps(answer).encode()

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
        idle_s: float,  # noqa: ARG002
    ) -> AsyncIterator[_Lines]:
        """Begin a watch."""
        plural = path.rpartition("/")[2]
        self.asked.append(f"watch {plural} from {dict(query)['resourceVersion']}")
        if self.refusals.get(plural):
            raise self.refusals[plural].pop(0)
        yield _Lines(f"GET {path}", self.of(plural))

    def of(self, plural: str) -> "asyncio.Queue[Answer | None]":
        """Return what the watch of a kind has to deliver."""
        return self.watches.setdefault(plural, asyncio.Queue())

    def _found(self, path: str) -> Answer:
        if path == "/api":
            return {"versions": ["v1"]}
        if path == "/apis":
            groups: dict[str, set[str]] = {}
            for (group, _), version in self.served.items():
                groups.setdefault(group, set()).add(version)
            return {
                "groups": [
                    {"name": name, "versions": [{"version": each} for each in versions]}
                    for name, versions in groups.items()
                    if name
                ]
            }
        if path.endswith("/namespaces/kube-system"):
            return {"metadata": {"name": "kube-system", "uid": self.uid}}
        group = path.split("/")[2] if path.startswith("/apis/") else ""
        return {
            "resources": [
                {"name": plural_of(kind), "kind": kind[1], "namespaced": True, "verbs": ["list"]}
                for kind in self.served
                if kind[0] == group
            ]
        }


def plural_of(kind: GroupKind) -> str:
    """Return the name of a collection; of a kind in two groups it is the same."""
    return f"{kind[1].lower()}s"


def listing(*names: str, version: str = "5") -> dict[str, Any]:
    """Return the answer to a list request."""
    return {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": version},
        "items": [{"metadata": {"name": name, "resourceVersion": version}} for name in names],
    }


def event(change: str, name: str, version: str) -> dict[str, Any]:
    """Return a line of a watch."""
    metadata = {"name": name, "resourceVersion": version}
    return {"type": change, "object": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}}


def expired() -> dict[str, Any]:
    """Return the line that ends a watch whose version is forgotten."""
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    return {"type": "ERROR", "object": status}
