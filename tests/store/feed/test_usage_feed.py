"""What a planner gets to know of past use, from sources that answer and from those that do not."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from fairlead.model.axes import QueueName
from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.store.feed.usage_vector import UsageVector
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Guarantee, Held
from fairlead.usage.settings import PrometheusSource, StoreSource
from fairlead.usage.window import Tumbling
from tests.store.loopback_server import Response
from tests.store.scripted_cluster import (
    AXES,
    HOUR,
    MINUTE,
    PARENTS,
    RULES,
    START,
    TOP,
    A,
    B,
    Script,
    ask,
    gpus,
    scripted,
)
from tests.store.told_series import failure


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted() as found:
        yield found


def test_fresh_numbers_count_and_inner_queues_are_sums(script: Script) -> None:
    feed = script.feed()
    script.refresh(feed, START + HOUR)
    vector = ask(feed, START + HOUR + MINUTE)
    assert gpus(vector) == {A: 250_000, B: 125_000, TOP: 375_000}
    assert (vector.state, vector.age_ms, vector.problem) == ("fresh", MINUTE, None)


def test_an_inner_queue_with_a_series_of_its_own_is_not_counted_twice(script: Script) -> None:
    """KAI tells a department with all that is below it; here that is 3, and so is the sum."""
    script.held[TOP] = lambda _: 3
    feed = script.feed()
    script.refresh(feed, START + HOUR)
    parents = {A: TOP, B: TOP, TOP: QueueName("root"), QueueName("root"): None}
    usage = feed.vector(START + HOUR, parents, ("gpu",)).usage
    assert usage is not None
    assert usage[TOP] == usage[QueueName("root")] == (375_000_000,)


# Of 8 GPUs a holds 2 and b 1, of which 1 and 3 are guaranteed, and 1 to top, which KAI tells with
# all that is below it. Above its guarantee a has 1 of 8 and b none: 1 for top, not 3 - 1.
ABOVE = {A: 125_000_000, B: 0, TOP: 125_000_000}


def test_an_inner_queue_used_what_those_below_it_used_above_their_guarantees(
    script: Script, tmp_path: Path
) -> None:
    """From both sources; what is above its own guarantee is another question."""
    rules = msgspec.structs.replace(RULES, charge="over-quota")
    script.held[TOP] = lambda _: 3
    script.guaranteed = {A: lambda _: 1, B: lambda _: 3, TOP: lambda _: 1}
    told = script.feed(rules, keeps_sums=True)
    script.refresh(told, START + HOUR)
    path = tmp_path / "usage.db"
    with UsageStore.open(path, resources=("nvidia.com/gpu",)) as store:
        store.append(
            [
                Capacity(at_ms=START, amounts=(8_000,)),
                Guarantee(at_ms=START, queue=A, amounts=(1_000,)),
                Guarantee(at_ms=START, queue=B, amounts=(3_000,)),
                Held(at_ms=START, queue=A, amounts=(2_000,)),
                Held(at_ms=START, queue=B, amounts=(1_000,)),
            ],
            observed_ms=START + HOUR,
        )
    with UsageFeed(rules, StoreSource(path=str(path)), {}) as stored:
        stored.refresh(START + HOUR)
    for feed in (told, stored):
        usage = feed.vector(START + HOUR, PARENTS, ("gpu",)).usage
        assert usage is not None
        assert {name: parts[0] for name, parts in usage.items()} == ABOVE
    sums = told.sums(START + HOUR, PARENTS, ("gpu",))
    assert sums is not None
    assert sums.raw == {A: (61 * 1000 * MINUTE,), B: (0,), TOP: (61 * 1000 * MINUTE,)}


def test_sums_cost_the_server_nothing_more(script: Script) -> None:
    """Two GPUs in 61 samples: 122 GPU-minutes, and half of that is older than half an hour."""
    rules = msgspec.structs.replace(RULES, half_life_ms=HOUR)
    plain, summing = script.feed(rules), script.feed(rules, keeps_sums=True)
    script.refresh(plain, START + HOUR)
    once = len(script.asked)
    script.refresh(summing, START + HOUR)
    sums = summing.sums(START + HOUR, PARENTS, AXES)
    assert ask(plain, START + HOUR) == ask(summing, START + HOUR)
    assert len(script.asked) == 2 * once
    assert sums is not None
    assert sums.raw[A] == (0, 0, 122 * 1000 * MINUTE)
    faded = sum(2 * 2 ** (-minute / 60) for minute in range(61))
    assert round(sums.decayed[A][2] / 1000 / MINUTE, 6) == round(faded, 6)


def test_only_what_is_new_is_fetched_and_not_before_the_interval_is_over(script: Script) -> None:
    feed = script.feed(fetch_interval_ms=2 * MINUTE)
    script.refresh(feed, START + HOUR)
    first = len(script.asked)
    script.refresh(feed, START + HOUR + 2 * MINUTE - 1)
    assert len(script.asked) == first
    script.refresh(feed, START + HOUR + 2 * MINUTE)
    begins = {
        request.fields["start"] for request in script.asked[first:] if "start" in request.fields
    }
    assert begins == {f"{(START + HOUR + MINUTE) // 1000}.000"}


@pytest.mark.parametrize("fails", [False, True])
def test_the_interval_is_counted_from_the_end_of_a_try(script: Script, fails: bool) -> None:
    """A try of three minutes, or more, is not due again at once where that is the interval."""
    script.takes_ms = 3 * MINUTE
    if fails:
        script.response = failure("timeout", "query timed out", 503)
    feed = script.feed(fetch_interval_ms=3 * MINUTE)
    script.refresh(feed, START + HOUR)
    first = len(script.asked)
    end_ms = START + HOUR + script.stopwatch_ms
    assert end_ms >= START + HOUR + 3 * MINUTE
    for now_ms in (end_ms - MINUTE, end_ms - 1, end_ms, end_ms + 3 * MINUTE - 1):
        script.refresh(feed, now_ms)
        assert feed.due_in_ms(now_ms) == end_ms + 3 * MINUTE - now_ms
    assert len(script.asked) == first
    script.refresh(feed, end_ms + 3 * MINUTE)
    assert len(script.asked) > first


def test_a_clock_that_was_set_back_far_does_not_stop_the_asking(script: Script) -> None:
    feed = script.feed(fetch_interval_ms=MINUTE)
    script.refresh(feed, START + HOUR)
    assert feed.due_in_ms(START + HOUR - MINUTE) == 2 * MINUTE
    assert feed.due_in_ms(START + HOUR - MINUTE - 1) == 0


def test_before_anything_was_read_it_is_missing() -> None:
    vector = ask(UsageFeed(RULES, PrometheusSource(url="http://h"), {}), START)
    text = "nothing was read yet"
    assert vector == UsageVector(usage=None, state="missing", problem=text)


MISSING: dict[str, tuple[Callable[[Script], None], str]] = {
    "an error": (
        lambda script: setattr(script, "response", failure("internal", "disk on fire", 500)),
        "reports an error: disk on fire",
    ),
    "a page": (
        lambda script: setattr(script, "response", Response(b"<html>", 200, "text/html")),
        "text/html that is no answer of Prometheus",
    ),
    "nobody is told": (lambda script: script.held.clear(), "has no series of what queues held"),
    "no capacity is told": (
        lambda script: setattr(script, "capacity", lambda _: None),
        "has no series of the capacity of nvidia.com/gpu",
    ),
    "the capacity of all is told as nothing": (
        lambda script: setattr(script, "capacity", lambda _: 0),
        "the capacity of the cluster is unknown for all resources",
    ),
    "samples of another time": (
        lambda script: script.shift_time(),
        "answered about another time than it was asked about",
    ),
    "only numbers that are none": (
        lambda script: setattr(script, "capacity", lambda _: "NaN"),
        "says NaN at 2026-01-01T00:00:00Z",
    ),
}


@pytest.mark.parametrize(("change", "text"), MISSING.values(), ids=MISSING.keys())
def test_what_was_never_known_is_missing_and_says_why(
    script: Script, change: Callable[[Script], None], text: str
) -> None:
    change(script)
    feed = script.feed()
    script.refresh(feed, START + HOUR)
    vector = ask(feed, START + HOUR)
    assert (vector.usage, vector.state) == (None, "missing")
    assert text in (vector.problem or "")


def test_a_variable_that_is_not_set_is_missing_use_and_no_crash() -> None:
    feed = UsageFeed(RULES, PrometheusSource(url_variable="NOWHERE"), {})
    feed.refresh(START)
    vector = ask(feed, START)
    assert vector.state == "missing"
    assert "variable NOWHERE, which is not set" in (vector.problem or "")


TOLD: dict[str, tuple[Callable[[Script], None], str]] = {
    "a partial answer": (
        lambda script: script.more.update(warnings=["one store is away"]),
        "warns that its answer may be partial: one store is away",
    ),
    "not a number for a while": (
        lambda script: script.held.update(a=lambda at_ms: "+Inf" if at_ms > START + 9 else 2),
        "says Infinity for queue a at 2026-01-01T00:01:00Z in kai_queue_allocated_gpus",
    ),
}


@pytest.mark.parametrize(("change", "text"), TOLD.values(), ids=TOLD.keys())
def test_what_is_odd_is_told_and_the_numbers_are_the_same(
    script: Script, change: Callable[[Script], None], text: str
) -> None:
    change(script)
    feed = script.feed()
    script.refresh(feed, START + HOUR)
    vector = ask(feed, START + HOUR)
    assert gpus(vector) == {A: 250_000, B: 125_000, TOP: 375_000}
    assert (vector.state, vector.age_ms) == ("fresh", 0)
    assert text in (vector.problem or "")


def test_the_first_answer_is_waited_for_as_long_as_is_set(script: Script) -> None:
    """The server starts to answer at the third try; another that never does is given up."""
    now_ms = START + HOUR
    pauses: list[int] = []

    def pause(wait_ms: int) -> None:
        nonlocal now_ms
        pauses.append(wait_ms)
        now_ms += wait_ms
        script.now_ms = now_ms
        if len(pauses) == 2:
            script.response = None

    script.now_ms = now_ms
    script.response = Response(b"", 503)
    assert script.feed(wait_timeout_ms=5_000).wait_for_first(lambda: now_ms, pause)
    assert pauses == [1000, 1000]
    script.response = Response(b"", 503)
    assert not script.feed(wait_timeout_ms=5_000).wait_for_first(lambda: now_ms, pause)
    assert len(pauses) == 2 + 5


def test_a_turn_of_things_is_logged_once(script: Script, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="fairlead.store.feed.usage_feed")
    feed = script.feed()
    script.refresh(feed, START + HOUR)
    for minute in range(10):
        ask(feed, START + HOUR + minute * MINUTE)
    script.refresh(feed, START + 2 * HOUR)
    for minute in range(3):
        ask(feed, START + 2 * HOUR + minute * MINUTE)
    told = [(record.levelname, record.getMessage()[:17]) for record in caplog.records]
    assert told == [("WARNING", "past use is stale"), ("INFO", "past use is fresh")]


def test_another_problem_is_another_turn_and_its_age_is_not(
    script: Script, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="fairlead.store.feed.usage_feed")
    feed = script.feed()
    script.refresh(feed, START + HOUR)
    errors = ("disk 1 on fire", "disk 1 on fire", "disk 2 on fire", "disk 2 is full", None)
    for minute, error in enumerate(errors):
        script.response = failure("internal", error, 500) if error else None
        script.refresh(feed, START + HOUR + (minute + 1) * MINUTE)
        ask(feed, START + HOUR + (minute + 1) * MINUTE)
    for minute in range(20, 23):  # stale, and older each time
        ask(feed, START + HOUR + minute * MINUTE)
    words = ("1 on fire", "2 on fire", "is full", "past use is fresh", "past use is stale")
    told = [next(word for word in words if word in each.getMessage()) for each in caplog.records]
    assert told == list(words)


def test_what_contradicts_itself_does_not_count_and_says_so(script: Script) -> None:
    feed = script.feed(keeps_sums=True)
    script.refresh(feed, START + HOUR)
    circle = {A: TOP, TOP: QueueName("root"), QueueName("root"): TOP}
    vector = feed.vector(START + HOUR, circle, AXES)
    assert (vector.usage, vector.state, vector.age_ms) == (None, "missing", 0)
    assert "is below itself" in (vector.problem or "")
    assert feed.sums(START + HOUR, circle, AXES) is None


def test_an_axis_of_which_nothing_is_recorded_is_told(script: Script) -> None:
    feed = script.feed()
    script.refresh(feed, START + HOUR)
    vector = feed.vector(START + HOUR, PARENTS, ("gpu", "example.com/fpga"))
    assert vector.usage is not None
    assert vector.usage[A] == (250_000_000, 0)
    assert vector.problem == "of example.com/fpga no use is recorded; it counts as none"


def test_what_nobody_tells_the_whole_of_is_unknown_and_not_nothing(script: Script) -> None:
    """Of cores and memory KAI says that nobody holds any: no problem, but no part of them either.

    Of the first moment of a window nothing was used yet, which is known.
    """
    feed = script.feed(msgspec.structs.replace(RULES, window=Tumbling(HOUR, START + MINUTE // 2)))
    for now_ms in (START, START + MINUTE // 2, START + HOUR, START + HOUR + MINUTE // 2):
        script.refresh(feed, now_ms)
        vector = ask(feed, now_ms)
        assert (vector.state, vector.unknown, vector.problem) == ("fresh", ("cpu", "memory"), None)


def test_who_asks_first_before_a_sample_of_the_window_is_due_is_told_why_nothing_counts(
    script: Script,
) -> None:
    rules = msgspec.structs.replace(RULES, window=Tumbling(HOUR, START + MINUTE // 2))
    feed = script.feed(rules)
    script.refresh(feed, START + MINUTE // 2)
    vector = ask(feed, START + MINUTE // 2)
    assert (vector.state, vector.usage) == ("missing", None)
    assert vector.problem == "the window has just begun and has no samples yet"


def test_moments_that_pass_are_no_other_turn(script: Script) -> None:
    script.held.clear()
    texts, turns = set(), set()
    for minute in range(10, 13):
        other = script.feed()
        script.refresh(other, START + HOUR + minute * MINUTE)
        vector = ask(other, START + HOUR + minute * MINUTE)
        texts.add(vector.problem)
        turns.add(vector.turn)
    assert (len(texts), len(turns)) == (3, 1)  # they name the stretch of time that was asked about
