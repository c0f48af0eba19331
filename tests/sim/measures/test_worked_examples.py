"""The examples of docs/reference/measures.md, with the arithmetic that stands there."""

import pytest

from fairlead.sim.measures.summary import Ratios, Summary, ToFairness, Unstarted, Waits
from tests.sim.measures.histories import measure, written

GPU = ("gpu",)
QUEUES: dict[str, str | None] = {"team": None, "a": "team", "b": "team"}


def summary_of(jobs: str, story: str, end_ms: int) -> Summary:
    summary, _ = measure(written(jobs, story), end_ms, resources=GPU, parents=QUEUES)
    return summary


WAITS_JOBS = """
    job  queue  user  kind   submit  run    gpu
    x    a      ann   train  0       20000  4
    y    b      bob   train  0       5000   4
    z    b      bob   serve  5000    5000   4
"""
WAITS_STORY = """
    at     what      to  pods  more
    0      capacity  -   4     -
    0      submit    x   -     -
    0      submit    y   -     -
    0      start     x   1     -
    5000   submit    z   -     -
    20000  finish    x   1     -
    20000  start     y   1     -
    25000  finish    y   1     -
"""


@pytest.fixture(name="three_jobs")
def _three_jobs() -> Summary:
    """Job x runs at once, y waits for it, and z has not started when time is up."""
    return summary_of(WAITS_JOBS, WAITS_STORY, 30_000)


def test_waits_are_those_of_jobs_that_started(three_jobs: Summary) -> None:
    assert three_jobs.of_cluster.wait == Waits(
        jobs=2,  # x: 0 - 0 = 0; y: 20,000 - 0 = 20,000
        total_ms=20_000,
        mean_ms=10_000.0,  # 20,000 / 2
        p50_ms=0,  # 50 % of 2 is rank 1
        p90_ms=20_000,  # 90 % of 2 is 1.8, so rank 2
        p99_ms=20_000,
        max_ms=20_000,
    )
    assert three_jobs.of_cluster.unstarted == Unstarted(
        jobs=1,
        total_age_ms=25_000,  # z: 30,000 - 5,000
        oldest_ms=25_000,
    )
    assert three_jobs.of_queues["a"].unstarted.oldest_ms is None
    assert three_jobs.of_cluster.wait_at_least == Waits(
        jobs=3,
        total_ms=45_000,  # 0, 20,000 and, of z, at least 25,000
        mean_ms=15_000,
        p50_ms=20_000,
        p90_ms=25_000,
        p99_ms=25_000,
        max_ms=25_000,
    )
    assert three_jobs.of_queues["a"].wait_at_least == three_jobs.of_queues["a"].wait


def test_a_wait_is_compared_with_ten_seconds_at_least(three_jobs: Summary) -> None:
    assert three_jobs.of_cluster.slowdown == Ratios(
        jobs=2,  # x: 20,000 / 20,000 = 1; y: 25,000 / max(5,000, 10,000) = 2.5
        mean=1.75,
        p90=2.5,
        max=2.5,
    )


def test_the_makespan_is_known_where_all_work_is_done(three_jobs: Summary) -> None:
    assert three_jobs.of_queues["a"].makespan_ms == 20_000
    assert three_jobs.of_users["ann"].makespan_ms == 20_000
    assert three_jobs.of_queues["b"].makespan_ms is None  # z is not done
    assert three_jobs.of_kinds["train"].makespan_ms == 25_000
    assert three_jobs.of_cluster.makespan_ms is None


def test_the_makespan_lasts_until_the_last_job_of_a_group_is_done() -> None:
    """Both x and y are of one queue, user and kind: from 3 until 30."""
    jobs = """
        job  queue  submit  run  gpu
        x    a      3       5    1
        y    a      4       5    1
    """
    story = """
        at  what    to  pods  more
        3   submit  x   -     -
        4   submit  y   -     -
        5   start   y   1     -
        10  finish  y   1     -
        20  start   x   1     -
        30  finish  x   1     -
    """
    assert summary_of(jobs, story, 40).of_queues["a"].makespan_ms == 27


