"""What counts of past use when a server is away, or answers while its series are silent."""

from collections.abc import Iterator

import msgspec
import pytest

from fairlead.usage.settings import OnStale
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


def test_a_failure_after_an_answer_keeps_the_numbers_until_they_are_stale(script: Script) -> None:
    feed = script.feed()
    script.refresh(feed, START + HOUR)
    script.response = failure("internal", "disk on fire", 500)
    script.refresh(feed, START + HOUR + MINUTE)
    vector = ask(feed, START + HOUR + 5 * MINUTE)
    assert (vector.state, vector.age_ms) == ("fresh", 5 * MINUTE)
    assert gpus(vector) == {A: 250_000, B: 125_000, TOP: 375_000}
    assert "disk on fire" in (vector.problem or "")
    vector = ask(feed, START + HOUR + 5 * MINUTE + 1)
    assert (vector.state, vector.usage) == ("stale", None)
    assert "history does not count" in (vector.problem or "")
    script.response = None
    script.refresh(feed, START + 2 * HOUR)
    vector = ask(feed, START + 2 * HOUR)
    assert (vector.state, vector.problem) == ("fresh", None)


@pytest.mark.parametrize("on_stale", ["hold", "decay", "drop"])
def test_stale_numbers_do_what_was_chosen(script: Script, on_stale: OnStale) -> None:
    """Hour 1 is the last that is known; it is hour 2. 61 samples of 2 of 8 were seen until then.

    Held: 0.25. Decaying: 60 more samples of nothing, 122 of 968 = 0.126033.
    """
    feed = script.feed(msgspec.structs.replace(RULES, on_stale=on_stale))
    script.refresh(feed, START + HOUR)
    script.response = Response(b"", 503)
    script.refresh(feed, START + 2 * HOUR)
    vector = ask(feed, START + 2 * HOUR)
    assert (vector.state, vector.age_ms) == ("stale", HOUR)
    expected = {"hold": 250_000, "decay": 126_033, "drop": None}[on_stale]
    assert (gpus(vector) or {}).get(A) == expected
    assert "3600 s old, more than 300 s" in (vector.problem or "")
    again = ask(feed, START + 3 * HOUR)  # 122 of 8 * 181 = 0.084254
    expected = {"hold": 250_000, "decay": 84_254, "drop": None}[on_stale]
    assert (gpus(again) or {}).get(A) == expected


@pytest.mark.parametrize("on_stale", ["hold", "decay", "drop"])
@pytest.mark.parametrize("falls_silent", ["all", "held", "capacity"])
@pytest.mark.parametrize("fetches", ["once", "often"])
def test_stale_numbers_do_the_same_where_the_server_answers_and_its_series_are_silent(
    script: Script, on_stale: OnStale, falls_silent: str, fetches: str
) -> None:
    """As above, but a scrape target is what is dead: from minute 61 on a series is absent."""
    if falls_silent != "capacity":
        script.held = {A: lambda at_ms: 2 if at_ms <= START + HOUR else None}
    if falls_silent != "held":
        script.capacity = lambda at_ms: 8 if at_ms <= START + HOUR else None
    rules = msgspec.structs.replace(RULES, on_stale=on_stale)
    feed = script.feed(rules, keeps_sums=True)
    for minute in range(30, 180, 10) if fetches == "often" else ():
        script.refresh(feed, START + minute * MINUTE)
    script.refresh(feed, START + 3 * HOUR)
    vector = ask(feed, START + 3 * HOUR)
    assert (vector.state, vector.age_ms) == ("stale", 2 * HOUR)
    expected = {"hold": 250_000, "decay": 84_254, "drop": None}[on_stale]
    assert (gpus(vector) or {}).get(A) == expected
    sums = feed.sums(START + 3 * HOUR, PARENTS, AXES)
    assert sums is not None
    assert sums.raw[A][2] == 122 * 1000 * MINUTE


def test_a_silence_that_is_over_counts_for_nobody(script: Script) -> None:
    """Told in hours 1 and 3 only: 61 and 61 samples of 2 of 8, and stale numbers in between.

    Those are 122 of 8 * 91 = 0.167582 and 122 of 8 * 120 = 0.127083.
    """

    def is_told(at_ms: int) -> bool:
        return at_ms <= START + HOUR or at_ms >= START + 2 * HOUR

    script.held = {A: lambda at_ms: 2 if is_told(at_ms) else None}
    script.capacity = lambda at_ms: 8 if is_told(at_ms) else None
    feed = script.feed(msgspec.structs.replace(RULES, on_stale="decay"), keeps_sums=True)
    for minute, part in ((90, 167_582), (119, 127_083), (120, 250_000), (180, 250_000)):
        script.refresh(feed, START + minute * MINUTE)
        assert (gpus(ask(feed, START + minute * MINUTE)) or {}).get(A) == part
    sums = feed.sums(START + 3 * HOUR, PARENTS, AXES)
    assert sums is not None
    assert sums.raw[A][2] == 2 * 122 * 1000 * MINUTE


def test_numbers_that_decayed_begin_anew_from_what_is_read_next(script: Script) -> None:
    """Away in hours 2 and 4. At hour 3 all is told, hour 2 included: 181 samples of 2.

    At hour 4: 181 of 2 and 60 of nothing, of 241 of 8: 362 of 1928 = 0.187759.
    """
    feed = script.feed(msgspec.structs.replace(RULES, on_stale="decay"))
    script.refresh(feed, START + HOUR)
    assert ask(feed, START + 2 * HOUR).state == "stale"
    script.refresh(feed, START + 3 * HOUR)
    assert (gpus(ask(feed, START + 3 * HOUR)) or {}).get(A) == 250_000
    assert (gpus(ask(feed, START + 4 * HOUR)) or {}).get(A) == 187_759


def test_a_server_that_answers_but_scrapes_nothing_any_more_becomes_stale(script: Script) -> None:
    """Scrapes end after half an hour: no error, only silence."""
    end_ms = START + HOUR // 2
    script.held = {A: lambda at_ms: 2 if at_ms <= end_ms else None}
    script.capacity = lambda at_ms: 8 if at_ms <= end_ms else None
    feed = script.feed()
    script.refresh(feed, end_ms + 4 * MINUTE)
    assert ask(feed, end_ms + 4 * MINUTE).age_ms == 4 * MINUTE
    script.refresh(feed, end_ms + 6 * MINUTE)
    vector = ask(feed, end_ms + 6 * MINUTE)
    assert (vector.state, vector.age_ms, vector.usage) == ("stale", 6 * MINUTE, None)
