"""Following past use while settings are read again and again, from threads that take turns."""

import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.model.axes import QueueName
from fairlead.store.feed.usage_feed import FollowedUsage
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Held
from fairlead.usage.settings import StoreSource, UsageRules
from fairlead.usage.window import Tumbling

HOUR = 3_600_000
START = 1_767_225_600_000
A = QueueName("a")
RULES = UsageRules(window=Tumbling(1000 * HOUR, START))


def write(path: Path, gpus: int) -> StoreSource:
    """Of 10 GPUs *a* holds so many, and at hour 1 somebody looked."""
    with UsageStore.open(path, resources=("gpu",)) as store:
        store.append(
            [
                Capacity(at_ms=START, amounts=(10_000,)),
                Held(at_ms=START, queue=A, amounts=(gpus * 1000,)),
            ],
            observed_ms=START + HOUR,
        )
    return StoreSource(path=str(path))


def part(followed: FollowedUsage, rules: UsageRules, source: StoreSource) -> float | None:
    feed = followed.refreshed(rules, source, START + HOUR)
    usage = feed.vector(START + HOUR, {}, ("gpu",)).usage
    return None if usage is None else usage[A][0] / 10**9


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were opened for reading, in order."""
    found: list[str] = []
    original = UsageStore.open

    def noting(path: Path, *, writes: bool = True, **options: Any) -> UsageStore:
        if not writes:
            found.append(path.name)
        return original(path, writes=writes, **options)

    monkeypatch.setattr(UsageStore, "open", noting)
    return found


def test_threads_that_take_turns_share_one_opened_file(tmp_path: Path, opened: list[str]) -> None:
    """As scrapes do: each comes in a thread of its own."""
    source = write(tmp_path / "one.db", 4)
    followed = FollowedUsage({})
    found: list[float | None] = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: found.append(part(followed, RULES, source)))
        thread.start()
        thread.join()
    followed.close()
    assert found == [0.4, 0.4, 0.4]
    assert opened == ["one.db"]


def test_other_settings_are_read_from_the_beginning(tmp_path: Path, opened: list[str]) -> None:
    """Another file has other numbers, and other rules would count the same ones in another way."""
    one, two = write(tmp_path / "one.db", 4), write(tmp_path / "two.db", 7)
    followed = FollowedUsage({})
    fading = msgspec.structs.replace(RULES, half_life_ms=HOUR)
    asked = [(RULES, one), (RULES, one), (fading, one), (fading, two)]
    assert [part(followed, *each) for each in asked] == [0.4, 0.4, 0.4, 0.7]
    followed.close()
    assert opened == ["one.db", "one.db", "two.db"]


def test_what_was_of_other_settings_does_not_stand_in_for_what_is_missing(tmp_path: Path) -> None:
    followed = FollowedUsage({})
    assert part(followed, RULES, write(tmp_path / "one.db", 4)) == 0.4
    assert part(followed, RULES, StoreSource(path=str(tmp_path / "none.db"))) is None
    followed.close()
