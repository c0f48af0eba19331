"""One job as a log tells it, before any rule says what that means for a scenario."""

from typing import Final, TypeAlias

import msgspec

CPU: Final = "cpu"
MEMORY: Final = "memory"
GPU: Final = "nvidia.com/gpu"
WHOLE_GPU: Final = 1000  # amounts of devices are in thousandths

MOST_PODS: Final = 100_000
"""More pods of one job than any cluster has room for; a trace that tells of more is damaged."""
MOST_PRIORITY: Final = 2**31 - 1  # what Kubernetes can hold

Asks: TypeAlias = tuple[tuple[str, int], ...]
"""What a whole job asks for: resources and their amounts in base units, each resource once."""


class TraceJob(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A row of a trace. Texts that the trace does not tell are empty, numbers None.

    A resource that is missing in ``asks`` was not told; one with the amount 0 was, as nothing.
    Jobs of the same size have the same ``asks``, so a row is small.
    """

    id: str
    submit_ms: int  # on the clock of the trace
    run_ms: int | None
    user: str = ""
    group: str = ""
    queue: str = ""
    asks: Asks = ()
    pods: int = 1  # over how many pods or nodes ``asks`` is spread
    priority: int | None = None
    asked_ms: int | None = None  # the run time that its owner asked for
    wait_ms: int | None = None  # how long it really waited
