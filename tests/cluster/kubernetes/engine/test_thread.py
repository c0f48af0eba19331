"""When the engine's thread plans, what it hands over, and how long it rests: a turn at a time."""

from collections.abc import Callable, Sequence

import pytest

from fairlead.cluster.kubernetes.acting.acts import Act
from fairlead.cluster.kubernetes.engine.engine import Carried, Engine
from fairlead.cluster.kubernetes.engine.mailbox import Mailbox
from fairlead.cluster.kubernetes.engine.pacing import AT_MOST_STARTS, MOST_WAITING_BINDS
from fairlead.cluster.kubernetes.engine.thread import EngineThread
from fairlead.model.plan import Plan
from tests.cluster.kubernetes.engine.led_engine import (
    LedEngine,
    node,
    node_key,
    pod,
    quota,
    words,
)


class Around:
    """The surroundings of a thread, as a test wants them."""

    def __init__(self) -> None:
        self.why_not = ""
        self.binds = 0
        self.batches: list[list[str]] = []
        self.plans: list[Plan] = []
        self.rests = 0
        self.failures: list[BaseException | None] = []
        self.happens: Callable[[], None] = lambda: None  # while a plan is made

    def hindrance(self) -> str:
        return self.why_not

    def waiting_binds(self) -> int:
        return self.binds

    def submit(self, batches: Sequence[Sequence[Act]]) -> None:
        self.batches += [[words(act) for act in batch] for batch in batches]

    # The others note nothing of the engine.
    def planned(self, engine: Engine, plan: Plan, carried: Carried, took_s: float) -> None:  # noqa: ARG002
        self.plans.append(plan)

    def rested(self, engine: Engine, now_ms: int) -> None:  # noqa: ARG002
        self.rests += 1

    def ended(self, failure: BaseException | None) -> None:
        self.failures.append(failure)


class Turned:
    """An engine whose thread makes turns when it is told to."""

    def __init__(self, *objects: dict[str, object]) -> None:
        self.led = LedEngine(*objects)
        self.around = Around()
        self.mailbox = Mailbox()
        engine = self.led.engine
        plan = engine.plan

        def plan_while_something_happens(
            now_ms: int, *, at_most_starts: int | None, explain: bool
        ) -> Plan:
            found = plan(now_ms, at_most_starts=at_most_starts, explain=explain)
            self.around.happens()
            return found

        engine.plan = plan_while_something_happens  # type: ignore[method-assign]
        self.thread = EngineThread(
            engine, self.mailbox, self.around, lambda: self.led.server.now_ms
        )

    def post(self) -> None:
        """Put into the mailbox what the watches have to deliver."""
        for mail in self.led.late():
            self.mailbox.put(mail)

    def turns_until_rest(self) -> tuple[int, float]:
        """Return how many turns are made before a rest, and for how long it is."""
        for number in range(1, 100):
            nap_s = self.thread.turn()
            if nap_s:
                return number, nap_s
        raise AssertionError("the thread never rests")


def test_a_pod_that_comes_is_bound_and_then_the_thread_rests() -> None:
    """The second turn sees that nothing more is to be done, and the third that nothing waits."""
    turned = Turned(node("n1"), quota("a", 4, 4))
    assert turned.turns_until_rest() == (1, 1.0)
    turned.led.create(pod("a/p"))
    turned.post()
    _, nap_s = turned.turns_until_rest()
    assert (turned.around.batches, nap_s) == ([["bind a/p to n1"]], 1.0)
    plans = len(turned.around.plans)
    turned.led.pass_time(500)
    assert turned.turns_until_rest() == (1, 1.0)
    assert len(turned.around.plans) == plans


def test_many_pods_are_started_in_slices_that_are_handed_over_one_by_one() -> None:
    pods = [pod(f"a/p{number}", 0) for number in range(AT_MOST_STARTS + 5)]
    turned = Turned(node("n1", pods=500), quota("a", 4, 4), *pods)
    turned.thread.turn()
    assert len(turned.around.batches) == AT_MOST_STARTS
    turned.thread.turn()
    assert len(turned.around.batches) == AT_MOST_STARTS + 5


@pytest.mark.parametrize("is_waiting", [True, False])
def test_nothing_is_planned_while_something_hinders_it_nor_is_looked_for_all_the_time(
    is_waiting: bool,
) -> None:
    """A watch is stale, or another replica leads, for ten minutes."""
    least = pod("a/p", 1 if is_waiting else 0)
    turned = Turned(node("n1", 0 if is_waiting else 4), quota("a", 4, 4), least)
    turned.turns_until_rest()
    plans = len(turned.around.plans)
    turned.around.why_not = "waiting for Pod"
    turned.led.create(pod("a/q"))
    turned.post()
    for _ in range(10):
        turned.led.pass_time(60_000)
        assert turned.turns_until_rest() == (1, 1.0)
    assert len(turned.around.plans) == plans


