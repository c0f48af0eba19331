"""Follows every kind of object that decisions rest on, also one whose CRD is installed later.

Which kinds there are is asked for again and again. A kind that comes is followed from then on; one
that is gone has no objects any more. So a scheduler may be started before the CRDs of its queues.
"""

import asyncio
import logging
from asyncio import Task, TaskGroup
from collections.abc import Callable
from typing import Final

from fairlead.cluster.kubernetes.client.backoff import Backoff
from fairlead.cluster.kubernetes.client.discovery import GroupKind, find_resources
from fairlead.cluster.kubernetes.client.objects import read_object
from fairlead.cluster.kubernetes.client.resource import Resource
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.watching.facts import Listed, ObjectFact
from fairlead.cluster.kubernetes.watching.freshness import Freshness
from fairlead.cluster.kubernetes.watching.kinds import LIVE_PODS, kinds_to_watch, missing_kinds
from fairlead.cluster.kubernetes.watching.reflector import Reflector
from fairlead.errors import ClusterError
from fairlead.manifest.kinds import kind_title
from fairlead.policy.contract import PolicyName

_LOOK_AGAIN_S: Final = 30.0
_LOOK_FOR_MISSING_S: Final = 3.0  # an administrator who installs them waits
_ABSENT_BEFORE_GONE: Final = 2  # an API server that starts does not know its CRDs yet
_CLUSTER_ID: Final = "/api/v1/namespaces/kube-system"

_LOG: Final = logging.getLogger(__name__)


class OtherClusterError(ClusterError):
    """The API server is not that of the cluster that was followed so far."""


class Following:
    """All kinds that one rule set needs, each followed by a reflector of its own."""

    def __init__(
        self,
        session: Session,
        policy: PolicyName,
        *,
        take: Callable[[GroupKind, ObjectFact], None],
        freshness: Freshness,
        random: Callable[[], float],
    ) -> None:
        """Give every fact to *take*, and say in *freshness* how current they are."""
        self._session = session
        self._policy = policy
        self._take = take
        self._freshness = freshness
        self._random = random
        self._followed: dict[GroupKind, Task[None]] = {}
        self._absent: dict[GroupKind, int] = {}  # how often in a row it was not served
        self._cluster_id = ""

    async def run(self) -> None:
        """Follow for ever. Raises ClusterError if another cluster answers at the address.

        Also if nothing can be asked from the beginning, and asking again will not help.
        """
        try:
            async with TaskGroup() as tasks:
                await self._look_again_and_again(tasks)
        except ExceptionGroup as group:  # of which the first is what people need to read
            raise group.exceptions[0] from None

    async def _look_again_and_again(self, tasks: TaskGroup) -> None:
        pauses = Backoff(self._random)
        while True:
            try:
                await self._look(tasks)
            except OtherClusterError:
                raise
            except ClusterError as problem:
                if problem.retry_after_s is None and not self._followed:
                    raise
                pause_s = pauses.next_s(problem.retry_after_s or 0)
                _LOG.warning("cannot ask which kinds of object there are: %s", problem)
            else:
                pauses.reset()
                pause_s = self._pause_s()
            await asyncio.sleep(pause_s)

    def _pause_s(self) -> float:
        return _LOOK_AGAIN_S if self._freshness.has_all_kinds() else _LOOK_FOR_MISSING_S

    async def _look(self, tasks: TaskGroup) -> None:
        await self._check_identity()
        served = await find_resources(self._session, kinds_to_watch(self._policy))
        for kind, resource in served.items():
            self._absent.pop(kind, None)
            if kind not in self._followed:
                self._followed[kind] = tasks.create_task(self._reflector(kind, resource).run())
        for kind in self._followed.keys() - served.keys():
            self._absent[kind] = self._absent.get(kind, 0) + 1
            if self._absent[kind] >= _ABSENT_BEFORE_GONE:
                self._drop(kind)
        missing = missing_kinds(self._policy, frozenset(self._followed))
        if not self._freshness.require(missing):
            return
        if missing:
            _LOG.warning(
                "the API server does not serve %s: nothing is scheduled until it does",
                ", ".join(sorted(missing)),
            )
        else:
            _LOG.info("the API server serves every kind that is needed")

    async def _check_identity(self) -> None:
        """Refuse to go on with another cluster, of which no version that we know says anything."""
        found = read_object(await self._session.ask("GET", _CLUSTER_ID), f"GET {_CLUSTER_ID}")
        metadata = found.get("metadata")
        uid = str(metadata.get("uid")) if isinstance(metadata, dict) else ""
        if self._cluster_id and uid != self._cluster_id:
            raise OtherClusterError(
                "another cluster answers at the address of the API server: its namespace "
                f"kube-system has the uid {uid}, not {self._cluster_id}; start again"
            )
        self._cluster_id = uid

    def _reflector(self, kind: GroupKind, resource: Resource) -> Reflector:
        return Reflector(
            self._session,
            kind,
            resource,
            query=LIVE_PODS if kind == ("", "Pod") else (),
            take=self._take,
            freshness=self._freshness,
            random=self._random,
        )

    def _drop(self, kind: GroupKind) -> None:
        _LOG.warning("the API server does not serve %s any more", kind_title(*kind))
        self._followed.pop(kind).cancel()
        del self._absent[kind]
        self._take(kind, Listed(kind, [], "", is_served=False))
        self._freshness.forget(kind)
