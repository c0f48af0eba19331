"""What can happen to one write of a scheduler."""

from enum import StrEnum
from typing import Final

import msgspec

from tests.live.faults.writes import Write


class Kind(StrEnum):
    """A kind of fault, at the moment in which a write comes by."""

    CUT_BEFORE = "cut before"  # the API server never sees the write
    CUT_AFTER = "cut after"  # it is carried out, and the answer is lost
    SLOW = "slow"  # the answer comes after two seconds
    LATE = "late"  # the answer comes after the deadline of the client
    CONFLICT = "409"
    TOO_MANY = "429"
    BROKEN = "500"
    KILL_BEFORE = "kill before"  # the process is killed and started again, nothing was written
    KILL_AFTER = "kill after"  # the same, and the write was carried out
    WATCHES_CUT = "watches cut"
    WATCHES_EXPIRED = "watches expired"  # each watch gets a 410


SLOW_S: Final = 2.0
LATE_S: Final = 11.0  # the deadline of a write is 10 s

KILLS: Final = frozenset({Kind.KILL_BEFORE, Kind.KILL_AFTER})
OF_WATCHES: Final = frozenset({Kind.WATCHES_CUT, Kind.WATCHES_EXPIRED})
NOT_FORWARDED: Final = frozenset({Kind.CUT_BEFORE, Kind.KILL_BEFORE})
NOT_ANSWERED: Final = frozenset({Kind.CUT_BEFORE, Kind.CUT_AFTER, *KILLS})
DELAYS_S: Final = {Kind.SLOW: SLOW_S, Kind.LATE: LATE_S}


class Fault(msgspec.Struct, frozen=True, order=True):
    """One kind of fault at one write."""

    write: Write
    kind: Kind

    def __str__(self) -> str:
        return f"{self.kind} at: {self.write}"


class Refusal(msgspec.Struct, frozen=True):
    """The answer that is given in place of the API server's."""

    code: int
    reason: str
    message: str
    retry_after_s: int | None = None

    def body(self) -> bytes:
        """Return the Status object."""
        retry = {} if self.retry_after_s is None else {"retryAfterSeconds": self.retry_after_s}
        return msgspec.json.encode(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": self.message,
                "reason": self.reason,
                "details": retry,
                "code": self.code,
            }
        )


REFUSALS: Final = {
    Kind.CONFLICT: Refusal(409, "Conflict", "the object has been modified"),
    Kind.TOO_MANY: Refusal(429, "TooManyRequests", "too many requests", retry_after_s=1),
    Kind.BROKEN: Refusal(500, "InternalError", "etcdserver: request timed out"),
}
EXPIRED: Final = Refusal(410, "Expired", "too old resource version: 1 (2)")
