"""KAI's metrics: its names, labels and units, from a state and its division.

KAI tells these from two places, and they differ in one label. Its queue controller tells quota and
allocation under the name of the object; its scheduler tells fair shares and history under the name
for people, where a queue has one. ``queue_metadata_name`` is the same in both, so join by that.
"""

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from typing import Final, TypeAlias

from fairlead.model.queue import KaiQueue, Queue
from fairlead.model.state import ClusterState
from fairlead.policy.kai.api import KaiShare, KaiShares
from fairlead.store.metrics.family import Family, in_units, single

LABELS: Final = ("queue_name", "queue_metadata_name", "queue_display_name")
AXES: Final = ("gpu", "cpu", "memory")
UNIT_OF: Final[Mapping[str, str]] = {"gpu": "gpus", "cpu": "cpu_cores", "memory": "memory_bytes"}
QUOTAS: Final[Mapping[str, str]] = {
    "gpu": "kai_queue_deserved_gpus",
    "cpu": "kai_queue_quota_cpu_cores",
    "memory": "kai_queue_quota_memory_bytes",
}
FAIR_SHARES: Final[Mapping[str, str]] = {
    "gpu": "kai_queue_fair_share_gpu",
    "cpu": "kai_queue_fair_share_cpu_cores",
    "memory": "kai_queue_fair_share_memory_gb",
}
BYTES_PER_GB: Final = 10**9
UNLIMITED_QUOTA: Final = Decimal(-1)
BILLION: Final = 10**9

Labelling: TypeAlias = Callable[[Queue], tuple[str, ...]]
Measure: TypeAlias = Callable[[KaiShare, int, str], Decimal]
"""The number of a queue at the place of an axis, whose resource is given too."""


def kai_families(
    state: ClusterState,
    shares: KaiShares,
    without_history: KaiShares | None,
    unknown: Collection[str] = (),
) -> list[Family]:
    """All that KAI tells of queues, and beside it what only we tell.

    *without_history* is the same division as if nothing had been used before; None where the state
    knows no history, and then history is left out rather than told as 0; so is past use of those
    resources of which it is *unknown*. Cost: O(queues).
    """
    told = _Told(state, shares.rows())
    families = [
        told.info(),
        *told.by_axis(QUOTAS, "Guaranteed to the queue; -1 is no limit", _by_object, told.quota),
        *told.by_axis(
            _names("kai_queue_allocated_"), "Held by the queue now", _by_object, told.allocated
        ),
        *told.by_axis(FAIR_SHARES, "What the queue is entitled to now", _for_people, _fair_share),
        *told.by_axis(
            _names("fairlead_queue_requested_"),
            "Held by the queue or waiting in it",
            _by_object,
            lambda row, at, resource: in_units(resource, row.requested[at]),
        ),
        *_capacity(state, shares),
    ]
    if without_history is not None:
        families += _history(told, _Told(state, without_history.rows()), unknown)
    return families


class _Told:
    """The rows of one division, and how they become families."""

    def __init__(self, state: ClusterState, rows: list[KaiShare]) -> None:
        self._state = state
        self._rows = rows

    def info(self) -> Family:
        samples = [(_by_object(self._state.queues[row.queue]), Decimal(1)) for row in self._rows]
        return Family(
            name="kai_queue_info",
            meaning="1 for every queue that hangs on the top level",
            labels=LABELS,
            samples=tuple(samples),
        )

    def by_axis(
        self, names: Mapping[str, str], meaning: str, labelled: Labelling, measure: Measure
    ) -> list[Family]:
        queues = self._state.queues
        families = []
        for resource, name in names.items():
            at = self._state.axes.index(resource)
            assert at is not None, resource
            samples = [
                (labelled(queues[row.queue]), measure(row, at, resource)) for row in self._rows
            ]
            families.append(
                Family(name=name, meaning=meaning, labels=LABELS, samples=tuple(samples))
            )
        return families

    def quota(self, row: KaiShare, at: int, resource: str) -> Decimal:
        amount = self._state.queues[row.queue].guaranteed[at]
        return UNLIMITED_QUOTA if amount is None else in_units(resource, amount)

    def allocated(self, row: KaiShare, at: int, resource: str) -> Decimal:
        return in_units(resource, self._state.sums[row.queue].allocated[at])


def _history(told: _Told, without: _Told, unknown: Collection[str]) -> list[Family]:
    return [
        *told.by_axis(
            {axis: f"kai_queue_{axis}_usage" for axis in AXES if axis not in unknown},
            "Past use that counts, as a part of the capacity over the same time",
            _for_people,
            lambda row, at, _resource: Decimal(row.usage_e9[at]) / BILLION,
        ),
        *without.by_axis(
            _names("fairlead_queue_fair_share_without_history_"),
            "What the queue would be entitled to if past use did not count",
            _by_object,
            lambda row, at, resource: in_units(resource, row.fair_share[at]),
        ),
    ]


def _capacity(state: ClusterState, shares: KaiShares) -> list[Family]:
    """What is divided, under a name of our own.

    Not as kube_node_status_capacity: KAI adds up all series of that name, so that beside
    kube-state-metrics everything would count twice.
    """
    families = []
    for resource in AXES:
        at = state.axes.index(resource)
        assert at is not None, resource
        value = in_units(resource, shares.total[at])
        families.append(
            single(f"fairlead_capacity_{UNIT_OF[resource]}", "What there is to share", value)
        )
    return families


def _fair_share(row: KaiShare, at: int, resource: str) -> Decimal:
    amount = in_units(resource, row.fair_share[at])
    return amount / BYTES_PER_GB if resource == "memory" else amount


def _names(prefix: str) -> dict[str, str]:
    return {axis: f"{prefix}{unit}" for axis, unit in UNIT_OF.items()}


def _display_name(queue: Queue) -> str:
    return queue.extension.display_name if isinstance(queue.extension, KaiQueue) else ""


def _by_object(queue: Queue) -> tuple[str, ...]:
    return (queue.name, queue.name, _display_name(queue))


def _for_people(queue: Queue) -> tuple[str, ...]:
    shown = _display_name(queue)
    return (shown or queue.name, queue.name, shown)
