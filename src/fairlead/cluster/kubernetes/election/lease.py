"""A Lease as the API server holds it, and the requests that read and write it.

Each write names the uid and the version that it replaces. The uid matters: an API server answers a
PUT for a Lease that was deleted by making a new one, unless the uid in it says otherwise.
"""

from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from fairlead.cluster.kubernetes.client.errors import ConflictError, NotFoundError
from fairlead.cluster.kubernetes.client.objects import read_object
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.manifest.text.values import Mapping

LEASES: Final = Resource(group="coordination.k8s.io", version="v1", plural="leases")
RELEASED_S: Final = 1
"""The duration in a Lease that its holder gave up, the least that is valid; client-go's, too."""

_T = TypeVar("_T")
_MICROSECONDS: Final = "%Y-%m-%dT%H:%M:%S.%fZ"


class Lease(msgspec.Struct, frozen=True):
    """A Lease. Fields that do not concern an election are kept as they are."""

    body: Mapping

    @property
    def uid(self) -> str:
        """Return which Lease it is: one that is made anew has another."""
        return _field(self.body, "metadata", "uid", "")

    @property
    def version(self) -> str:
        """Return its resourceVersion."""
        return _field(self.body, "metadata", "resourceVersion", "")

    @property
    def holder(self) -> str:
        """Return the identity of the leader; "": there is none."""
        return _field(self.body, "spec", "holderIdentity", "")

    @property
    def transitions(self) -> int:
        """Return how often the holder has changed."""
        return _field(self.body, "spec", "leaseTransitions", 0)

    @property
    def duration_s(self) -> int:
        """Return for how long it is valid without a change."""
        return _field(self.body, "spec", "leaseDurationSeconds", 0)

    @property
    def is_released(self) -> bool:
        """Return whether its last holder gave it up, and so does not act any more.

        A Lease without a holder is not enough: a person may have removed it.
        """
        return not self.holder and self.duration_s == RELEASED_S

    def __str__(self) -> str:
        return f"{self.holder}/{self.transitions}"


class Read(msgspec.Struct, frozen=True):
    """Read the Lease."""


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """Replace the Lease *old* if it has not changed; None: create it if there is none."""

    old: Lease | None
    holder: str
    transitions: int
    duration_s: int


class LeaseStore:
    """One Lease on an API server."""

    def __init__(self, session: Session, namespace: str, name: str) -> None:
        """Ask nothing yet."""
        self._session = session
        self._namespace = namespace
        self._name = name

    async def read(self) -> Lease | None:
        """Return the Lease; None: there is none. Raises ApiError."""
        path = LEASES.path(self._name, self._namespace)
        try:
            return Lease(read_object(await self._session.ask("GET", path), f"GET {path}"))
        except NotFoundError:
            return None

    async def write(self, wanted: Write, now: datetime) -> Lease | None:
        """Return the Lease as it was written; None: it had changed. Raises ApiError."""
        method, path = "POST", LEASES.collection(self._namespace)
        if wanted.old is not None:
            method, path = "PUT", LEASES.path(self._name, self._namespace)
        body = msgspec.json.encode(written(wanted, self._namespace, self._name, now))
        try:
            answer = await self._session.ask(method, path, body=body)
        except ConflictError:
            return None
        except NotFoundError:
            if wanted.old is None:
                raise  # it is the namespace that does not exist
            return None
        return Lease(read_object(answer, f"{method} {path}"))


def written(wanted: Write, namespace: str, name: str, now: datetime) -> dict[str, Any]:
    """Return the body of a write at *now*, in UTC. The times in it are for people only."""
    old = wanted.old.body if wanted.old is not None else {}
    metadata = old.get("metadata") or {"namespace": namespace, "name": name}
    kept = old.get("spec")
    at = now.strftime(_MICROSECONDS)
    spec = {
        **(kept if isinstance(kept, dict) else {}),
        "holderIdentity": wanted.holder,
        "leaseTransitions": wanted.transitions,
        "leaseDurationSeconds": wanted.duration_s,
        "renewTime": at,
    }
    if wanted.old is None or wanted.holder != wanted.old.holder:
        spec["acquireTime"] = at
    kind = {"apiVersion": f"{LEASES.group}/{LEASES.version}", "kind": "Lease"}
    return {**kind, "metadata": metadata, "spec": spec}


def _field(body: Mapping, part: str, key: str, absent: _T) -> _T:
    """Return a field that has the type of *absent*, or *absent*."""
    fields = body.get(part)
    found = fields.get(key) if isinstance(fields, dict) else None
    return found if isinstance(found, type(absent)) else absent
