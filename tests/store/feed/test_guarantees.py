"""``charge: over-quota`` from a file: refused where no guarantee is told, and what counts else."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import QueueName
from fairlead.store.feed.store_origin import NoGuaranteesError, stored_reading
from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Entry, Guarantee, Held, Removed, Renamed
from fairlead.usage.settings import StoreSource, UsageRules
from fairlead.usage.window import Sliding, Tumbling
from tests.scale_examples import scale_examples

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


HELD_OF_TWO = (
    Capacity(at_ms=START, amounts=(10_000, 10_000)),
    Held(at_ms=START, queue=A, amounts=(0, 4_000)),
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


def test_a_file_without_guarantees_is_refused_with_the_reason_and_the_cure(path: Path) -> None:
    write(path, *HELD, looked=2)
    with feed_of(path) as feed:
        assert parts(feed, 2) is None
        vector = feed.vector(START + 2 * HOUR, {}, ("gpu",))
    assert vector.state == "missing"
    assert vector.problem == (
        f"usage store {path}: it has no guarantee of any queue, which charge: "
        "over-quota needs; import entries of the type guarantee, let a scheduler record "
        "them, or use charge: all, which counts the same where nothing is guaranteed"
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
        ((guarantee(0, A, 0),), {A: 0.4, B: 0.2}),  # that it is none is told, too
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
        assert parts(feed, 2) is None
        assert parts(feed, 4) == {A: 13 / 40, B: 0.2}  # (4 x 3 + 1 x 1) / (10 x 4)


def test_another_file_of_the_same_name_is_judged_by_itself(path: Path, tmp_path: Path) -> None:
    write(path, *HELD, guarantee(0, A, 3), looked=2)
    with feed_of(path) as feed:
        assert parts(feed, 2) == {A: 0.1, B: 0.2}
        other = tmp_path / "other.db"
        write(other, *HELD, looked=2)
        other.replace(path)
        feed.refresh(START + 2 * HOUR)
        problem = feed.vector(START + 2 * HOUR, {}, ("gpu",)).problem
    assert problem is not None
    assert "it has no guarantee of any queue" in problem


def test_a_file_that_tells_no_guarantees_is_not_opened_anew_for_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, *HELD, looked=2)
    opened: list[bool] = []
    original = UsageStore.open

    def noting(path: Path, *, writes: bool = True) -> UsageStore:
        opened.append(writes)
        return original(path, writes=writes)

    monkeypatch.setattr(UsageStore, "open", noting)
    with feed_of(path) as feed:
        assert [parts(feed, 2) for _ in range(3)] == [None, None, None]
    assert opened == [False]


SLIDING = msgspec.structs.replace(RULES, window=Sliding(24 * HOUR))


def two(hour: int, queue: QueueName, cpu: int, gpus: int) -> Guarantee:
    return Guarantee(at_ms=START + hour * HOUR, queue=queue, amounts=(cpu * 1000, gpus * 1000))


# Of 10 cores and 10 GPUs, a holds 4 GPUs from hour 0 on; asked about is the day until hour 100.
TOLD: dict[str, tuple[tuple[Entry, ...], str]] = {
    "to a queue that was gone before the window": (
        (two(0, B, 1, 1), Removed(at_ms=START + HOUR, queue=B)),
        "refused",
    ),
    "to a queue that went as it began": (
        (two(0, B, 1, 1), Removed(at_ms=START + 76 * HOUR, queue=B)),
        "refused",
    ),
    "to a queue that went in it": (
        (two(0, B, 1, 1), Removed(at_ms=START + 77 * HOUR, queue=B)),
        "counts",
    ),
    "to nobody, a long time before": ((two(0, B, 0, 0),), "counts"),
    "to nobody, then to somebody who went": (
        (
            two(0, B, 0, 0),
            two(1, A, 0, 1),
            Removed(at_ms=START + 2 * HOUR, queue=A),
            two(3, A, 0, 0),
        ),
        "counts",
    ),
    "of what nobody used": ((two(0, B, 1, 0),), "doubt"),
    "of what nobody used, and to nobody": ((two(0, B, 1, 0), two(0, A, 0, 0)), "counts"),
    "under a name of before": (
        (two(0, B, 0, 1), Renamed(at_ms=START + HOUR, queue=B, name=QueueName("c"))),
        "counts",
    ),
}


@pytest.mark.parametrize(("told", "outcome"), TOLD.values(), ids=TOLD.keys())
def test_guarantees_are_asked_for_during_the_window_and_for_each_resource(
    path: Path, told: tuple[Entry, ...], outcome: str
) -> None:
    with UsageStore.open(path, resources=("cpu", "gpu")) as store:
        store.append(
            [
                Capacity(at_ms=START, amounts=(10_000, 10_000)),
                Held(at_ms=START, queue=A, amounts=(0, 4_000)),
                *told,
                Held(at_ms=START + 4 * HOUR, queue=A, amounts=(0, 4_000)),
            ],
            observed_ms=START + 100 * HOUR,
        )
        assert outcome_of(store, 100) == outcome


def test_a_doubt_names_the_resource_and_the_numbers_count(path: Path) -> None:
    with UsageStore.open(path, resources=("cpu", "gpu")) as store:
        store.append(
            [
                Capacity(at_ms=START, amounts=(10_000, 10_000)),
                Held(at_ms=START, queue=A, amounts=(0, 4_000)),
                two(0, A, 1, 0),
            ],
            observed_ms=START + 2 * HOUR,
        )
    with feed_of(path) as feed:
        assert parts(feed, 2) == {A: 0.4}
        vector = feed.vector(START + 2 * HOUR, {}, ("gpu",))
    assert vector.state == "fresh"
    assert vector.problem == (
        f"usage store {path} has no queue with a guarantee of gpu in this window, so all usage of "
        "it counts as above that"
    )


def test_a_guarantee_of_none_that_is_written_later_is_seen_by_who_follows(path: Path) -> None:
    """It is of a moment before the first look, and after all that was written by then."""
    write(path, *HELD, looked=2)
    with feed_of(path) as follower:
        assert parts(follower, 2) is None
        late = Guarantee(at_ms=START + 1, queue=A, amounts=(0,))
        write(path, late, looked=3)
        with feed_of(path) as beginner:
            assert parts(beginner, 3) == {A: 0.4, B: 0.2}
        assert parts(follower, 3) == {A: 0.4, B: 0.2}


def outcome_of(store: UsageStore, hour: int) -> str:
    try:
        reading = stored_reading(store, SLIDING, START + hour * HOUR)
    except NoGuaranteesError:
        return "refused"
    return "doubt" if reading.problems else "counts"


names = st.sampled_from([A, B])
changes = st.one_of(
    st.builds(two, st.just(0), names, st.integers(0, 1), st.integers(0, 1)),
    st.builds(Removed, at_ms=st.just(START), queue=names),
    st.builds(
        Held,
        at_ms=st.just(START),
        queue=names,
        amounts=st.tuples(st.integers(0, 2000), st.integers(0, 2000)),
    ),
)


@settings(max_examples=scale_examples(25), deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, 20), changes), min_size=1, max_size=8))
def test_who_follows_a_file_is_told_what_who_begins_with_it_is(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, Entry]]
) -> None:
    """Each entry is of so many hours before the look after which it is written, within a day."""
    path = tmp_path_factory.mktemp("law") / "usage.db"
    with UsageStore.open(path, resources=("cpu", "gpu")) as store:
        store.append(HELD_OF_TWO, observed_ms=START)
        for number, (hours_ago, change) in enumerate(steps):
            hour = 60 + 7 * number
            at_ms = START + (hour - hours_ago) * HOUR
            entry = msgspec.structs.replace(change, at_ms=at_ms)
            store.append([entry], observed_ms=START + hour * HOUR)
            followed = outcome_of(store, hour)
            with UsageStore.open(path, writes=False) as other:
                assert followed == outcome_of(other, hour)