def test_utilisation_is_the_part_of_the_cluster_that_was_held(three_jobs: Summary) -> None:
    cluster = three_jobs.of_cluster
    assert cluster.capacity == {"gpu": 120_000}  # 4 x 30,000
    assert three_jobs.of_queues["a"].allocated == {"gpu": 80_000}  # 4 x 20,000
    assert three_jobs.of_queues["b"].allocated == {"gpu": 20_000}  # 4 x 5,000
    assert cluster.allocated == three_jobs.of_queues["team"].allocated == {"gpu": 100_000}
    assert cluster.utilisation == {"gpu": 100 / 120}
    assert three_jobs.of_kinds["serve"].utilisation == {"gpu": 0.0}


def test_a_preemption_is_one_for_each_time_and_cause_with_the_work_that_it_cost() -> None:
    jobs = """
        job  queue  submit  run    pods  gpu
        e    a      0       10000  3     2
    """
    story = """
        at     what      to  pods  more
        0      capacity  -   8     -
        0      submit    e   -     -
        0      start     e   3     -
        5000   told      e   2     -
        6000   stop      e   2     8000
        7000   start     e   2     -
        9000   told      e   1     -
        13000  finish    e   3     -
    """
    measured = summary_of(jobs, story, 13_000).of_cluster
    assert measured.preemptions == {"evicted": 1, "moved": 0, "node-lost": 0}
    assert measured.preempted_pods == {"evicted": 2, "moved": 0, "node-lost": 0}
    assert measured.lost == {"gpu": 16_000}  # 8,000 ms of pods x 2
    # 3 pods for 13,000 ms but 2 of them not for 1,000: 37,000 ms of pods x 2
    assert measured.allocated == {"gpu": 74_000}
    assert measured.utilisation == {"gpu": 74 / 104}  # of 8 x 13,000
    assert measured.goodput == {"gpu": 58 / 104}  # without the 16,000
    assert measured.slowdown.mean == 1.3  # 13,000 / 10,000


FAIR_JOBS = """
    job  queue  submit  run  pods  gpu
    x    a      0       -    10    1
    y    b      0       -    10    1
"""
# All the time both are due 5 of 10, and both ask for 10.
STORY = """
    at  what      to  pods  more
    0   capacity  -   10    -
    0   submit    x   -     -
    0   submit    y   -     -
    0   start     x   8     -
    0   start     y   2     -
    0   due       a   -     5/10
    0   due       b   -     5/10
    {}
    {}
"""
EVEN_FROM_20 = STORY.format("20 stop x 3 0\n 20 start y 3 -", "40 told x 1 -")
TURN_AT_20 = STORY.format("20 stop x 6 0\n 20 start y 6 -", "40 stop y 3 0\n 40 start x 3 -")


def test_who_had_less_is_behind_and_shares_are_uneven() -> None:
    """Queue a has 8 until 20 and then 5; b has 2 and then 5. The end is at 60."""
    summary = summary_of(FAIR_JOBS, EVEN_FROM_20, 60)
    a, b = (summary.of_queues[name].backlogged["gpu"] for name in "ab")
    assert (a.span_ms, a.received, a.entitled) == (60, 8 * 20 + 5 * 40, 5 * 60)  # 360 of 300
    assert (b.span_ms, b.received, b.entitled) == (60, 2 * 20 + 5 * 40, 5 * 60)  # 240 of 300
    assert (a.received_to_entitled, b.received_to_entitled) == (1.2, 0.8)
    assert (a.share, b.share, b.entitled_share) == (0.6, 0.4, 0.5)  # of 10 x 60 = 600
    assert (a.worst_deficit, b.worst_deficit) == (0, 60)  # b: (5 - 2) x 20
    assert summary.of_cluster.worst_deficit == {"gpu": 60}
    # (1.2 + 0.8)^2 / (2 x (1.44 + 0.64)) = 4 / 4.16
    assert summary.of_cluster.jain["gpu"] == pytest.approx(4 / 4.16)
    assert summary.of_queues["team"].jain["gpu"] == pytest.approx(4 / 4.16)
    assert summary.of_queues["a"].jain == {"gpu": None}


