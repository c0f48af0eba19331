"""Past use for a planner from our own file: read, followed, stale, missing, ahead of the clock."""

import os
from pathlib import Path

import msgspec
import pytest

from fairlead.model.axes import QueueName
from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.store.feed.usage_vector import UsageVector
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Guarantee, Held
from fairlead.usage.settings import StoreSource, UsageRules
from fairlead.usage.window import Tumbling

MINUTE = 60_000
HOUR = 60 * MINUTE
START = 1_767_225_600_000
A, B, TOP = QueueName("a"), QueueName("b"), QueueName("top")
PARENTS = {A: TOP, B: TOP, TOP: None}
RULES = UsageRules(window=Tumbling(1000 * HOUR, START - 1))


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Of 4 GPUs of one vendor and 4 of another, *a* holds 2 and 1; 1 of the first is due to it."""
    path = tmp_path / "usage.db"
    with UsageStore.open(path, resources=("nvidia.com/gpu", "amd.com/gpu")) as store:
        store.append(
            [
                Capacity(at_ms=START, amounts=(4_000, 4_000)),
                Guarantee(at_ms=START, queue=A, amounts=(1_000, 0)),
                Held(at_ms=START, queue=A, amounts=(2_000, 1_000)),
                Held(at_ms=START + HOUR, queue=A, user="ann", amounts=(0, 1_000)),
                Held(at_ms=START + HOUR, queue=B, amounts=(0, 0)),
            ]
        )
    return path


def test_a_store_is_read_and_every_vendors_devices_are_gpus(stored: Path) -> None:
    """3 of 8 for an hour, 3 of 8 still at its end."""
    feed = UsageFeed(RULES, StoreSource(path=str(stored)), {})
    feed.refresh(START + HOUR)
    vector = feed.vector(START + HOUR, PARENTS, ("gpu",))
    assert vector.usage == {A: (375_000_000,), B: (0,), TOP: (375_000_000,)}
    assert (vector.state, vector.age_ms, vector.problem) == ("fresh", 0, None)
    later = feed.vector(START + HOUR + 4 * MINUTE, PARENTS, ("gpu",))
    assert later.usage is not None
    assert later.usage[A] == (382_812_500,)  # (3 * 60 + 4 * 4) / (8 * 64)


def test_a_store_charges_what_is_above_the_guarantee_if_that_is_set(stored: Path) -> None:
    """2 of 8 are above what is due."""
    rules = msgspec.structs.replace(RULES, charge="over-quota")
    feed = UsageFeed(rules, StoreSource(path=str(stored)), {})
    feed.refresh(START + HOUR)
    assert feed.vector(START + HOUR, {}, ("gpu",)).usage == {A: (250_000_000,), B: (0,)}


def test_a_store_that_nobody_writes_any_more_becomes_stale(stored: Path) -> None:
    """After two hours: 3 of 8 for the first, nothing in the second."""
    rules = msgspec.structs.replace(RULES, on_stale="decay")
    feed = UsageFeed(rules, StoreSource(path=str(stored)), {})
    feed.refresh(START + 2 * HOUR)
    vector = feed.vector(START + 2 * HOUR, {}, ("gpu",))
    assert (vector.state, vector.age_ms) == ("stale", HOUR)
    assert vector.usage is not None
    assert vector.usage[A][0] // 1000 == 187_500


def test_a_store_in_which_nothing_changes_is_fresh_while_somebody_looks(stored: Path) -> None:
    with UsageStore.open(stored) as store:
        store.append([], observed_ms=START + 2 * HOUR)
    feed = UsageFeed(RULES, StoreSource(path=str(stored)), {})
    feed.refresh(START + 2 * HOUR + MINUTE)
    vector = feed.vector(START + 2 * HOUR + MINUTE, {}, ("gpu",))
    assert (vector.state, vector.age_ms) == ("fresh", MINUTE)


def test_what_is_written_meanwhile_is_read_at_the_next_refresh(stored: Path) -> None:
    feed = UsageFeed(RULES, StoreSource(path=str(stored)), {})
    feed.refresh(START + HOUR)
    with UsageStore.open(stored) as store:
        store.append([Held(at_ms=START + HOUR, queue=B, amounts=(4_000, 4_000))])
    feed.refresh(START + HOUR + 4 * MINUTE)
    vector = feed.vector(START + HOUR + 4 * MINUTE, {}, ("gpu",))
    assert vector.usage is not None
    assert vector.usage[B] == (62_500_000,)  # 8 * 4 / (8 * 64)


def test_a_store_that_is_not_there_or_empty_is_missing_use(tmp_path: Path) -> None:
    absent = UsageFeed(RULES, StoreSource(path=str(tmp_path / "absent.db")), {})
    absent.refresh(START)
    vector = absent.vector(START, PARENTS, ("gpu",))
    assert vector.state == "missing"
    assert "there is no such file" in (vector.problem or "")
    path = tmp_path / "empty.db"
    UsageStore.open(path).close()
    empty = UsageFeed(RULES, StoreSource(path=str(path)), {})
    empty.refresh(START)
    text = f"usage store {path} is empty"
    assert empty.vector(START, PARENTS, ("gpu",)) == UsageVector(
        usage=None, state="missing", problem=text
    )


def test_a_pipe_or_a_folder_is_missing_use_and_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "p.fifo"
    os.mkfifo(pipe)
    for path, text in ((pipe, "it is not a regular file"), (tmp_path, "it is a folder")):
        feed = UsageFeed(RULES, StoreSource(path=str(path)), {})
        feed.refresh(START)
        vector = feed.vector(START, PARENTS, ("gpu",))
        assert (vector.state, vector.usage) == ("missing", None)
        assert vector.problem == f"usage store {path}: {text}; name a file"


def test_use_of_a_cluster_whose_size_nobody_told_is_no_silent_zero(tmp_path: Path) -> None:
    path = tmp_path / "usage.db"
    with UsageStore.open(path, resources=("gpu",)) as store:
        store.append([Held(at_ms=START, queue=A, amounts=(8000,))])
    feed = UsageFeed(RULES, StoreSource(path=str(path)), {})
    feed.refresh(START + MINUTE)
    vector = feed.vector(START + MINUTE, PARENTS, ("gpu",))
    assert (vector.usage, vector.state, vector.unknown) == (None, "missing", ("gpu",))
    assert vector.problem == "the capacity of the cluster is unknown for all resources"


def test_use_of_a_resource_whose_amount_nobody_told_is_unknown_beside_another_that_is_known(
    tmp_path: Path,
) -> None:
    path = tmp_path / "usage.db"
    with UsageStore.open(path, resources=("cpu", "gpu")) as store:
        store.append(
            [
                Capacity(at_ms=START, amounts=(4000, 0)),
                Held(at_ms=START, queue=A, amounts=(1000, 8000)),
            ]
        )
    feed = UsageFeed(RULES, StoreSource(path=str(path)), {})
    feed.refresh(START + MINUTE)
    vector = feed.vector(START + MINUTE, PARENTS, ("cpu", "gpu"))
    assert (vector.state, vector.unknown) == ("fresh", ("gpu",))
    assert vector.usage is not None
    assert vector.usage[A] == (250_000_000, 0)
    assert vector.problem == (
        "of gpu use is recorded, but not how much of it the cluster had; it counts as none"
    )


def test_an_earlier_moment_is_asked_about_as_it_was(stored: Path) -> None:
    """After half an hour only half an hour of 3 of 8 was used, whatever came later."""
    feed = UsageFeed(RULES, StoreSource(path=str(stored)), {})
    feed.refresh(START + HOUR // 2)
    vector = feed.vector(START + HOUR // 2, PARENTS, ("gpu",))
    assert vector.usage is not None
    assert vector.usage[A] == (375_000_000,)
    assert vector.age_ms == 0
    before = UsageFeed(RULES, StoreSource(path=str(stored)), {})
    before.refresh(START - HOUR)
    vector = before.vector(START - HOUR, PARENTS, ("gpu",))
    assert (vector.usage, vector.state) == (None, "missing")


def test_an_entry_of_the_far_future_neither_counts_nor_makes_old_numbers_fresh(
    stored: Path,
) -> None:
    with UsageStore.open(stored) as store:
        store.append([Held(at_ms=START + 10_000 * HOUR, queue=B, amounts=(4_000, 4_000))])
    feed = UsageFeed(RULES, StoreSource(path=str(stored)), {})
    feed.refresh(START + HOUR)
    vector = feed.vector(START + HOUR, PARENTS, ("gpu",))
    assert vector.usage == {A: (375_000_000,), B: (0,), TOP: (375_000_000,)}
    feed.refresh(START + 9 * HOUR)
    vector = feed.vector(START + 9 * HOUR, PARENTS, ("gpu",))
    assert (vector.state, vector.age_ms) == ("stale", 8 * HOUR)