def test_a_full_lane_is_waited_for_and_not_looked_at_all_the_time() -> None:
    """The API server asks for less, and 201 binds wait while some pod has no room.

    Reasons are due after a second, but no plan is made: were that due all the time, the thread
    would turn a thousand times a second.
    """
    turned = Turned(node("n1", 0), quota("a", 4, 4), pod("a/p"))
    turned.turns_until_rest()
    turned.led.create(pod("a/q"))
    turned.post()
    turned.around.binds = MOST_WAITING_BINDS + 1
    turned.led.pass_time(60_000)
    plans = len(turned.around.plans)
    assert turned.turns_until_rest() == (1, 1.0)
    assert len(turned.around.plans) == plans
    turned.around.binds = MOST_WAITING_BINDS
    turned.turns_until_rest()
    assert len(turned.around.plans) == plans + 1


def test_news_that_comes_while_a_plan_is_made_counts_before_it_is_carried_out() -> None:
    turned = Turned(node("n1"), quota("a", 4, 4), pod("a/p"))

    def gone() -> None:
        turned.around.happens = lambda: None
        turned.led.remove(node_key("n1"))
        turned.led.create(node("n2"))
        turned.post()

    turned.around.happens = gone
    turned.turns_until_rest()
    assert turned.around.batches == [["bind a/p to n2"]]


def test_a_decision_that_the_state_never_accepts_is_not_made_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A rule set and the last look disagree, which is a defect; it must not heat the machine."""
    monkeypatch.setattr(
        "fairlead.cluster.kubernetes.engine.engine.is_still_possible", lambda *_: False
    )
    turned = Turned(node("n1"), quota("a", 4, 4), pod("a/p"))
    for _ in range(50):
        turned.turns_until_rest()
        turned.led.pass_time(100)
    assert turned.around.batches == []
    assert len(turned.around.plans) == 2  # one to decide, and one for the reasons


def test_what_was_held_is_tried_when_its_time_has_come() -> None:
    turned = Turned(node("n1"), quota("a", 4, 4), pod("a/p"))
    submitted: list[Act] = []
    submit = turned.around.submit

    def noted(batches: Sequence[Sequence[Act]]) -> None:
        submitted.extend(act for batch in batches for act in batch)
        submit(batches)

    turned.around.submit = noted  # type: ignore[method-assign]
    turned.turns_until_rest()
    turned.led.acts = submitted
    turned.mailbox.put(turned.led.outcome("a/p", "refused"))
    turned.turns_until_rest()
    turned.led.pass_time(600)
    _, nap_s = turned.turns_until_rest()
    assert nap_s == pytest.approx(0.4)
    turned.led.pass_time(400)
    turned.turns_until_rest()
    assert turned.around.batches == [["bind a/p to n1"]] * 2


def test_reasons_of_what_waits_are_worked_out_once_a_second() -> None:
    """A node changes every 100 ms for ten seconds, and a pod waits in vain."""
    turned = Turned(node("n1", 0), quota("a", 4, 4), pod("a/p"))
    for number in range(100):
        turned.led.change(node_key("n1"), taints=[{"key": f"t{number}", "effect": "NoSchedule"}])
        turned.post()
        turned.turns_until_rest()
        turned.led.pass_time(100)
    explained = [plan for plan in turned.around.plans if plan.decisions]
    assert len(explained) == 10


def test_two_failures_of_a_plan_are_survived_and_a_third_in_a_row_ends_the_thread() -> None:
    turned = Turned(node("n1"), quota("a", 4, 4), pod("a/p"))

    def fails() -> None:
        raise ZeroDivisionError

    turned.around.happens = fails
    assert turned.turns_until_rest()[0] == 1
    assert turned.turns_until_rest()[0] == 1
    with pytest.raises(ZeroDivisionError):
        turned.thread.turn()


def test_a_plan_that_ends_after_the_stop_is_not_carried_out() -> None:
    turned = Turned(node("n1"), quota("a", 4, 4), pod("a/p"))
    turned.around.happens = turned.thread.stop
    turned.thread.turn()
    assert turned.around.batches == []
    assert turned.led.places() == {}


def test_the_thread_says_when_it_ends_and_why() -> None:
    for fails in (False, True):
        turned = Turned(node("n1"), quota("a", 4, 4))
        if fails:
            turned.led.engine.take = None  # type: ignore[assignment, method-assign]
        turned.thread.start()
        if not fails:
            turned.thread.stop()
        assert turned.thread.join(10)
        [failure] = turned.around.failures
        assert isinstance(failure, TypeError) == fails
