"""What a candidate asks next, and when its acts may begin.

The durations are 15, 10 and 2 s, and an act takes 5 s at most, so acts may begin until 10 - 5 = 5 s
after the time before the last renewal.
"""

import pytest

from fairlead.cluster.kubernetes.election.elector import Durations, Elector
from fairlead.cluster.kubernetes.election.lease import Lease, Read, Write
from tests.cluster.kubernetes.election.lease_server import lease
from tests.text_table import rows

DURATIONS = Durations(act_s=5)
ASKED_S = 0.25  # from a request to its answer


def hindrance(me: Elector, now_s: float) -> str:
    return me.standing.hindrance(now_s, DURATIONS)


def read(me: Elector, found: Lease | None, *, at: float) -> None:
    assert me.request == Read()
    me.found(found, at - ASKED_S, at)


def write(me: Elector, answer: Lease | None, *, sent: float) -> Write:
    """Return what was written."""
    wanted = me.request
    assert isinstance(wanted, Write)
    me.written(answer, sent, sent + ASKED_S)
    return wanted


def leader(*, since: float = 0.0) -> Elector:
    """Return a candidate that took a released Lease, and leads in term me/5."""
    me = Elector("me", DURATIONS)
    read(me, lease("", 4, version="7", duration_s=1), at=since)
    assert write(me, lease("me", 5, version="8"), sent=since).transitions == 5
    return me


# Seen at second 0 for the first time, and looked at again in the same version.
FOUND = """
holder  duration  again  asks    acts_from
other   15        14.5   read    -
other   15        15     write   15
other   20        15     read    -
other   20        20     write   20
other   2         14.5   read    -
other   2         15     write   15
nobody  1         1      write   0
nobody  15        1      write   15
me      15        1      write   15
"""


@pytest.mark.parametrize("row", rows(FOUND), ids=lambda row: "-".join(row.values()))
def test_acts_wait_until_the_former_holder_cannot_act_any_more(row: dict[str, str]) -> None:
    """A holder that released (duration 1) does not act.

    One that did not may act for 15 s, or for the longer duration that it wrote. That it is me says
    that an answer was lost.
    """
    holder = "" if row["holder"] == "nobody" else row["holder"]
    found = lease(holder, 4, duration_s=int(row["duration"]))
    me = Elector("me", DURATIONS)
    read(me, found, at=0)
    if isinstance(me.request, Read):
        read(me, found, at=float(row["again"]))
    assert type(me.request).__name__.lower() == row["asks"]
    if row["asks"] == "write":
        wanted = write(me, lease("me", 5, version="8"), sent=float(row["again"]))
        assert (wanted.old, wanted.holder) == (found, "me")
        assert wanted.transitions == (4 if holder == "me" else 5)
        assert me.standing.acts_from_s == float(row["acts_from"])


def test_a_renewal_of_the_holder_begins_the_wait_anew() -> None:
    me = Elector("me", DURATIONS)
    read(me, lease("other", version="7"), at=0)
    read(me, lease("other", version="8"), at=14)
    read(me, lease("other", version="8"), at=28)
    assert me.request == Read()
    read(me, lease("other", version="8"), at=29)  # 14 + 15
    assert isinstance(me.request, Write)


def test_the_times_in_a_lease_are_not_looked_at() -> None:
    long_ago = {"renewTime": "1970-01-01T00:00:00.000000Z", "acquireTime": "also no time"}
    found = lease("other")
    found.body["spec"].update(long_ago)  # type: ignore[union-attr]
    me = Elector("me", DURATIONS)
    read(me, found, at=0)
    read(me, found, at=14)
    assert hindrance(me, 14) == "another replica, other, is the leader"


def test_where_there_is_no_lease_one_is_created_and_acts_wait() -> None:
    """It may have been deleted a moment ago, so its holder may act for 15 s.

    They count from the answer to the creation at 1.25: before it, there may have been yet another
    holder.
    """
    me = Elector("me", DURATIONS)
    read(me, None, at=0)
    assert write(me, lease("me", 0), sent=1) == Write(
        old=None, holder="me", transitions=0, duration_s=15
    )
    assert me.standing.term == "me/0"
    assert "waiting 10 s" in hindrance(me, 6.25)
    me.written(lease("me", 0, version="8"), 14, 14)
    assert hindrance(me, 16.2)
    assert hindrance(me, 16.25) == ""


def test_another_candidate_that_creates_the_lease_first_is_waited_for() -> None:
    me = Elector("me", DURATIONS)
    read(me, None, at=0)
    write(me, None, sent=0)
    assert (me.request, me.due_s) == (Read(), 2)
    read(me, lease("other"), at=2.25)
    assert hindrance(me, 2.25) == "another replica, other, is the leader"


def test_acts_begin_only_if_they_end_before_the_renew_deadline() -> None:
    """Renewed by a request sent at 100: 100 + 10 - 5 = 105."""
    me = leader(since=100)
    assert hindrance(me, 105) == ""
    assert hindrance(me, 105.1) == "the lease was not renewed for 5 s"


def test_a_renewal_counts_from_before_it_was_sent() -> None:
    """Sent at 2, answered at 6.5: acts may begin until 2 + 10 - 5 = 7."""
    me = leader()
    assert me.due_s == 2
    me.written(lease("me", 5, version="9"), 2, 6.5)
    assert hindrance(me, 7) == ""
    assert hindrance(me, 7.1) != ""
    assert me.due_s == 4  # two seconds after the last one was sent, which is at once


