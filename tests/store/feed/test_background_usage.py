"""Past usage is read in the background, and a slow source keeps no caller waiting."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec
import pytest

from fairlead.errors import StoreError
from fairlead.model.axes import QueueName
from fairlead.store.feed import usage_feed
from fairlead.store.feed.reading import Reading
from fairlead.store.feed.store_origin import StoredOrigin
from fairlead.store.feed.usage_feed import FollowedUsage, UsageFeed
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Held
from fairlead.usage.settings import PrometheusSource, StoreSource, UsageRules
from fairlead.usage.window import Tumbling
from tests.store.loopback_server import Request, Response, serving
from tests.store.told_series import labels, range_of

MINUTE = 60_000
HOUR = 60 * MINUTE
START = 1_767_225_600_000
NOW = START + HOUR
A = QueueName("a")
RULES = UsageRules(window=Tumbling(1000 * HOUR, START - 1))


class Server:
    """Of 8 GPUs *a* holds 2; it answers while it may, and else not before it may again."""

    def __init__(self) -> None:
        self.url = ""
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.asked = threading.Semaphore(0)

    def answer(self, request: Request) -> Response:
        self.asked.release()
        assert self.may_answer.wait(60)
        query = request.fields["query"]
        if query == "kai_queue_allocated_gpus":
            return range_of({labels(queue_name=A): lambda _: 2}, request)
        if "nvidia_com_gpu" in query:
            return range_of({(): lambda _: 8}, request)
        return range_of({}, request)

    def source(self, **settings: int) -> PrometheusSource:
        plain = PrometheusSource(url=self.url, query_timeout_ms=60_000)
        return msgspec.structs.replace(plain, **settings)


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    with serving(found.answer) as url:
        found.url = url
        yield found
        found.may_answer.set()


@pytest.fixture
def background() -> Iterator[FollowedUsage]:
    with closing(FollowedUsage({}, in_background=True)) as found:
        yield found


@pytest.fixture
def _without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_feed, "LONGEST_WAIT_S", 0.05)


def part(feed: UsageFeed, now_ms: int = NOW) -> float | None:
    usage = feed.vector(now_ms, {}, ("gpu",)).usage
    return None if usage is None else usage[A][0] / 10**9


def soon(holds: Callable[[], bool]) -> bool:
    """Whether something comes to hold, for what another thread does."""
    for _ in range(3000):
        if holds():
            return True
        threading.Event().wait(0.01)
    return False


def write(path: Path, gpus: int) -> StoreSource:
    """Of 10 GPUs *a* holds so many, and at hour 1 somebody looked."""
    with UsageStore.open(path, resources=("gpu",)) as store:
        held = Held(at_ms=START, queue=A, amounts=(gpus * 1000,))
        store.append([Capacity(at_ms=START, amounts=(10_000,)), held], observed_ms=NOW)
    return StoreSource(path=str(path))


def test_the_first_answer_is_waited_for(server: Server, background: FollowedUsage) -> None:
    assert part(background.refreshed(RULES, server.source(), NOW)) == 0.25


@pytest.mark.usefixtures("_without_patience")
def test_a_server_that_never_answers_is_missing_until_it_does(
    server: Server, background: FollowedUsage
) -> None:
    server.may_answer.clear()
    for _ in range(3):
        vector = background.refreshed(RULES, server.source(), NOW).vector(NOW, {}, ("gpu",))
        assert (vector.state, vector.problem) == ("missing", "nothing was read yet")
    server.may_answer.set()
    assert soon(lambda: part(background.refreshed(RULES, server.source(), NOW)) == 0.25)


@pytest.mark.usefixtures("_without_patience")
def test_while_a_server_hangs_the_last_numbers_serve_and_grow_old(
    server: Server, background: FollowedUsage
) -> None:
    source = server.source(fetch_interval_ms=1)
    assert soon(lambda: part(background.refreshed(RULES, source, NOW)) == 0.25)
    server.may_answer.clear()
    for minute in range(1, 4):
        feed = background.refreshed(RULES, source, NOW + minute * MINUTE)
        assert part(feed) == 0.25
        assert feed.vector(NOW, {}, ("gpu",)).state == "fresh"
    late = feed.vector(NOW + 100 * HOUR, {}, ("gpu",))
    assert (late.state, late.usage) == ("stale", None)


def test_a_server_is_not_asked_again_before_the_interval_is_over(
    server: Server, background: FollowedUsage
) -> None:
    source = server.source(fetch_interval_ms=MINUTE)
    background.refreshed(RULES, source, NOW)
    while server.asked.acquire(blocking=False):
        pass
    for _ in range(20):
        background.refreshed(RULES, source, NOW)
    assert not server.asked.acquire(timeout=0.1)


def test_a_file_says_what_it_says_now(tmp_path: Path, background: FollowedUsage) -> None:
    source = write(tmp_path / "one.db", 4)
    assert part(background.refreshed(RULES, source, NOW)) == 0.4
    with UsageStore.open(tmp_path / "one.db") as store:
        store.append([Held(at_ms=START + HOUR // 2, queue=A, amounts=(0,))])
    assert part(background.refreshed(RULES, source, NOW)) == 0.2
    (tmp_path / "one.db").unlink()
    vector = background.refreshed(RULES, source, NOW).vector(NOW, {}, ("gpu",))
    assert "there is no such file" in (vector.problem or "")


@pytest.mark.usefixtures("_without_patience")
def test_a_reading_that_is_half_done_is_not_seen(
    tmp_path: Path, background: FollowedUsage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger of a file has taken what is new, and the reading has not ended yet."""
    source = write(tmp_path / "one.db", 4)
    assert soon(lambda: part(background.refreshed(RULES, source, NOW)) == 0.4)
    has_taken, may_end = threading.Event(), threading.Event()
    original = StoredOrigin.read

    def slow(origin: StoredOrigin, now_ms: int) -> Reading:
        reading = original(origin, now_ms)
        has_taken.set()
        assert may_end.wait(60)
        return reading

    with UsageStore.open(tmp_path / "one.db") as store:
        store.append([Held(at_ms=START + HOUR // 2, queue=A, amounts=(0,))])
    monkeypatch.setattr(StoredOrigin, "read", slow)
    feed = background.refreshed(RULES, source, NOW)
    assert has_taken.wait(60)
    assert part(feed) == 0.4
    may_end.set()
    assert soon(lambda: part(feed) == 0.2)


def test_other_settings_are_read_from_the_beginning(
    tmp_path: Path, background: FollowedUsage
) -> None:
    one, two = write(tmp_path / "one.db", 4), write(tmp_path / "two.db", 7)
    fading = msgspec.structs.replace(RULES, half_life_ms=HOUR)
    asked = [(RULES, one), (fading, one), (fading, two), (RULES, one)]
    assert [part(background.refreshed(*each, NOW)) for each in asked] == [0.4, 0.4, 0.7, 0.4]


def test_a_try_that_hangs_does_not_keep_the_program_from_ending(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage_feed, "LONGEST_WAIT_S", 0.05)
    monkeypatch.setattr(usage_feed, "STOP_S", 0.05)
    server.may_answer.clear()
    background = FollowedUsage({}, in_background=True)
    background.refreshed(RULES, server.source(), NOW)
    background.close()
    (reading,) = [each for each in threading.enumerate() if each.name == "past use"]
    assert reading.daemon
    server.may_answer.set()
    reading.join(60)
    assert not reading.is_alive()


def test_a_defect_is_not_hidden_in_the_thread(
    tmp_path: Path, background: FollowedUsage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> object:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(StoredOrigin, "read", fail)
    source = write(tmp_path / "one.db", 4)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="a defect"):
            background.refreshed(RULES, source, NOW)


@pytest.mark.usefixtures("_without_patience")
@pytest.mark.parametrize("is_end", [False, True])
def test_a_defect_of_a_reading_that_outlasts_its_call_is_raised_by_the_next(
    tmp_path: Path, background: FollowedUsage, monkeypatch: pytest.MonkeyPatch, is_end: bool
) -> None:
    may_fail = threading.Event()

    def fail_late(*_: object) -> object:
        assert may_fail.wait(60)
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(StoredOrigin, "read", fail_late)
    source = write(tmp_path / "one.db", 4)
    assert part(background.refreshed(RULES, source, NOW)) is None
    (reader,) = [each for each in threading.enumerate() if each.name == "past use"]
    may_fail.set()
    reader.join(60)
    next_call = background.close if is_end else partial(background.refreshed, RULES, source, NOW)
    with pytest.raises(ZeroDivisionError, match="a defect"):
        next_call()


def test_the_end_stops_the_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    background = FollowedUsage({}, in_background=True)
    background.refreshed(RULES, write(tmp_path / "one.db", 4), NOW)
    background.close()
    assert threading.active_count() == before
    background.close()


def test_what_fails_outside_is_no_defect(
    tmp_path: Path, background: FollowedUsage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> object:
        raise StoreError("the disk is gone")

    source = write(tmp_path / "one.db", 4)
    background.refreshed(RULES, source, NOW)
    monkeypatch.setattr(StoredOrigin, "read", fail)
    vector = background.refreshed(RULES, source, NOW).vector(NOW, {}, ("gpu",))
    assert (vector.state, vector.problem) == ("fresh", "the disk is gone")
