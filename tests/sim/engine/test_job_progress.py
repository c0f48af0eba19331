"""How far jobs come, and what evictions cost them."""

import pytest

from fairlead.sim.engine.job import Job
from fairlead.sim.engine.job_progress import Delays, JobProgress


def progress(
    *,
    run_ms: int | None = 100,
    pods: int = 1,
    min_pods: int | None = None,
    checkpoint_ms: int | None = None,
    delays: Delays | None = None,
) -> JobProgress:
    least = pods if min_pods is None else min_pods
    job = Job(
        name="j",
        queue="q",
        submit_ms=0,
        run_ms=run_ms,
        pods=pods,
        min_pods=least,
        requests={},
        checkpoint_ms=checkpoint_ms,
    )
    return JobProgress(job, delays or Delays())


def interrupt(job: JobProgress, at_ms: int, pods: int) -> int:
    job.evict(at_ms, pods)
    return job.stop(at_ms, pods)


def test_a_job_is_done_when_it_has_run_for_its_time() -> None:
    job = progress()
    job.start(7, 1)
    assert job.end_ms(7) == 107
    assert job.end_ms(50) == 107


def test_a_job_without_an_end_goes_on_for_ever() -> None:
    job = progress(run_ms=None)
    job.start(0, 1)
    assert job.end_ms(10**9) is None


def test_with_half_of_its_pods_a_job_makes_a_checkpoint_half_as_often() -> None:
    """One is made for each 30 x 4 of work: with two pods every 60, so that 90 have one."""
    job = progress(pods=4, min_pods=1, checkpoint_ms=30)
    job.start(0, 2)
    assert interrupt(job, 90, 2) == 2 * (90 - 60)


@pytest.mark.parametrize(
    ("checkpoint_ms", "lost", "end_ms"),
    [
        (None, 70, 200 + 100),  # nothing was safe: all 100 are to be done again
        (30, 10, 200 + 100 - 60),  # 70 done, of which 2 x 30 are safe
        (0, 0, 200 + 100 - 70),  # all that was done is kept
        (100, 70, 200 + 100),  # the first checkpoint would have come at its end
    ],
)
def test_an_eviction_takes_the_work_since_the_last_checkpoint(
    checkpoint_ms: int | None, lost: int, end_ms: int
) -> None:
    job = progress(checkpoint_ms=checkpoint_ms)
    job.start(0, 1)
    assert interrupt(job, 70, 1) == lost
    job.start(200, 1)
    assert job.end_ms(200) == end_ms
    assert (job.lost, job.held, job.evictions) == (lost, 70, 1)


def test_an_elastic_job_is_slower_with_fewer_pods() -> None:
    job = progress(run_ms=100, pods=4, min_pods=2)  # 400 of work
    job.start(0, 2)
    assert job.end_ms(0) == 200  # 400 / 2
    job.start(100, 2)  # 200 are left, for 4 pods
    assert job.end_ms(100) == 150


def test_an_elastic_job_that_keeps_its_minimum_loses_nothing() -> None:
    job = progress(run_ms=100, pods=4, min_pods=2)
    job.start(0, 4)
    assert interrupt(job, 50, 2) == 0  # 200 are done, 200 are left for 2 pods
    assert job.end_ms(50) == 150


def test_a_gang_does_nothing_until_all_of_it_runs() -> None:
    job = progress(run_ms=100, pods=2)
    job.start(0, 1)
    assert job.end_ms(0) is None
    job.start(40, 1)
    assert job.end_ms(40) == 140
    assert job.held == 40


def test_pods_that_were_told_to_leave_hold_their_places_and_do_no_work() -> None:
    job = progress(checkpoint_ms=0)
    job.start(0, 1)
    job.evict(60, 1)
    assert job.end_ms(60) is None
    assert job.stop(90, 1) == 0
    job.start(100, 1)
    assert job.end_ms(100) == 140  # 60 were done
    assert job.held == 90


@pytest.mark.parametrize(("checkpoint_ms", "safe"), [(None, 0), (40, 160)])
def test_who_comes_before_those_have_stopped_who_leave_begins_with_what_was_safe(
    checkpoint_ms: int | None, safe: int
) -> None:
    """Two of four pods do 2 x 90 = 180 of 400; with a checkpoint after each 4 x 40 = 160."""
    job = progress(run_ms=100, pods=4, min_pods=2, checkpoint_ms=checkpoint_ms)
    job.start(0, 2)
    job.evict(90, 2)
    job.start(95, 2)
    assert job.end_ms(95) == 95 + (400 - safe) // 2
    assert job.stop(105, 2) == job.lost == 180 - safe
    assert job.end_ms(105) == 95 + (400 - safe) // 2  # what was done in between is not lost


def test_starting_takes_time_and_starting_again_takes_more() -> None:
    job = progress(checkpoint_ms=0, delays=Delays(start_up_ms=5, restart_ms=20))
    job.start(0, 1)
    assert job.end_ms(0) == 105
    interrupt(job, 45, 1)  # 40 were done
    job.start(50, 1)
    assert job.end_ms(50) == 50 + 25 + 60


def test_rounding_never_ends_a_job_too_early() -> None:
    job = progress(run_ms=10, pods=3, min_pods=1)  # 30 of work
    job.start(0, 3)
    job.evict(3, 1)  # 9 are done, 21 are left for 2 pods: 10.5
    assert job.end_ms(3) == 14
