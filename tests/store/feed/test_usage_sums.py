"""Resource-time of queues on the axes of a state: as it was, decayed, and summed up the tree."""

from pathlib import Path

import pytest

from fairlead.model.axes import QueueName
from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.store.feed.usage_vector import UsageSums
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Guarantee, Held
from fairlead.usage.queue_use import Charge
from fairlead.usage.settings import OnStale, StoreSource, UsageRules

HOUR = 3_600_000
DAY = 24 * HOUR
NOW = 100 * DAY
RESOURCES = ("cpu", "amd.com/gpu", "nvidia.com/gpu")


TOP, A, B = QueueName("top"), QueueName("a"), QueueName("b")
PARENTS = {TOP: None, A: TOP, B: TOP}
AXES = ("cpu", "gpu")


def held(hours_ago: int, queue: str, *amounts: int) -> Held:
    return Held(at_ms=NOW - hours_ago * HOUR, queue=QueueName(queue), amounts=amounts)


def sums_of(
    path: Path,
    *,
    half_life_ms: int | None = None,
    charge: Charge = "all",
    on_stale: OnStale = "drop",
    now_ms: int = NOW,
) -> UsageSums | None:
    rules = UsageRules(half_life_ms=half_life_ms, charge=charge, on_stale=on_stale)
    with UsageFeed(rules, StoreSource(path=str(path)), {}, keeps_sums=True) as feed:
        feed.refresh(now_ms)
    return feed.sums(now_ms, PARENTS, AXES)


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
    assert found is not None
    assert found.raw == {
        "a": (4 * 1000 * HOUR, 4 * 5000 * HOUR),
        "b": (0, 2 * 1000 * HOUR),
        "top": (4 * 1000 * HOUR, 22 * 1000 * HOUR),
    }
    assert found.decayed == found.raw  # nothing fades without a half-life


def test_what_fades_is_told_beside_what_was(past: Path) -> None:
    """Half-life 4 h: 5 GPUs over the hours 8 to 4 ago are 5 * 4/ln 2 * (1/2 - 1/4) = 7.213."""
    found = sums_of(past, half_life_ms=4 * HOUR)
    assert found is not None
    assert found.raw[A][1] == 20 * 1000 * HOUR
    assert round(found.decayed[A][1] / HOUR) == 7213


def test_what_is_charged_is_what_is_summed(past: Path) -> None:
    """Above 2 and 1 guaranteed, a held 0 and 2 GPUs; b has no guarantee."""
    found = sums_of(past, charge="over-quota")
    assert found is not None
    assert found.raw[A] == (0, 4 * 2000 * HOUR)
    assert found.raw[B] == (0, 2 * 1000 * HOUR)


@pytest.mark.parametrize("on_stale", ["hold", "decay", "drop"])
@pytest.mark.parametrize("half_life_ms", [None, 4 * HOUR], ids=["plain", "fading"])
def test_nobody_is_charged_for_time_in_which_nobody_looked(
    past: Path, on_stale: OnStale, half_life_ms: int | None
) -> None:
    """B takes 1 GPU, an hour later somebody looks for the last time, and 8 hours are not known.

    Of its 3 GPU-hours, decayed as of the last look: 2 h with an hour between, and that hour:
    4/ln 2 * (1/2^(1/4) - 1/2^(3/4) + 1 - 1/2^(1/4)) = 2.339. Eight hours later a quarter.
    """
    with UsageStore.open(past) as store:
        store.append([held(0, "b", 0, 0, 1000)], observed_ms=NOW + HOUR)
    found = sums_of(past, half_life_ms=half_life_ms, on_stale=on_stale, now_ms=NOW + 9 * HOUR)
    assert found is not None
    # A decaying ledger sees what is held until the next millisecond, as a sample would.
    assert 0 <= found.raw[B][1] - 3 * 1000 * HOUR <= 1000
    fades = {"hold": 2339, "drop": 2339, "decay": 585}[on_stale]
    assert round(found.decayed[B][1] / HOUR) == (3000 if half_life_ms is None else fades)


def test_the_sums_and_the_vector_are_of_one_moment(past: Path) -> None:
    """Parts of the capacity times that capacity: 8 GPUs for 24 known hours and 9 more."""
    with UsageStore.open(past) as store:
        store.append([held(0, "b", 0, 0, 1000)], observed_ms=NOW + HOUR)
    cases: list[tuple[OnStale, int]] = [("hold", 25), ("decay", 33)]
    for on_stale, hours in cases:
        rules = UsageRules(on_stale=on_stale)
        with UsageFeed(rules, StoreSource(path=str(past)), {}, keeps_sums=True) as feed:
            feed.refresh(NOW + 9 * HOUR)
        sums = feed.sums(NOW + 9 * HOUR, PARENTS, AXES)
        usage = feed.vector(NOW + 9 * HOUR, PARENTS, AXES).usage
        assert sums is not None
        assert usage is not None
        for name in (A, B, TOP):
            told = usage[name][1] * 8000 * hours * HOUR / 10**9
            assert abs(told - sums.raw[name][1]) <= 8000 * hours * HOUR / 10**9


def test_nothing_known_has_no_sums(tmp_path: Path) -> None:
    assert sums_of(tmp_path / "none.db") is None
    UsageStore.open(tmp_path / "empty.db").close()
    assert sums_of(tmp_path / "empty.db") is None
