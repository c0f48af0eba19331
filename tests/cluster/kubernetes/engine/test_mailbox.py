"""Mail between threads: in order, none lost, and a burst of it taken as one."""

from threading import Condition, Thread

import pytest

from fairlead.cluster.kubernetes.engine.mailbox import Mailbox
from fairlead.cluster.kubernetes.engine.steady_clock import SteadyClock
from fairlead.cluster.kubernetes.watching.facts import Seen

FOR_EVER_S = 20.0  # what a test would wait for if it failed


def fact(number: int) -> Seen:
    return Seen({"number": number})


def test_mail_is_taken_once_and_in_its_order() -> None:
    box = Mailbox()
    for number in range(3):
        box.put(fact(number))
    assert box.take() == [fact(0), fact(1), fact(2)]
    assert box.take() == []


def test_whoever_waits_is_woken_by_mail() -> None:
    box = Mailbox()
    sender = Thread(target=box.put, args=(fact(0),))
    sender.start()
    box.wait(FOR_EVER_S)
    sender.join()
    assert box.take() == [fact(0)]


def test_one_that_is_woken_without_mail_looks_around_once() -> None:
    """The wish is kept until the wait begins, so that a stop is never missed."""
    box = Mailbox()
    box.wake()
    box.wait(FOR_EVER_S)
    assert box.take() == []
    box.wait(0.001)


@pytest.mark.parametrize(
    ("facts_per_ms", "waits"),
    [
        ([1, 1, 0, 1], 3),  # it is calm in the third ms
        ([1] * 100, 20),
        ([1000, *[1] * 200], 100),  # a list of many objects
    ],
)
def test_a_burst_is_waited_for_as_long_as_it_lasts_within_a_bound(
    facts_per_ms: list[int], waits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    box = Mailbox(lambda: round(sum(waited), 6))

    def wait(_: Condition, at_most_s: float) -> None:
        for number in range(facts_per_ms[len(waited)]):
            box.put(fact(number))
        waited.append(at_most_s)

    monkeypatch.setattr(Condition, "wait", wait)
    box.put(fact(0))
    box.wait(FOR_EVER_S)
    assert waited == [0.001] * waits


def test_nothing_is_lost_between_threads() -> None:
    box, senders = Mailbox(), 4

    def send(first: int) -> None:
        for number in range(250):
            box.put(fact(first + number))

    threads = [Thread(target=send, args=(at * 1000,)) for at in range(senders)]
    for thread in threads:
        thread.start()
    found: list[object] = []
    while len(found) < senders * 250:
        box.wait(FOR_EVER_S)
        found += box.take()
    assert len(found) == senders * 250
    for at in range(senders):
        numbers = [each.object["number"] for each in found if isinstance(each, Seen)]
        own = [each for each in numbers if isinstance(each, int) and each // 1000 == at]
        assert own == sorted(own)


def test_the_time_of_plans_does_not_follow_a_wall_clock_that_is_set() -> None:
    wall_ms, monotonic_s = 1_700_000_000_000, 50.0
    clock = SteadyClock(lambda: wall_ms, lambda: monotonic_s)
    wall_ms -= 3_600_000
    monotonic_s += 1.5
    assert clock.now_ms() == 1_700_000_001_500
