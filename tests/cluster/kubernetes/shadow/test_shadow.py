"""What the shadow counts as alike and as different, against an API server in memory."""

import pytest

from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.cluster.kubernetes.engine.mailbox import Mailbox
from fairlead.cluster.kubernetes.shadow.comparison import PATIENCE_MS, Comparison
from fairlead.cluster.kubernetes.shadow.thread import ShadowThread
from tests.cluster.kubernetes.engine.led_engine import (
    LedEngine,
    node,
    node_key,
    pod,
    quota,
)
from tests.model.invariants import check_invariants


class Onlooker:
    """Lets the shadow look whenever it is led to."""

    def hindrance(self) -> str:
        return ""

    def compared(self, engine: Engine, _: float) -> None:
        check_invariants(engine.state)

    def ended(self, failure: BaseException | None) -> None:
        assert failure is None


class LedShadow(LedEngine):
    """A shadow that looks when a test says so."""

    def __init__(self, *objects: dict[str, object]) -> None:
        super().__init__(*objects)
        self.comparison = Comparison()
        self._mailbox = Mailbox()
        self._thread = ShadowThread(
            self.engine, self._mailbox, self.comparison, Onlooker(), lambda: self.server.now_ms
        )

    def look(self) -> dict[str, int]:
        """Let everything be seen, and return what was counted since the beginning."""
        for each in self.late():
            self._mailbox.put(each)
        self._thread._turn()
        return {name: count for name, count in self.comparison.counts.items() if count}

    def differences(self) -> list[str]:
        """Return the differences, a line for each."""
        return [
            f"{each.kind} {each.pod} on {each.node}: "
            f"{each.decision.reason.code if each.decision else '-'}"
            for each in self.comparison.differences
        ]


@pytest.fixture
def shadow() -> LedShadow:
    """Gives a shadow of 4 CPUs, of which 2 each are guaranteed to a and b."""
    return LedShadow(node("n", 4), quota("a", 2, 4), quota("b", 2, 4))


def test_what_ran_before_the_shadow_is_not_compared(shadow: LedShadow) -> None:
    shadow.create(pod("a/before"))
    shadow.bind("a/before", "n")
    assert shadow.look() == {}


def test_a_start_that_the_plan_would_make_is_alike_although_it_came_first(
    shadow: LedShadow,
) -> None:
    """The pod is bound before the shadow has seen it wait: the start is undone for the plan."""
    shadow.look()
    shadow.create(pod("a/quick"))
    shadow.bind("a/quick", "n")
    assert shadow.look() == {"started by both": 1, "on the same node": 1}


def test_a_start_that_came_later_is_alike_with_its_lag(shadow: LedShadow) -> None:
    shadow.look()
    shadow.create(pod("a/slow"))
    shadow.look()
    shadow.pass_time(3000)
    shadow.bind("a/slow", "n")
    assert shadow.look() == {"started by both": 1, "on the same node": 1}
    assert shadow.comparison.longest_lag_ms == 3000


def test_a_start_beyond_a_max_is_a_difference_with_the_reason(shadow: LedShadow) -> None:
    shadow.look()
    for number in range(5):
        shadow.create(pod(f"a/{number}"))
        shadow.bind(f"a/{number}", "n")
    assert shadow.look() == {"started by both": 4, "on the same node": 4, "started": 1}
    assert shadow.differences() == ["started 4 on n: OverMax"]


def test_a_start_that_does_not_come_is_a_difference_once_patience_ends(
    shadow: LedShadow,
) -> None:
    shadow.create(pod("a/forgotten"))
    assert shadow.look() == {}
    shadow.pass_time(PATIENCE_MS - 1)
    assert shadow.look() == {}
    shadow.pass_time(1)
    assert shadow.look() == {"not-started": 1}
    shadow.pass_time(PATIENCE_MS)
    assert shadow.look() == {"not-started": 1}, "counted once"
    assert shadow.differences() == ["not-started forgotten on n: WithinMin"]


def test_an_eviction_that_both_want_is_alike(shadow: LedShadow) -> None:
    """A borrows 2 and b wants 1 back; the running scheduler tells the same pod to leave."""
    for number in range(4):
        shadow.create(pod(f"a/{number}"))
        shadow.bind(f"a/{number}", "n")
    shadow.look()
    shadow.create(pod("b/owner"))
    shadow.look()
    ((verb, (workload, _)),) = shadow.comparison.open_wishes()
    assert verb == "evict"
    shadow.delete(workload)
    assert shadow.look() == {"evicted by both": 1}


def test_an_eviction_that_does_not_come_is_a_difference(shadow: LedShadow) -> None:
    for number in range(4):
        shadow.create(pod(f"a/{number}"))
        shadow.bind(f"a/{number}", "n")
    shadow.look()
    shadow.create(pod("b/owner"))
    shadow.look()
    shadow.pass_time(PATIENCE_MS)
    assert shadow.look() == {"not-evicted": 1}
    (line,) = shadow.differences()
    assert line.endswith(": MinTakenBack")


def test_pods_of_other_schedulers_are_no_difference(shadow: LedShadow) -> None:
    shadow.look()
    shadow.create(pod("a/foreign", scheduler="other"))
    shadow.bind("a/foreign", "n")
    assert shadow.look() == {}


def test_what_the_plan_leaves_to_the_next_one_is_alike_too(shadow: LedShadow) -> None:
    """A plan that starts both of b lets those of a wait, and the next one starts two of a."""
    shadow.look()
    for name in ("a/0", "a/1", "a/2", "a/3", "b/0", "b/1"):
        shadow.create(pod(name))
    for name in ("a/0", "a/1", "b/0", "b/1"):
        shadow.bind(name, "n")
    assert shadow.look() == {"started by both": 4, "on the same node": 4}


def test_a_look_leaves_the_state_as_it_was(shadow: LedShadow) -> None:
    shadow.create(pod("a/one"), pod("a/two", 8))
    shadow.look()
    before = shadow.places()
    shadow.bind("a/one", "n")
    shadow.look()
    assert shadow.places() == before | {"a/one": "n running"}
    shadow.remove(node_key("n"))
    shadow.look()
    assert shadow.places() == {"a/one": "n running"}
