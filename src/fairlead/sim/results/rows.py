"""One job and one eviction, as their tables tell them.

Times are milliseconds since 1970, as everywhere in a simulation; amounts are base units.
"""

from typing import Literal, TypeAlias

import msgspec

from fairlead.model.plan import Reason
from fairlead.sim.happenings import Cause

Outcome: TypeAlias = Literal["finished", "running", "waiting"]


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is done, or how far it was at the end of the run.

    Pod times: ``held_ms`` with a place, of which ``lost_ms`` led to nothing. What a job held of a
    resource is its request times ``held_ms``.
    """

    job: str
    queue: str
    user: str
    kind: str
    outcome: Outcome
    submit_ms: int
    first_start_ms: int | None  # None: it never started
    finish_ms: int | None  # None: it is not done
    run_ms: int | None  # None: for ever
    pods: int
    min_pods: int
    priority: int
    told_to_leave: int  # how often pods of it were, for whatever cause
    held_ms: int
    lost_ms: int
    requests: dict[str, int]  # of each pod; a resource that it does not ask for is left out


class EvictionRow(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of a job that were told to leave at one moment, and why."""

    at_ms: int
    job: str
    queue: str
    pods: int
    cause: Cause
    beneficiary: str | None  # the job for which they leave
    reason: Reason | None  # None: their node is gone
    sentence: str  # the reason for people
