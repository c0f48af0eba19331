"""One Lease as an API server keeps it, with what it does to stale, late and needless writes.

Each of these was seen on kube-apiserver 1.36.3; tests/live/test_election.py sees them again.
"""

import asyncio
import json
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from fairlead.cluster.kubernetes.election.lease import Lease, Read, Write, written
from tests.cluster.kubernetes.client.byte_server import Request, answers, status

NAMESPACE, NAME = "fairlead-system", "fairlead"
COLLECTION = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
PATH = f"{COLLECTION}/{NAME}"

Body = dict[str, Any]


class LeaseServer:
    """Requests as methods, and as a play for a server of bytes."""

    def __init__(self) -> None:
        self.body: Body | None = None
        self._version = 100
        self._uid = 0
        self._writes = 0

    def answer(self, request: Read | Write) -> Lease | None:
        """Return what `LeaseStore` returns for *request*."""
        if isinstance(request, Read):
            return None if self.body is None else Lease(deepcopy(self.body))
        self._writes += 1
        now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._writes)
        body = written(request, NAMESPACE, NAME, now)
        _, answered = self.post(body) if request.old is None else self.put(body)
        return None if answered is None else Lease(answered)

    def post(self, body: Body) -> tuple[int, Body | None]:
        if self.body is not None:
            return 409, None
        self._uid += 1
        return 201, self._store(body, f"uid-{self._uid}")

    def put(self, body: Body) -> tuple[int, Body | None]:
        uid = body["metadata"].get("uid")
        if self.body is None and uid is None:
            return self.post(body)
        if self.body is None:
            return 409, None
        stored = self.body["metadata"]
        if uid not in (None, stored["uid"]):
            return 409, None
        if body["metadata"].get("resourceVersion") not in (None, stored["resourceVersion"]):
            return 409, None
        if body["spec"] == self.body["spec"] and body["metadata"] == stored:
            return 200, deepcopy(self.body)  # with the version that it had
        return 200, self._store(body, stored["uid"])

    def annotate(self) -> None:
        """Change the Lease as a person does, without a change of its holder."""
        assert self.body is not None
        self._store(self.body, self.body["metadata"]["uid"])

    def empty(self) -> None:
        """Remove the holder as a person does."""
        assert self.body is not None
        self.body["spec"]["holderIdentity"] = ""
        self.annotate()

    async def play(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Answer a request of HTTP."""
        body: Body = json.loads(request.body) if request.body else {}
        if request.method == "GET":
            code, answered = (200, self.body) if self.body else (404, None)
        elif request.method == "POST":
            code, answered = self.post(body)
        else:
            code, answered = self.put(body)
        await answers(code, answered or status(code, "", "refused"))(request, writer)

    def _store(self, body: Body, uid: str) -> Body:
        self._version += 1
        self.body = deepcopy(body)
        self.body["metadata"] |= {"uid": uid, "resourceVersion": str(self._version)}
        return deepcopy(self.body)


def lease(
    holder: str, transitions: int = 0, *, version: str = "7", uid: str = "u", duration_s: int = 15
) -> Lease:
    """Return a Lease as the server gives it."""
    spec: Body = {
        "holderIdentity": holder,
        "leaseTransitions": transitions,
        "leaseDurationSeconds": duration_s,
    }
    metadata: Body = {"namespace": NAMESPACE, "name": NAME, "uid": uid, "resourceVersion": version}
    return Lease({"metadata": metadata, "spec": spec})
