"""What happens in a simulation, as data, for its files and its measures.

They come in the order of time. Amounts follow from the job: as many pods as the event says, each
with the job's requests.
"""

from typing import Literal, TypeAlias

import msgspec

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Reason
from fairlead.sim.engine.job import Job

Cause: TypeAlias = Literal["evicted", "moved", "node-lost"]


class Submitted(msgspec.Struct, frozen=True, kw_only=True, tag="submitted"):
    """A job came, and waits."""

    at_ms: int
    job: Job


class Started(msgspec.Struct, frozen=True, kw_only=True, tag="started"):
    """Pods of a job got their places; ``running`` is how many of it have one now."""

    at_ms: int
    job: Job
    pods: int
    running: int
    reason: Reason


class Evicted(msgspec.Struct, frozen=True, kw_only=True, tag="told-to-leave"):
    """Pods must go; they hold their places until they have stopped."""

    at_ms: int
    job: Job
    pods: int
    cause: Cause
    beneficiary: WorkloadName | None
    reason: Reason | None  # None: their node is gone


class Stopped(msgspec.Struct, frozen=True, kw_only=True, tag="stopped"):
    """Pods gave up their places and wait again; ``lost_ms`` is pod time of work to be done anew."""

    at_ms: int
    job: Job
    pods: int
    running: int
    cause: Cause
    lost_ms: int


class Finished(msgspec.Struct, frozen=True, kw_only=True, tag="finished"):
    """A job is done. Pod times: ``held_ms`` with a place, of which ``lost_ms`` led to nothing."""

    at_ms: int
    job: Job
    pods: int  # that held places until now
    first_start_ms: int
    evictions: int
    held_ms: int
    lost_ms: int


class CapacityChanged(msgspec.Struct, frozen=True, kw_only=True, tag="capacity"):
    """The cluster has so much from now on, in base units by resource."""

    at_ms: int
    capacity: dict[str, int]


SimulationEvent: TypeAlias = Submitted | Started | Evicted | Stopped | Finished | CapacityChanged
