"""Past use from a file of our own: when it is fresh, what acts do to it, and how it is followed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.errors import StoreError
from fairlead.model.axes import QueueName
from fairlead.store.feed.reading import standing
from fairlead.store.feed.store_origin import stored_reading
from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Entry, Forgiven, Granted, Held, Removed, Renamed
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import OnStale, StoreSource, UsageRules
from fairlead.usage.window import Tumbling
from tests.scale_examples import scale_examples
from tests.store.small_store import RULES as ALL_RULES
from tests.store.small_store import a_store, ledger_of
from tests.store.usage_entries import DAY, histories

HOUR = 3_600_000
START = 1_767_225_600_000
Key = TypeVar("Key")
A, B = QueueName("a"), QueueName("b")
RULES = UsageRules(window=Tumbling(1000 * HOUR, START))


def granted(hour: float, gpu_hours: int, queue: QueueName = A) -> Granted:
    return Granted(
        at_ms=START + int(hour * HOUR),
        queue=queue,
        resource_time=(gpu_hours * 1000 * HOUR,),
        who="eve",
        reason="r",
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of 10 GPUs *a* holds 4, and at hour 1 somebody looked for the last time."""
    path = tmp_path / "usage.db"
    with UsageStore.open(path, resources=("gpu",)) as store:
        store.append(
            [
                Capacity(at_ms=START, amounts=(10_000,)),
                Held(at_ms=START, queue=A, amounts=(4_000,)),
            ],
            observed_ms=START + HOUR,
        )
    return path


def write(path: Path, *entries: Entry, observed_ms: int | None = None) -> None:
    with UsageStore.open(path) as store:
        store.append(entries, observed_ms=observed_ms)


def feed_of(path: Path, **rules: object) -> UsageFeed:
    chosen = msgspec.structs.replace(RULES, **rules)
    return UsageFeed(chosen, StoreSource(path=str(path)), {})