def test_a_leader_keeps_its_term_when_it_renews() -> None:
    me = leader()
    assert write(me, lease("me", 5, version="9"), sent=2).transitions == 5
    assert me.standing.term == "me/5"


def test_a_leader_that_cannot_renew_says_why_and_tries_again() -> None:
    me = leader()
    me.failed("the connection was refused", 2, 2.1)
    assert hindrance(me, 5) == ""
    assert hindrance(me, 8) == "the lease was not renewed for 8 s (the connection was refused)"
    assert me.due_s == 4
    me.failed("no answer", 4, 9)  # a request that took longer than the pause
    assert me.due_s == 9


def test_a_leader_goes_on_after_any_time_if_nothing_has_changed_the_lease() -> None:
    """With the version that it wrote in the Lease, no other replica has led in between."""
    me = leader()
    me.failed("no answer", 2, 2)
    assert write(me, lease("me", 5, version="9"), sent=600).old == lease("me", 5, version="8")
    assert hindrance(me, 601) == ""
    assert me.standing.term == "me/5"


def test_a_renewal_that_changed_nothing_is_none() -> None:
    """The wall clock stood still or was set back: others saw no change, so they count on."""
    me = leader()
    write(me, lease("me", 5, version="8"), sent=2)
    assert hindrance(me, 5.1) == "the lease was not renewed for 5 s (the lease did not change)"


def test_a_leader_looks_at_once_at_what_has_changed_the_lease() -> None:
    """A person has labelled it: the version is newer, the holder is the same."""
    me = leader()
    write(me, None, sent=2)
    assert (me.request, me.due_s) == (Read(), 2 + ASKED_S)
    read(me, lease("me", 5, version="9"), at=2.5)
    assert me.due_s == 2.5
    assert write(me, lease("me", 5, version="10"), sent=2.5).old == lease("me", 5, version="9")
    assert hindrance(me, 7.5) == ""


def test_a_server_that_refuses_every_write_is_not_flooded() -> None:
    me = leader()
    write(me, None, sent=2)
    read(me, lease("me", 5, version="9"), at=2.5)
    write(me, None, sent=2.5)
    assert (me.request, me.due_s) == (Read(), 4.5)


LOST = {
    "another replica, other, has taken the lease": lease("other", 6, version="9"),
    "the lease names the term me/7, not me/5": lease("me", 7, version="9"),
    "the holder was removed from the lease": lease("", 5, version="9"),
    "the lease was deleted": None,
}


@pytest.mark.parametrize(("why", "found"), LOST.items(), ids=LOST.keys())
def test_a_leader_that_finds_another_lease_than_its_own_ends(why: str, found: Lease | None) -> None:
    me = leader()
    write(me, None, sent=2)
    read(me, found, at=2.5)
    assert me.is_over
    assert (me.standing.term, hindrance(me, 2.5)) == ("", why)


def test_a_lease_that_was_made_anew_is_another_one_although_it_names_the_same_holder() -> None:
    me = leader()
    write(me, None, sent=2)
    read(me, lease("me", 5, version="9", uid="another"), at=2.5)
    assert (me.is_over, hindrance(me, 2.5)) == (True, "the lease was deleted")


def test_a_candidate_says_what_keeps_it_from_reading_the_lease() -> None:
    me = Elector("me", DURATIONS)
    assert hindrance(me, 0) == "the lease was not read yet"
    me.failed("GET: 403", 0, 0.5)
    assert (hindrance(me, 1), me.request, me.due_s) == ("GET: 403", Read(), 2)


def test_a_leader_that_resigns_writes_a_lease_without_a_holder() -> None:
    me = leader()
    me.resign(3)
    assert hindrance(me, 3) == "Fairlead is stopping"
    released = write(me, lease("", 5, version="9", duration_s=1), sent=3)
    assert released == Write(
        old=lease("me", 5, version="8"), holder="", transitions=5, duration_s=1
    )
    assert me.is_over


def test_a_release_that_finds_a_newer_version_is_made_again() -> None:
    me = leader()
    me.resign(3)
    write(me, None, sent=3)
    read(me, lease("me", 5, version="9"), at=3.5)
    assert write(me, lease("", 5, version="10", duration_s=1), sent=3.5).old == lease(
        "me", 5, version="9"
    )
    assert me.is_over


def test_a_release_of_which_no_answer_comes_is_not_tried_for_ever() -> None:
    me = leader()
    me.resign(3)
    me.failed("no answer", 3, 8)
    assert me.is_over
    assert hindrance(me, 8) == "the lease could not be released (no answer)"


def test_a_lease_under_which_no_act_could_begin_is_left_to_expire() -> None:
    """It was created at 0, and a former holder may act until 15: a release would deny that."""
    me = Elector("me", DURATIONS)
    read(me, None, at=0)
    write(me, lease("me", 0), sent=0)
    me.resign(3)
    assert me.is_over


def test_a_candidate_that_does_not_lead_resigns_without_a_request() -> None:
    me = Elector("me", DURATIONS)
    read(me, lease("other"), at=0)
    me.resign(1)
    assert me.is_over


def test_durations_that_allow_no_act_are_refused() -> None:
    """3 + 7 s is not below the renew deadline of 10 s."""
    with pytest.raises(AssertionError):
        Durations(retry_s=3, act_s=7)
