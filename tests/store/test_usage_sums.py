"""Resource-time of queues on the axes of a state: as it was, decayed, and summed up the tree."""

from decimal import Decimal
from pathlib import Path

import pytest

from fairlead.errors import StoreError
from fairlead.model.axes import Axis, QueueName, QuotaAxes
from fairlead.model.events import QueueChanged
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.store.feed.usage_sums import UsageSums, usage_sums
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Guarantee, Held
from fairlead.usage.queue_use import Charge
from fairlead.usage.settings import StoreSource, UsageRules, UsageSettings

HOUR = 3_600_000
DAY = 24 * HOUR
NOW = 100 * DAY
RESOURCES = ("cpu", "amd.com/gpu", "nvidia.com/gpu")


def state_of(tree: dict[str, str | None]) -> ClusterState:
    counted_as = {"amd.com/gpu": "gpu", "nvidia.com/gpu": "gpu"}
    state = ClusterState(RESOURCES, QuotaAxes([Axis("cpu"), Axis("gpu")], counted_as=counted_as))
    for name, parent in tree.items():
        state.apply(
            QueueChanged(
                Queue(
                    name=QueueName(name),
                    parent=QueueName(parent) if parent else None,
                    priority=100,
                    created_ms=0,
                    weights=(Decimal(1),) * 2,
                    guaranteed=(0, 0),
                    ceiling=(None, None),
                    borrow_limit=(None, None),
                    lend_limit=(None, None),
                )
            )
        )
    return state


def held(hours_ago: int, queue: str, *amounts: int) -> Held:
    return Held(at_ms=NOW - hours_ago * HOUR, queue=QueueName(queue), amounts=amounts)


def sums_of(path: Path, *, half_life_ms: int | None = None, charge: Charge = "all") -> UsageSums:
    rules = UsageRules(half_life_ms=half_life_ms, charge=charge)
    settings = UsageSettings(rules=rules, source=StoreSource(path=str(path)))
    tree = {"top": None, "a": "top", "b": "top"}
    return usage_sums(settings, {}, NOW, state_of(tree))


@pytest.fixture
def past(tmp_path: Path) -> Path:
    """A day in which a held 1 core and 2 + 3 GPUs for 4 hours, and b held 1 GPU for 2 hours."""
    path = tmp_path / "past.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        store.append(
            [
                Capacity(at_ms=NOW - DAY, amounts=(8000, 4000, 4000)),
                Guarantee(at_ms=NOW - DAY, queue=QueueName("a"), amounts=(None, 2000, 1000)),
                held(8, "a", 1000, 2000, 3000),
                held(4, "a", 0, 0, 0),
                held(2, "b", 0, 0, 1000),
                held(0, "b", 0, 0, 0),
            ]
        )
    return path


def test_devices_of_every_vendor_are_one_axis_and_inner_queues_are_sums(past: Path) -> None:
    found = sums_of(past)
    assert found.raw == {
        "a": (4 * 1000 * HOUR, 4 * 5000 * HOUR),
        "b": (0, 2 * 1000 * HOUR),
        "top": (4 * 1000 * HOUR, 22 * 1000 * HOUR),
    }
    assert found.decayed == found.raw  # nothing fades without a half-life


def test_what_fades_is_told_beside_what_was(past: Path) -> None:
    """Half-life 4 h: 5 GPUs over the hours 8 to 4 ago are 5 * 4/ln 2 * (1/2 - 1/4) = 7.213."""
    found = sums_of(past, half_life_ms=4 * HOUR)
    assert found.raw[QueueName("a")][1] == 20 * 1000 * HOUR
    assert round(found.decayed[QueueName("a")][1] / HOUR) == 7213


def test_what_is_charged_is_what_is_summed(past: Path) -> None:
    """Above 2 and 1 guaranteed, a held 0 and 2 GPUs; b has no guarantee."""
    found = sums_of(past, charge="over-quota")
    assert found.raw[QueueName("a")] == (0, 4 * 2000 * HOUR)
    assert found.raw[QueueName("b")] == (0, 2 * 1000 * HOUR)


def test_a_record_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        sums_of(tmp_path / "none.db")
