"""What queues used, on the axes of a rule set, from a ledger that counts resources.

A rule set may count several resources on one axis, such as every vendor's devices as ``gpu``.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from fairlead.model.axes import QueueName
from fairlead.model.quantity import is_gpu
from fairlead.usage.ledger import Ledger
from fairlead.usage.queue_use import Charge, Sums, billionths, sums_with_inner_queues

Parents: TypeAlias = Mapping[QueueName, QueueName | None]
Freshness: TypeAlias = Literal["fresh", "stale", "missing"]

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d+ m?s\b")


class UsageVector(msgspec.Struct, frozen=True, kw_only=True):
    """What counts of past use at one moment, and how far it can be trusted."""

    usage: dict[QueueName, Sums] | None  # billionths on each axis; None: history does not count
    unknown: tuple[str, ...] = ()  # axes without a known capacity; 0 in usage
    state: Freshness
    age_ms: int | None = None  # of what is known; None: nothing is
    problem: str | None = None

    @property
    def turn(self) -> str:
        """The problem without ages and moments: while it is the same, nothing is new."""
        return _MOMENT.sub("...", self.problem or "")

    def text(self) -> str:
        """Say in one line how things are, and what is wrong."""
        if self.problem is None:
            return f"past use is {self.state}"
        if self.state == "fresh":  # what was read is, although reading may have failed since
            return f"past use counts, with a problem: {self.problem}"
        return f"past use is {self.state}: {self.problem}"


class UsageSums(msgspec.Struct, frozen=True, kw_only=True):
    """Base units times milliseconds on each axis, of all queues that used any, inner ones too."""

    raw: dict[QueueName, Sums]
    decayed: dict[QueueName, Sums]


class CountedTree(msgspec.Struct, frozen=True, kw_only=True):
    """Which use is charged, and where it is added up."""

    charge: Charge
    parents: Parents  # to which a queue's use is added
    left_out: frozenset[QueueName]  # queues whose own records do not count


def counted_tree(parents: Parents, whole: frozenset[QueueName], charge: Charge) -> CountedTree:
    """How to count, where the queues in *whole* are told with all that is below them.

    Law: an inner queue has used what the queues below it have, each charged by itself.
    """
    if charge == "all":
        # Adding to such a queue what is below it counts that twice.
        links = {name: None if up in whole else up for name, up in parents.items()}
        return CountedTree(charge=charge, parents=links, left_out=frozenset())
    # What is above the guarantee of a queue is not what was above those of the queues below it.
    inner = frozenset(up for up in parents.values() if up is not None)
    return CountedTree(charge=charge, parents=parents, left_out=inner & whole)


def places_of(axes: Sequence[str], resources: Sequence[str]) -> list[list[int]]:
    """For each axis, the places of the resources that are counted on it."""
    return [
        [
            place
            for place, resource in enumerate(resources)
            if resource == axis or (axis == "gpu" and is_gpu(resource))
        ]
        for axis in axes
    ]


def usage_on_axes(
    ledger: Ledger, now_ms: int, axes: Sequence[str], tree: CountedTree
) -> dict[QueueName, Sums]:
    """Billionths of the capacity on each axis, inner queues included; 0 where nothing is counted.

    Cost: O(queues times depth). Raises UsageError as the ledger does.
    """
    places = places_of(axes, ledger.resources)
    if all(len(each) <= 1 for each in places) and not tree.left_out:
        parts = ledger.normalised(now_ms, charge=tree.charge, parents=tree.parents)
        return {name: _summed(part, places) for name, part in parts.items()}
    capacity = _summed(ledger.usage(now_ms).capacity, places)
    return billionths(sums_on_axes(ledger, now_ms, axes, tree), capacity)


def sums_on_axes(
    ledger: Ledger, now_ms: int, axes: Sequence[str], tree: CountedTree
) -> dict[QueueName, Sums]:
    """Base units times milliseconds on each axis, inner queues included.

    Cost: O(queues times depth). Raises UsageError as the ledger does.
    """
    places = places_of(axes, ledger.resources)
    own = {
        name: _summed(use.all if tree.charge == "all" else use.above_guarantee, places)
        for name, use in ledger.usage(now_ms).queues.items()
        if name not in tree.left_out
    }
    return sums_with_inner_queues(own, tree.parents)


def _summed(amounts: Sums, places: list[list[int]]) -> Sums:
    return tuple(sum(amounts[place] for place in each) for each in places)


def uncounted(axes: Sequence[str], ledger: Ledger, as_of_ms: int) -> list[str]:
    """Return the problems of *axes* without usage entries, or without a known capacity."""
    return [*_unrecorded(axes, ledger), *_without_capacity(axes, ledger, as_of_ms)]


def unknown_axes(
    axes: Sequence[str], ledger: Ledger, as_of_ms: int, step_ms: int
) -> tuple[str, ...]:
    """Those of *axes* of which no part can be told, because there is no whole.

    Where there will be one in *step_ms*, if all goes on, the window has only begun, and nothing was
    used in it yet. Cost: that of the ledger's sum of the capacity, whatever the queues.
    """
    unknown = set(ledger.unknown(as_of_ms))
    if unknown:
        unknown.intersection_update(ledger.unknown(as_of_ms + step_ms))
    return tuple(
        axis
        for axis, places in zip(axes, places_of(axes, ledger.resources), strict=True)
        if all(ledger.resources[place] in unknown for place in places)
    )


def _unrecorded(axes: Sequence[str], ledger: Ledger) -> list[str]:
    return [
        f"of {axis} no use is recorded; it counts as none"
        for axis, places in zip(axes, places_of(axes, ledger.resources), strict=True)
        if not places
    ]


def _without_capacity(axes: Sequence[str], ledger: Ledger, as_of_ms: int) -> list[str]:
    unknown = set(ledger.unknown(as_of_ms))
    if not unknown:
        return []
    queues = ledger.usage(as_of_ms).queues.values()
    return [
        f"of {axis} use is recorded, but not how much of it the cluster had; it counts as none"
        for axis, places in zip(axes, places_of(axes, ledger.resources), strict=True)
        if places
        and all(ledger.resources[place] in unknown for place in places)
        and any(use.all[place] > 0 for use in queues for place in places)
    ]
