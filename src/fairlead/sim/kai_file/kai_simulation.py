"""What a file of KAI's simulator asks for, with its defaults filled in.

One cycle is a second of virtual time, so that windows and half-lives, which the file has in
seconds, are as many cycles.
"""

from decimal import Decimal
from fractions import Fraction

import msgspec


class SimulatedNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that are alike."""

    gpus: int
    count: int


class SimulatedQueue(msgspec.Struct, frozen=True, kw_only=True):
    """A queue; only its GPUs are of interest."""

    name: str
    parent: str | None
    priority: int = 100
    deserved_gpus: Decimal = Decimal(0)
    weight: Decimal = Decimal(1)


class SimulatedJobs(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs of one queue that are alike, all there from the start; none of them ever ends."""

    queue: str
    gpus: int  # of each pod
    pods: int
    jobs: int


class KaiSimulation(msgspec.Struct, frozen=True, kw_only=True):
    """One simulation."""

    cycles: int = 100
    window_s: int = 5
    half_life_s: int | None = None
    k: Fraction = Fraction(1)
    nodes: tuple[SimulatedNodes, ...] = ()
    queues: tuple[SimulatedQueue, ...] = ()
    jobs: tuple[SimulatedJobs, ...] = ()
