"""The model of a queue alone on its share."""

from math import inf
from weakref import WeakSet

from fairlead.sim.measures.queue_on_share import JobOnShare, QueueOnShare


class WeakJob(JobOnShare):
    """A job of which can be seen whether it is still kept."""

    __slots__ = ("__weakref__",)


def queue(due: int, *jobs: JobOnShare) -> QueueOnShare:
    """A queue with one resource, to which all *jobs* come at 0."""
    made = QueueOnShare((due,))
    for job in jobs:
        made.add(0, job)
    return made


def test_the_first_job_that_does_not_fit_has_the_rest_and_others_wait() -> None:
    """Of 4: x has 3, y the last one of its 2, so half of its speed, until x is done at 10.

    Then y has done 5 of its 10 and goes on in full until 15. z waits until then for lack of 3.
    """
    x, y, z = JobOnShare((3,), 10), JobOnShare((2,), 10), JobOnShare((4,), 10)
    model = queue(4, x, y, z)
    # z has half of its 4 from 10 to 15, 2.5 of its 10, and all of it then.
    assert [model.ends_ms(0, job) for job in (x, y, z)] == [10, 15, 15 + 7.5]


def test_what_a_job_has_done_counts_when_the_share_falls_and_rises() -> None:
    """Of 4 both have 2 until 6; of 2 only x goes on, until 10; then y needs its last 4."""
    x, y = JobOnShare((2,), 10), JobOnShare((2,), 10)
    model = queue(4, x, y)
    model.set_due(6, (2,))
    assert (model.ends_ms(6, x), model.ends_ms(6, y)) == (10, 14)
    model.set_due(8, (4,))
    assert (model.ends_ms(8, x), model.ends_ms(8, y)) == (10, 12)


def test_a_job_that_is_gone_leaves_its_part_to_the_next() -> None:
    x, y = JobOnShare((2,), 10), JobOnShare((2,), 10)
    model = queue(2, x, y)
    model.remove(4, x)
    assert model.ends_ms(5, y) == 14


def test_behind_a_job_that_runs_for_ever_there_is_no_end() -> None:
    x, y = JobOnShare((2,), inf), JobOnShare((1,), 10)
    model = queue(2, x, y)
    assert model.ends_ms(7, y) == inf
    model.set_due(7, (3,))
    assert model.ends_ms(7, y) == 17


def test_scarcest_resource_sets_the_speed() -> None:
    """Of (8, 1) a job that requests (4, 2) has half of the second."""
    job = JobOnShare((4, 2), 10)
    model = QueueOnShare((8, 1))
    model.add(0, job)
    assert model.ends_ms(0, job) == 20


def test_a_job_that_is_done_is_not_kept_behind_one_that_never_ends() -> None:
    """Of 16, x requests 20 for ever: a job behind it has no end here, but is done in the cluster.

    When x is gone too, the next one does not wait, and has all that it requests.
    """
    x, z = JobOnShare((20,), inf), JobOnShare((2,), 10)
    model = queue(16, x)
    kept = WeakSet[WeakJob]()
    for at_ms in range(100):
        y = WeakJob((1,), 5)
        kept.add(y)
        model.add(at_ms, y)
        assert model.ends_ms(at_ms, y) == inf
        model.remove(at_ms, y)
    del y
    assert not kept
    model.remove(100, x)
    model.add(100, z)
    assert model.ends_ms(105, z) == 110
