"""Orders that a simulated cluster does not carry out at once: refused, late or lost ones.

Of each pod that is to be bound or evicted it is drawn by itself what becomes of it; quota is
granted to a whole workload, so it has one fate. The streams are the faults' own: they move no other
chance of a simulation.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from random import Random
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from fairlead.model.execution.executor import OUTCOME_WITHIN_MS, Verb
from fairlead.model.workload import PodId
from fairlead.sim.fields import INTERNAL, DurationMs, Factor, PositiveMs, says
from fairlead.sim.work.number import random_stream

NEVER: Final = Decimal(0)

Fate: TypeAlias = Literal["done", "refused", "late", "lost"]


class OrderFaults(msgspec.Struct, frozen=True, kw_only=True):
    """How often an order about one pod goes wrong: chances, which add up to 1 at most."""

    refused: Annotated[Factor, says("The cluster refuses it at once.")] = NEVER
    late: Annotated[Factor, says("The cluster does it after a delay.")] = NEVER
    lost: Annotated[Factor, says("The cluster never does it, and no answer comes.")] = NEVER
    delay_ms: Annotated[DurationMs, says("Of a late order.")] = 10_000


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """Orders that the cluster does not carry out at once; else it carries out all of them."""

    bind: Annotated[OrderFaults, says("Of orders to start a pod.")] = OrderFaults()
    evict: Annotated[OrderFaults, says("Of orders to stop a pod.")] = OrderFaults()
    patience_ms: Annotated[
        PositiveMs, says("After it an order without an answer is looked into.")
    ] = OUTCOME_WITHIN_MS
    seed: Annotated[int, INTERNAL] = 0


class DrawnFates:
    """Draws what becomes of each pod of an order."""

    def __init__(self, faults: Faults) -> None:
        """Begin the streams of *faults*, one for each verb."""
        self._patience_ms = faults.patience_ms
        self._faults: dict[Verb, OrderFaults] = {"bind": faults.bind, "evict": faults.evict}
        self._streams: dict[Verb, Random] = {
            verb: random_stream(faults.seed, "faults", verb) for verb in self._faults
        }

    def of(self, verb: Verb, pods: Sequence[PodId], *, is_quota: bool) -> dict[Fate, list[PodId]]:
        """Return the *pods* that are to be bound or evicted by what becomes of them."""
        if is_quota:
            return {self._fate(verb): list(pods)}
        found: dict[Fate, list[PodId]] = {}
        for pod in pods:
            found.setdefault(self._fate(verb), []).append(pod)
        return found

    def delay_ms(self, verb: Verb) -> int:
        """Return after what time a late order is done."""
        return self._faults[verb].delay_ms

    def _fate(self, verb: Verb) -> Fate:
        fate = self._drawn(verb)
        # What is not done when it is looked into is undone, whatever would have come later.
        is_too_late = fate == "late" and self._faults[verb].delay_ms > self._patience_ms
        return "lost" if is_too_late else fate

    def _drawn(self, verb: Verb) -> Fate:
        faults, drawn = self._faults[verb], self._streams[verb].random()
        chances: Iterable[tuple[Fate, float]] = (
            ("refused", float(faults.refused)),
            ("late", float(faults.late)),
            ("lost", float(faults.lost)),
        )
        for fate, chance in chances:
            if drawn < chance:
                return fate
            drawn -= chance
        return "done"
