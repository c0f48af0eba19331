"""When each pod is bound, as a third party sees it that reads nothing but the API server.

It is a process of its own with one watch, so that neither the scheduler that is measured nor the
program that creates pods delays what it sees. Its times are those of the monotonic clock, which all
processes of a machine share.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Final, Self

import msgspec

from bench.live.requests import opened_session, version_of
from bench.live.world import PODS
from fairlead.cluster.kubernetes.client.session import Query

_REPORT_EVERY_S: Final = 0.1
_READY_WITHIN_S: Final = 30.0
_LONGEST_WATCH_S: Final = 6 * 3600


class ObserverError(Exception):
    """The observer ended, or did not see what it was to see."""


class Observer:
    """Follows the pods of one scheduler name from the beginning of a ``with`` block to its end."""

    def __init__(self, kubeconfig: Path, scheduler_name: str) -> None:
        """Begin with nothing seen."""
        spawn = get_context("spawn")
        self._pipe, inner = spawn.Pipe(duplex=False)
        self._process = spawn.Process(
            target=_follow, args=(kubeconfig, scheduler_name, inner), daemon=True
        )
        self._inner = inner
        self._reading = Thread(target=self._read_all, daemon=True)
        self._has_ended = False
        self.bound_s: dict[str, float] = {}  # namespace/name: when it was first seen on a node

    def __enter__(self) -> Self:
        """Start, and return once the watch runs."""
        self._process.start()
        self._inner.close()
        if not self._pipe.poll(_READY_WITHIN_S):
            raise ObserverError("the observer did not start")
        self._reading.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._reading.join()

    @property
    def pid(self) -> int:
        """The process, for its cost."""
        assert self._process.pid is not None
        return self._process.pid

    def wait_for(self, count: int, within_s: float, check: Callable[[], None]) -> None:
        """Return once *count* pods are bound; *check* raises where waiting has become useless."""
        until_s = time.monotonic() + within_s
        while len(self.bound_s) < count:
            check()
            if self._has_ended:
                raise ObserverError("the observer lost its watch")
            if time.monotonic() > until_s:
                seen = f"{len(self.bound_s)} of {count} pods were bound in {within_s:.0f} s"
                raise ObserverError(seen)
            time.sleep(_REPORT_EVERY_S)

    def _read_all(self) -> None:
        """Take in what is reported, so that the observer never waits for its pipe."""
        with suppress(EOFError):
            while True:
                self.bound_s.update(self._pipe.recv())
        self._has_ended = True


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Event(msgspec.Struct):
    type: str
    object: _Pod


_read_event: Final = msgspec.json.Decoder(_Event)


def _follow(kubeconfig: Path, scheduler_name: str, pipe: Connection) -> None:
    with suppress(KeyboardInterrupt):
        asyncio.run(_watch(kubeconfig, scheduler_name, pipe))


async def _watch(kubeconfig: Path, scheduler_name: str, pipe: Connection) -> None:
    unreported: dict[str, float] = {}
    known: set[str] = set()
    async with opened_session(kubeconfig, connections=2) as session:
        version = await version_of(session, PODS)
        reporting = asyncio.create_task(_report(unreported, pipe))
        while True:
            async with session.stream(
                PODS.collection(), query=_query(scheduler_name, version), idle_s=_LONGEST_WATCH_S
            ) as lines:
                pipe.send({})  # ready
                async for line in lines:
                    event = _read_event.decode(line)
                    if event.type == "ERROR":
                        reporting.cancel()
                        raise ObserverError(line.decode())
                    metadata = event.object.metadata
                    version = metadata.resource_version
                    key = f"{metadata.namespace}/{metadata.name}"
                    if event.object.spec.node_name and key not in known:
                        known.add(key)
                        unreported[key] = time.monotonic()


def _query(scheduler_name: str, version: str) -> Query:
    """Ask for what happens after *version*: the server drops watches under load, and it goes on."""
    return (
        ("watch", "1"),
        ("resourceVersion", version),
        ("fieldSelector", f"spec.schedulerName={scheduler_name}"),
        ("timeoutSeconds", str(_LONGEST_WATCH_S)),
    )


async def _report(unreported: dict[str, float], pipe: Connection) -> None:
    while True:
        await asyncio.sleep(_REPORT_EVERY_S)
        if unreported:
            pipe.send(dict(unreported))
            unreported.clear()