def test_fairness_that_comes_too_late_is_none() -> None:
    """Queue b is 60 behind from 20 on: at 60 that is 60 / 600 = 10 points, and time is up."""
    summary = summary_of(FAIR_JOBS, EVEN_FROM_20, 60)
    never = ToFairness(contentions=1, never_fair=1, longest_ms=None)
    assert summary.of_queues["b"].backlogged["gpu"].to_fairness == never
    assert summary.of_cluster.contended["gpu"].to_fairness == never
    assert summary.of_cluster.contended["gpu"].span_ms == 60


def test_the_time_to_fairness_is_until_the_share_comes_near_and_stays() -> None:
    """They change places at 20 and have 5 each from 40 on.

    b is behind by 3 every ms until 20, by 60, and makes up for 3 every ms then. Five points of 10
    GPUs are 0.5 every ms: 60 - 3 x (t - 20) <= 0.5 x t from t = 120 / 3.5 = 34.3 on, so at 35.
    """
    summary = summary_of(FAIR_JOBS, TURN_AT_20, 60)
    reached = ToFairness(contentions=1, never_fair=0, longest_ms=35)
    b = summary.of_queues["b"].backlogged["gpu"]
    assert b.to_fairness == reached
    assert b.worst_deficit == 60
    assert b.received_to_entitled == 1.0
    assert summary.of_cluster.contended["gpu"].to_fairness == reached
    # Their parent had all of its 10 all the time.
    team = summary.of_queues["team"].backlogged["gpu"]
    assert team.to_fairness == ToFairness(contentions=1, never_fair=0, longest_ms=0)


def test_a_share_may_be_off_by_five_points_and_no_more() -> None:
    """Queue b lacks 1 of 20 until 10: 10 / 200 is five points exactly. With 2 it is ten."""
    jobs = """
        job  queue  submit  run  pods  gpu
        y    b      0       -    20    1
    """
    story = """
        at  what      to  pods  more
        0   capacity  -   20    -
        0   submit    y   -     -
        0   start     y   {}    -
        0   due       b   -     10/21
    """
    for pods, longest_ms in ((9, 0), (8, None)):
        summary = summary_of(jobs, story.format(pods), 10)
        assert summary.of_queues["b"].backlogged["gpu"].to_fairness.longest_ms == longest_ms


def test_the_deficit_is_at_its_worst_just_before_somebody_gets_more() -> None:
    """Queue b has 0 of 5 until 6, then 10 of 5: 30 behind at 6, and 30 - 5 x 4 = 10 at 10."""
    story = """
        at  what      to  pods  more
        0   capacity  -   10    -
        0   submit    y   -     -
        0   due       b   -     5/20
        6   start     y   10    -
    """
    summary = summary_of(FAIR_JOBS, story, 10)
    backlogged = summary.of_queues["b"].backlogged["gpu"]
    assert backlogged.worst_deficit == 30
    assert backlogged.entitled - backlogged.received == 10


def test_a_queue_is_backlogged_from_the_moment_in_which_it_asks_for_more_than_it_has() -> None:
    """Queue b is due 5 all the time: it has 4 of 4 at first, of 9 from 3, and all 9 from 7 on."""
    story = """
        at  what      to  pods  more
        0   capacity  -   10    -
        0   submit    y   -     -
        0   start     y   4     -
        0   due       b   -     5/4
        3   due       b   -     5/9
        7   start     y   5     -
    """
    backlogged = summary_of(FAIR_JOBS, story, 10).of_queues["b"].backlogged["gpu"]
    assert (backlogged.span_ms, backlogged.received, backlogged.entitled) == (4, 4 * 4, 5 * 4)


