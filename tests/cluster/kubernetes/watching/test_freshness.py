"""From when on what is known is of now, as tables of times in seconds."""

import pytest

from fairlead.cluster.kubernetes.watching.freshness import Freshness

POD = ("", "Pod")
NODE = ("", "Node")


class Clocked:
    """A freshness of pods and nodes, and a clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.freshness = Freshness(lambda: self.now_s)
        for kind in (POD, NODE):
            self.freshness.expect(kind)
        self.freshness.require(frozenset())

    def at(self, now_s: float, *happened: str) -> "Clocked":
        """Let something happen at a time, such as ``listed Pod``.

        Followed: listed, and the watch runs at once.
        """
        self.now_s = now_s
        for each in happened:
            verb, _, kind = each.partition(" ")
            verbs = ("listed", "resumed") if verb == "followed" else (verb,)
            for one in verbs:
                getattr(self.freshness, one)(("", kind))
        return self


def test_nothing_is_current_before_every_kind_was_listed() -> None:
    clocked = Clocked()
    assert clocked.freshness.not_current() == ["Node", "Pod"]
    clocked.at(1, "followed Pod")
    assert (clocked.freshness.is_current(), clocked.freshness.are_all_listed()) == (False, False)
    clocked.at(2, "followed Node")
    assert (clocked.freshness.is_current(), clocked.freshness.are_all_listed()) == (True, True)
    assert clocked.freshness.not_current() == []


@pytest.mark.parametrize(
    ("interrupted_s", "resumed_s", "current_s"),
    [
        # As long as the interruption took, one second at most.
        (10.0, 10.2, 10.4),
        (10.0, 11.0, 12.0),
        (10.0, 70.0, 71.0),
    ],
)
def test_an_interruption_is_over_when_what_was_missed_has_come(
    interrupted_s: float, resumed_s: float, current_s: float
) -> None:
    clocked = Clocked().at(1, "followed Pod", "followed Node")
    clocked.at(interrupted_s, "interrupted Pod")
    assert not clocked.freshness.is_current()
    clocked.at(resumed_s, "resumed Pod")
    assert not clocked.freshness.is_current()
    clocked.at(current_s - 0.01)
    assert not clocked.freshness.is_current()
    clocked.at(current_s + 0.01)
    assert clocked.freshness.is_current()


def test_an_interruption_that_is_reported_twice_began_with_the_first_report() -> None:
    clocked = Clocked().at(1, "followed Pod", "followed Node")
    clocked.at(10, "interrupted Pod").at(10.4, "interrupted Pod").at(10.5, "resumed Pod")
    assert not clocked.at(10.9).freshness.is_current()
    assert clocked.at(11.1).freshness.is_current()


def test_a_new_list_is_current_once_it_is_watched_however_long_nothing_was_known() -> None:
    clocked = Clocked().at(1, "followed Pod", "followed Node").at(10, "interrupted Pod")
    assert not clocked.at(99, "listed Pod").freshness.is_current()
    assert not clocked.at(99.2, "resumed Pod").freshness.is_current()
    assert clocked.at(99.5).freshness.is_current()


def test_a_list_that_no_watch_follows_is_not_current() -> None:
    clocked = Clocked().at(1, "followed Node", "listed Pod")
    assert not clocked.at(60).freshness.is_current()
    assert clocked.freshness.are_all_listed()


def test_a_watch_that_runs_before_the_first_list_shows_nothing() -> None:
    assert not Clocked().at(1, "followed Node", "resumed Pod").at(99).freshness.is_current()


def test_one_kind_that_is_interrupted_is_enough() -> None:
    clocked = Clocked().at(1, "followed Pod", "followed Node").at(5, "interrupted Node")
    assert clocked.freshness.not_current() == ["Node"]
    assert clocked.freshness.are_all_listed()


def test_a_kind_that_is_not_served_any_more_is_not_awaited() -> None:
    clocked = Clocked().at(1, "followed Pod")
    assert clocked.at(2, "forget Node").freshness.is_current()


def test_a_kind_that_comes_later_is_awaited() -> None:
    clocked = Clocked().at(1, "followed Pod", "followed Node").at(2, "expect Namespace")
    assert not clocked.freshness.is_current()
    assert clocked.at(3, "followed Namespace").freshness.is_current()


def test_what_is_required_and_not_served_is_awaited_whatever_else_is_current() -> None:
    clocked = Clocked().at(1, "followed Pod", "followed Node")
    assert clocked.freshness.require(frozenset({"ElasticQuota"}))
    assert not clocked.freshness.require(frozenset({"ElasticQuota"}))
    assert not clocked.freshness.is_current()
    assert clocked.freshness.not_current() == ["ElasticQuota (not served)"]
    assert clocked.freshness.require(frozenset())
    assert clocked.freshness.is_current()


def test_nothing_is_current_before_it_is_known_what_is_served() -> None:
    freshness = Freshness(lambda: 0.0)
    assert not freshness.is_current()
    assert freshness.not_current() == ["the list of kinds that are served"]