def millionths(feed: UsageFeed, now_ms: int) -> dict[QueueName, int] | None:
    feed.refresh(now_ms)
    usage = feed.vector(now_ms, {}, ("gpu",)).usage
    return None if usage is None else {name: parts[0] // 1000 for name, parts in usage.items()}


# At hour 4 nobody has looked for three hours, and at hour 3 a was charged with 2 GPU-hours.
# hold:  time stands still at hour 1: (4 + 2) / 10.   decay: (4 + 2) / (4 hours x 10).
@pytest.mark.parametrize(
    ("on_stale", "counts"), [("hold", 600_000), ("decay", 150_000), ("drop", None)]
)
def test_a_grant_is_no_look_at_what_queues_hold(
    path: Path, on_stale: OnStale, counts: int | None
) -> None:
    write(path, granted(3, 2))
    with feed_of(path, on_stale=on_stale) as feed:
        assert (millionths(feed, START + 4 * HOUR) or {}).get(A) == counts
        vector = feed.vector(START + 4 * HOUR, {}, ("gpu",))
    assert (vector.state, vector.age_ms) == ("stale", 3 * HOUR)


def test_equal_grants_of_two_moments_are_two_while_time_stands_still(path: Path) -> None:
    """4 GPU-hours and twice 1, of 10."""
    write(path, granted(2, 1), granted(3, 1))
    with feed_of(path, on_stale="hold") as feed:
        assert millionths(feed, START + 4 * HOUR) == {A: 600_000}


def test_every_act_counts_while_time_stands_still(path: Path) -> None:
    """Forgiven, then charged with 1 of 10, then renamed; b is charged with 2, and removed."""
    c = QueueName("c")
    write(
        path,
        Forgiven(at_ms=START + 2 * HOUR, queue=A, who="eve", reason="r"),
        granted(2, 1),
        Renamed(at_ms=START + 3 * HOUR, queue=A, name=c),
        granted(3, 2, B),
        Removed(at_ms=START + 3 * HOUR, queue=B),
    )
    with feed_of(path, on_stale="hold") as feed:
        assert millionths(feed, START + 4 * HOUR) == {c: 100_000, B: 200_000}


def test_a_grant_counts_at_once_while_history_is_fresh(path: Path) -> None:
    """A minute after the last look and the grant: 4 x 61 + 2 x 60 of 10 x 61 GPU-minutes."""
    write(path, granted(1 + 0.5 / 60, 2))
    with feed_of(path) as feed:
        assert millionths(feed, START + HOUR + 60_000) == {A: 364 * 10**6 // 610}


def test_after_the_next_look_the_outage_is_known(path: Path) -> None:
    """At hour 4 somebody looks again: 4 x 4 + 2 of 40."""
    write(path, granted(3, 2))
    with feed_of(path, on_stale="hold") as feed:
        assert millionths(feed, START + 4 * HOUR) == {A: 600_000}
        write(path, observed_ms=START + 4 * HOUR)
        assert millionths(feed, START + 4 * HOUR) == {A: 450_000}


def test_levels_that_were_imported_are_known_without_a_look(path: Path) -> None:
    write(path, Held(at_ms=START + 4 * HOUR, queue=B, amounts=(0,)))
    with feed_of(path) as feed:
        assert millionths(feed, START + 4 * HOUR) == {A: 400_000, B: 0}
        assert feed.vector(START + 4 * HOUR, {}, ("gpu",)).age_ms == 0


def test_a_record_of_grants_alone_is_missing_use(tmp_path: Path) -> None:
    path = tmp_path / "usage.db"
    with UsageStore.open(path, resources=("gpu",)) as store:
        store.append([granted(1, 1)])
    with feed_of(path) as feed:
        assert millionths(feed, START + HOUR) is None
        vector = feed.vector(START + HOUR, {}, ("gpu",))
    assert vector.state == "missing"
    assert vector.problem == f"usage store {path} has no entries of what queues hold"


def some(parts: dict[Key, tuple[int, ...]]) -> dict[Key, tuple[int, ...]]:
    """Without those who used nothing, who may or may not be in a ledger of a window."""
    return {name: each for name, each in parts.items() if any(each)}


@settings(max_examples=scale_examples(60))
@given(entries=histories(), which=st.sampled_from(ALL_RULES), later_ms=st.integers(0, DAY))
def test_what_goes_on_as_before_is_what_a_ledger_says_that_took_all(
    entries: list[Entry], which: UsageRules, later_ms: int
) -> None:
    """Whether acts are taken with the levels or after them."""
    now_ms = (entries[-1].at_ms if entries else START) + later_ms
    with a_store(entries) as store:
        reading = stored_reading(store, which, now_ms, keeps_plain=True)
        known = msgspec.structs.replace(reading, newest_ms=reading.newest_ms or now_ms)
        found = standing(known, "as before")
        assert found.plain is not None
        as_of_ms = found.as_of_ms(now_ms)
        plain = msgspec.structs.replace(which, half_life_ms=None)
        for ledger, rules in ((found.ledger, which), (found.plain, plain)):
            whole = ledger_of(entries, rules)
            for charge in ("all", "over-quota"):
                parts = ledger.normalised(as_of_ms, charge=charge)
                assert some(parts) == some(whole.normalised(now_ms, charge=charge))
            assert some(ledger.usage(as_of_ms).users) == some(whole.usage(now_ms).users)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Which files were opened, in order."""
    found: list[Path] = []
    original = UsageStore.open

    def counting(path: Path, **options: Any) -> UsageStore:
        found.append(path)
        return original(path, **options)

    monkeypatch.setattr(UsageStore, "open", counting)
    return found


def test_a_file_is_opened_once_and_its_ledger_is_followed(path: Path, opened: list[Path]) -> None:
    with UsageStore.open(path) as writer, feed_of(path) as feed:
        opened.clear()
        first = millionths(feed, START + HOUR)
        for hour in (2, 3):
            held = Held(at_ms=START + hour * HOUR, queue=B, amounts=(hour * 1000,))
            writer.append([held], observed_ms=START + hour * HOUR)
            last = millionths(feed, START + hour * HOUR)
    assert opened == [path]
    assert first == {A: 400_000}
    assert last == {A: 400_000, B: 2 * 10**6 // 30}  # 2 GPUs in the last of three hours


def test_another_file_of_the_same_name_is_opened(
    path: Path, tmp_path: Path, opened: list[Path]
) -> None:
    other = tmp_path / "other.db"
    with UsageStore.open(other, resources=("gpu",)) as store:
        store.append(
            [
                Capacity(at_ms=START, amounts=(10_000,)),
                Held(at_ms=START, queue=B, amounts=(9_000,)),
            ],
            observed_ms=START + HOUR,
        )
    with feed_of(path) as feed:
        opened.clear()
        assert millionths(feed, START + HOUR) == {A: 400_000}
        other.replace(path)
        assert millionths(feed, START + HOUR) == {B: 900_000}
    assert opened == [path, path]


def test_a_file_that_failed_is_opened_again(path: Path, opened: list[Path]) -> None:
    """While it is away, what was read counts; the file that comes back is the same one."""
    aside = path.with_suffix(".aside")
    with feed_of(path) as feed:
        opened.clear()
        millionths(feed, START + HOUR)
        path.rename(aside)
        assert millionths(feed, START + HOUR) == {A: 400_000}
        assert "there is no such file" in str(feed.vector(START + HOUR, {}, ("gpu",)).problem)
        aside.rename(path)
        assert millionths(feed, START + HOUR) == {A: 400_000}
        assert feed.vector(START + HOUR, {}, ("gpu",)).problem is None
    assert opened == [path, path, path]


def test_what_was_open_and_fails_is_opened_anew_at_once(
    path: Path, opened: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with feed_of(path) as feed:
        opened.clear()
        millionths(feed, START + HOUR)
        with monkeypatch.context() as patch:
            patch.setattr(UsageStore, "ledger", fail_once(UsageStore.ledger))
            assert millionths(feed, START + HOUR) == {A: 400_000}
        assert feed.vector(START + HOUR, {}, ("gpu",)).problem is None
    assert opened == [path, path]


def fail_once(original: Callable[..., Ledger]) -> Callable[..., Ledger]:
    failed: list[bool] = []

    def failing(*arguments: object) -> Ledger:
        if not failed:
            failed.append(True)
            fail()
        return original(*arguments)

    return failing


def fail(*_arguments: object) -> None:
    raise StoreError("the disk is on fire")


def test_a_reading_that_fails_half_way_leaves_numbers_that_count(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger has taken another minute when the acts cannot be read: 4 GPUs of 10 until then."""
    with feed_of(path) as feed:
        millionths(feed, START + HOUR)
        held = Held(at_ms=START + HOUR + 60_000, queue=B, amounts=(0,))
        write(path, held, granted(1.025, 1))
        monkeypatch.setattr(UsageStore, "entries", fail)
        assert millionths(feed, START + HOUR + 120_000) == {A: 400_000, B: 0}
        vector = feed.vector(START + HOUR, {}, ("gpu",))
    assert (vector.state, vector.problem) == ("fresh", "the disk is on fire")
    assert vector.usage == {A: (400_000_000,), B: (0,)}