@pytest.mark.parametrize(
    ("start_ms", "others", "backlogged"),
    [
        (10, 0, (0, 0, 0, None)),  # the next cycle starts it
        (30, 0, (17, 0, 4 * 17, 4 * 17)),  # from 13 on: it waits for something else than a cycle
        (10, 10, (7, 0, 4 * 7, 4 * 7)),  # 14 requested of 10: from 3 on
    ],
)
def test_to_wait_for_the_next_cycle_without_contention_is_not_unfair(
    start_ms: int, others: int, backlogged: tuple[int, int, int, int | None]
) -> None:
    """10 GPUs, a cycle every 10; queue a requests 4 from 3 on, and b *others* from 0 on."""
    jobs = """
        job  queue  submit  run  pods  gpu
        x    a      3       -    4     1
    """
    story = f"""
        at          what      to  pods  more
        0           capacity  -   10    -
        0           due       b   -     {others}/{others}
        3           submit    x   -     -
        3           due       a   -     4/4
        {start_ms}  start     x   4     -
    """
    told = written(jobs, story)
    summary, _ = measure(told, 40, resources=GPU, parents=QUEUES, period_ms=10)
    a = summary.of_queues["a"].backlogged["gpu"]
    assert (a.span_ms, a.received, a.entitled, a.worst_deficit) == backlogged


def test_latency_after_contention_is_that_of_a_new_wait() -> None:
    """Of 4 GPUs both queues request 4 until 20; then b requests none, and a waits for a cycle."""
    jobs = """
        job  queue  submit  run  pods  gpu
        x    a      0       -    4     1
    """
    story = """
        at  what      to  pods  more
        0   capacity  -   4     -
        0   due       b   -     2/4
        0   submit    x   -     -
        0   due       a   -     2/4
        20  due       b   -     0/0
        20  due       a   -     4/4
        25  start     x   4     -
    """
    summary, _ = measure(written(jobs, story), 40, resources=GPU, parents=QUEUES, period_ms=10)
    a = summary.of_queues["a"].backlogged["gpu"]
    assert (a.span_ms, a.entitled, a.worst_deficit) == (20, 2 * 20, 2 * 20)


def test_contention_that_comes_again_is_judged_anew() -> None:
    """Queue b lacks 5 of 10 until 10 and has what is due from 20 on; until 20 there is enough.

    At 10 it is 50 behind, of 100: never fair. From 20 to 30 it has its 5 of 5: fair always.
    """
    story = """
        at  what      to  pods  more
        0   capacity  -   10    -
        0   submit    y   -     -
        0   due       b   -     5/20
        10  due       b   -     0/10
        20  due       b   -     5/20
        20  start     y   5     -
    """
    summary = summary_of(FAIR_JOBS, story, 30)
    twice = ToFairness(contentions=2, never_fair=1, longest_ms=0)
    assert summary.of_queues["b"].backlogged["gpu"].to_fairness == twice
    assert summary.of_cluster.contended["gpu"].to_fairness == twice
    assert summary.of_cluster.contended["gpu"].span_ms == 20
    # Nothing is due to a, and it asks for nothing: it was treated fairly both times.
    a = ToFairness(contentions=2, never_fair=0, longest_ms=0)
    assert summary.of_queues["a"].backlogged["gpu"].to_fairness == a


SHARE_JOBS = """
    job  queue  submit  run    gpu
    x    a      0       10000  4
    y    a      0       10000  1
    z    b      0       10000  4
"""


@pytest.mark.parametrize(
    ("x_starts", "ratios"),
    [
        # On 2 GPUs x takes 20,000 for 4 x 10,000, then y takes 10,000.
        (20_000, (30 / 20, 30 / 30)),
        # It is done early: 10 / 20. Then it is gone, and y is served from 10,000 on, until 20,000.
        (0, (10 / 20, 30 / 20)),
    ],
)
def test_a_job_is_compared_with_its_time_alone_on_the_share_with_the_jobs_of_its_queue(
    x_starts: int, ratios: tuple[float, float]
) -> None:
    story = f"""
        at                  what    to  pods  more
        0                   submit  x   -     -
        0                   submit  y   -     -
        0                   submit  z   -     -
        0                   due     a   -     2/5
        0                   due     b   -     0/4
        {x_starts}          start   x   1     -
        {x_starts + 10000}  finish  x   1     -
        30000               start   y   1     -
        30000               finish  y   1     -
        40000               start   z   1     -
        50000               finish  z   1     -
    """
    summary = summary_of(SHARE_JOBS, story, 50_000)
    measured = summary.of_queues["a"].finish_time_fairness
    assert (measured.jobs, measured.mean, measured.max) == (2, sum(ratios) / 2, max(ratios))
    # Nothing is due to b, so there is nothing to compare z with.
    assert summary.of_queues["b"].finish_time_fairness.mean is None
    assert summary.of_cluster.finish_time_fairness == measured


