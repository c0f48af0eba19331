"""What a simulated cluster does not do as it is told: refused, late or lost orders.

Of each pod of an order it is drawn by itself what becomes of it, from a stream of its own, so that
faults move no other chance of a simulation.
"""

from collections.abc import Iterable
from random import Random
from typing import Literal, TypeAlias

import msgspec

from fairlead.model.executor import PATIENCE_MS
from fairlead.model.order import Order, Verb
from fairlead.model.workload import PodId
from fairlead.sim.work.random_stream import random_stream

Fate: TypeAlias = Literal["done", "refused", "late", "lost"]


class OrderFaults(msgspec.Struct, frozen=True, kw_only=True):
    """How often, of one, an order to bind or to evict a pod goes wrong."""

    refused: float = 0.0  # the cluster says no at once
    late: float = 0.0  # it is done, but after a delay
    lost: float = 0.0  # it is never done, and no answer comes
    delay_ms: int = 10_000


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """What goes wrong, and how long an answer is awaited before somebody looks."""

    bind: OrderFaults = OrderFaults()
    evict: OrderFaults = OrderFaults()
    patience_ms: int = PATIENCE_MS
    seed: int = 0


class DrawnFates:
    """Draws what becomes of each pod of an order."""

    def __init__(self, faults: Faults) -> None:
        """Begin the streams of *faults*, one for each verb."""
        self._faults: dict[Verb, OrderFaults] = {"bind": faults.bind, "evict": faults.evict}
        self._streams: dict[Verb, Random] = {
            verb: random_stream(faults.seed, "faults", verb) for verb in self._faults
        }

    def of(self, order: Order) -> dict[Fate, list[PodId]]:
        """Return the pods of *order* by what becomes of them."""
        found: dict[Fate, list[PodId]] = {}
        for pod in order.pods():
            found.setdefault(self._fate(order.verb), []).append(pod)
        return found

    def delay_ms(self, verb: Verb) -> int:
        """Return after what time a late order is done."""
        return self._faults[verb].delay_ms

    def _fate(self, verb: Verb) -> Fate:
        faults, drawn = self._faults[verb], self._streams[verb].random()
        chances: Iterable[tuple[Fate, float]] = (
            ("refused", faults.refused),
            ("late", faults.late),
            ("lost", faults.lost),
        )
        for fate, chance in chances:
            if drawn < chance:
                return fate
            drawn -= chance
        return "done"
