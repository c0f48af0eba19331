"""How time passes in a simulation."""

import msgspec

from fairlead.model.node import Node
from fairlead.sim.engine.faults import Faults
from fairlead.sim.engine.job_progress import Delays


class NodeChange(msgspec.Struct, frozen=True, kw_only=True):
    """At some time nodes join or are lost."""

    at_ms: int
    added: tuple[Node, ...] = ()
    lost: tuple[str, ...] = ()


class SimulationRules(msgspec.Struct, frozen=True, kw_only=True):
    """How time passes: cycles, and what pods need to stop and to start."""

    until_ms: int | None = None  # None: until all work is done
    start_ms: int = 0
    at_most_every_ms: int = 1000  # between cycles that are held because something changed
    every_ms: int | None = None  # a fixed period instead
    look_again_ms: int = 60_000  # where time alone may change what is decided
    grace_ms: int = 0  # from the eviction of a pod until it has stopped
    delays: Delays = Delays()
    faults: Faults | None = None  # None: every order is done at once

    @property
    def period_ms(self) -> int:
        """The longest time from a change to the next cycle."""
        return self.at_most_every_ms if self.every_ms is None else self.every_ms
