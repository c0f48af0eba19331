"""``charge: over-quota`` from a file: what counts, and a problem where no guarantee is recorded."""

from pathlib import Path

import msgspec
import pytest

from fairlead.model.axes import QueueName
from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Entry, Guarantee, Held, Removed
from fairlead.usage.settings import StoreSource, UsageRules
from fairlead.usage.window import Tumbling

HOUR = 3_600_000
START = 1_767_225_600_000
A, B = QueueName("a"), QueueName("b")
RULES = UsageRules(window=Tumbling(1000 * HOUR, START), charge="over-quota")
# Of 10 GPUs a holds 4 and b 2, all the time.
HELD = (
    Capacity(at_ms=START, amounts=(10_000,)),
    Held(at_ms=START, queue=A, amounts=(4_000,)),
    Held(at_ms=START, queue=B, amounts=(2_000,)),
)


def guarantee(hour: int, queue: QueueName, gpus: int | None) -> Guarantee:
    amounts = (None if gpus is None else gpus * 1000,)
    return Guarantee(at_ms=START + hour * HOUR, queue=queue, amounts=amounts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "usage.db"


def write(path: Path, *entries: Entry, looked: int) -> None:
    with UsageStore.open(path, resources=("gpu",)) as store:
        store.append(entries, observed_ms=START + looked * HOUR)


def feed_of(path: Path, rules: UsageRules = RULES) -> UsageFeed:
    return UsageFeed(rules, StoreSource(path=str(path)), {})


def parts(feed: UsageFeed, hour: int) -> dict[QueueName, float] | None:
    """What counts at an hour, as parts of one."""
    feed.refresh(START + hour * HOUR)
    usage = feed.vector(START + hour * HOUR, {}, ("gpu",)).usage
    return None if usage is None else {name: each[0] / 10**9 for name, each in usage.items()}


def test_a_file_without_guarantees_counts_all_usage_and_says_so(path: Path) -> None:
    write(path, *HELD, looked=2)
    with feed_of(path) as feed:
        assert parts(feed, 2) == {A: 0.4, B: 0.2}
        vector = feed.vector(START + 2 * HOUR, {}, ("gpu",))
    assert vector.state == "fresh"
    assert vector.problem == (
        "no guarantee of any queue is recorded, so charge: over-quota counts all usage"
    )


def test_all_use_needs_no_guarantees(path: Path) -> None:
    write(path, *HELD, looked=2)
    with feed_of(path, msgspec.structs.replace(RULES, charge="all")) as feed:
        assert parts(feed, 2) == {A: 0.4, B: 0.2}


def test_a_file_without_anything_is_empty_before_it_lacks_guarantees(path: Path) -> None:
    UsageStore.open(path, resources=("gpu",)).close()
    with feed_of(path) as feed:
        assert parts(feed, 2) is None
        problem = feed.vector(START + 2 * HOUR, {}, ("gpu",)).problem
    assert problem == f"usage store {path} is empty"


# a: 4 held of which so many are guaranteed; b of which nothing is told has 2 above none.
@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ((guarantee(0, A, 3),), {A: 0.1, B: 0.2}),
        ((guarantee(0, A, None),), {A: 0, B: 0.2}),
        ((guarantee(1, A, 3),), {A: 0.25, B: 0.2}),  # (4 x 1 + 1 x 1) / (10 x 2)
        ((guarantee(0, A, 3), Removed(at_ms=START + HOUR, queue=A)), {A: 0.05, B: 0.2}),
    ],
)
def test_to_whom_and_when_nothing_is_told_nothing_is_guaranteed(
    path: Path, told: tuple[Entry, ...], counts: dict[QueueName, float]
) -> None:
    write(path, *HELD, *told, looked=2)
    with feed_of(path) as feed:
        assert parts(feed, 2) == counts
        assert feed.vector(START + 2 * HOUR, {}, ("gpu",)).problem is None


def test_a_guarantee_of_later_is_not_known_yet(path: Path) -> None:
    write(path, *HELD, guarantee(3, A, 3), looked=4)
    with feed_of(path) as feed:
        assert parts(feed, 2) == {A: 0.4, B: 0.2}
        assert parts(feed, 4) == {A: 13 / 40, B: 0.2}  # (4 x 3 + 1 x 1) / (10 x 4)
        assert feed.vector(START + 4 * HOUR, {}, ("gpu",)).problem is None
