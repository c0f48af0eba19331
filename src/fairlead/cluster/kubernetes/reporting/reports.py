"""What is to be written to the API server for people, as data.

A report says all that is to be said about its subject, so of two about one subject only the newer
one matters, and each may be written twice without harm.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

import msgspec

from fairlead.cluster.kubernetes.acting.acts import PodName
from fairlead.cluster.kubernetes.client.resource import Resource

EventType: TypeAlias = Literal["Normal", "Warning"]
EventReason: TypeAlias = Literal["FailedScheduling", "Preempted", "Scheduled"]
"""Of kube-scheduler, so that what users and their tools look for stays the same."""

Subject: TypeAlias = tuple[str, ...]
"""What a report is about: reports with equal subjects replace each other."""

_MOST_NAME_CHARACTERS = 230  # of 253, the rest is for the digest


class PodStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Our part of the status of a pod that waits: why it waits, and for which node."""

    pod: PodName
    resource_version: str  # in which the pod was known to have no node
    message: str  # of the condition PodScheduled=False; "": no such condition of ours
    since: str = ""  # when the condition became false, as the API server writes it
    nominated_node: str = ""

    @property
    def subject(self) -> Subject:
        """The status of the pod."""
        return "status", self.pod.uid


class PodEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a pod; ``count`` is how often, with this one."""

    pod: PodName
    name: str
    type: EventType
    reason: EventReason
    message: str
    first_ms: int
    at_ms: int
    count: int = 1

    @property
    def subject(self) -> Subject:
        """What is said with one reason about the pod: the latest is enough."""
        return "event", self.reason, self.pod.uid


class ObjectStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The whole status of an object of a rule set, such as a quota."""

    resource: Resource
    namespace: str
    name: str
    status: Mapping[str, Any]

    @property
    def subject(self) -> Subject:
        """The status of the object."""
        return self.resource.group, self.resource.plural, self.namespace, self.name


Report: TypeAlias = PodStatus | PodEvent | ObjectStatus


def event_name(pod: PodName, *parts: str) -> str:
    """Return a name for an Event about *pod*, the same for the same *parts*.

    So an Event whose first attempt had no answer is not written twice.
    """
    digest = blake2b("\n".join((pod.uid, *parts)).encode(), digest_size=8).hexdigest()
    return f"{pod.name[:_MOST_NAME_CHARACTERS].rstrip('-.')}.{digest}"