def test_to_wait_for_a_job_of_the_own_queue_is_fair() -> None:
    """Two jobs for all 4 GPUs of their queue: one after the other is what the share allows."""
    jobs = """
        job  queue  submit  run    gpu
        x    a      0       10000  4
        y    a      0       10000  4
    """
    story = """
        at     what    to  pods  more
        0      submit  x   -     -
        0      submit  y   -     -
        0      due     a   -     4/8
        0      start   x   1     -
        10000  finish  x   1     -
        10000  start   y   1     -
        20000  finish  y   1     -
    """
    assert summary_of(jobs, story, 20_000).of_cluster.finish_time_fairness == Ratios(
        jobs=2, mean=1.0, p90=1.0, max=1.0
    )


@pytest.mark.parametrize(
    ("told_ms", "gpus", "ratio"),
    [
        (0, 4, 3.0),  # 8 due when it came, so as if alone: 30 / 10
        (1, 4, None),  # what is told later is not what was due when it came
        (0, 0, 3.0),  # whoever asks for nothing has it
        (1, 0, None),
    ],
)
def test_what_is_due_to_a_job_is_what_was_due_when_it_came(
    told_ms: int, gpus: int, ratio: float | None
) -> None:
    jobs = f"job queue submit run gpu\n x a 0 10 {gpus}"
    story = f"""
        at         what    to  pods  more
        0          submit  x   -     -
        {told_ms}  due     a   -     8/8
        20         start   x   1     -
        25         due     a   -     1/8
        30         finish  x   1     -
    """
    measured = summary_of(jobs, story, 30).of_cluster
    assert measured.finish_time_fairness.mean == ratio


def test_buckets_average_what_there_was() -> None:
    """3 from 4 to 14: 3 x 6 = 18 in the first 10 ms and 3 x 4 = 12 in the second."""
    story = """
        at  what    to  pods  more
        0   submit  x   -     -
        4   start   x   3     -
        14  stop    x   3     0
    """
    told = written(FAIR_JOBS, story)
    _, series = measure(told, 20, resources=GPU, parents=QUEUES, most_buckets=2)
    queue = series.of_queue("a")
    assert series.lengths_ms() == [10, 10]
    assert queue.allocated["gpu"] == (18, 12)
    assert queue.evictions == (0, 1)
    assert series.of_queue("team") == queue


def test_where_nothing_happens_nothing_is_defined() -> None:
    summary, series = measure([], 0, resources=GPU, parents=QUEUES)
    nothing = Ratios(jobs=0, mean=None, p90=None, max=None)
    cluster = summary.of_cluster
    assert (cluster.wait.mean_ms, cluster.wait.p50_ms, cluster.wait.max_ms) == (None, None, None)
    assert (cluster.slowdown, cluster.finish_time_fairness) == (nothing, nothing)
    assert (cluster.makespan_ms, cluster.utilisation, cluster.jain) == (
        None,
        {"gpu": None},
        {"gpu": None},
    )
    assert cluster.worst_deficit == {"gpu": None}
    assert cluster.contended["gpu"].to_fairness.contentions == 0
    backlogged = summary.of_queues["a"].backlogged["gpu"]
    assert (backlogged.share, backlogged.worst_deficit) == (None, None)
    assert (summary.of_users, summary.of_kinds) == ({}, {})
    assert series.lengths_ms() == [0]
    assert series.of_queue("a").allocated["gpu"] == (0,)
