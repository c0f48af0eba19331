from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.sim.engine.job import Job
from fairlead.sim.traces.csv_rows import ColumnMap, TimeColumn
from fairlead.sim.traces.jobs_of_trace import jobs_of_trace
from fairlead.sim.traces.read_rows import TraceTally
from fairlead.sim.traces.trace_job import CPU, GPU, TraceError
from fairlead.sim.traces.trace_rules import MissingAmounts, QueueRule, TraceRules
from tests.scale_examples import scale_examples
from tests.sim.traces.trace_files import jobs_of, own_csv, written

DAY = """
    a, 100, 60, ann, g1, , 16, , , 1, 0, ,
    b, 110, 60, bob, g2, ,  1, , , 1, 2, , 120
    c, 110, 30, ann, g1, ,  1, , , 1,  , ,
    d, 130,  0, ann, g1, ,  1, , , 1,  , ,
    e, 140,  7, cid, g3, ,  1, , , 1, 1, ,
"""


def names(jobs: list[Job]) -> str:
    return " ".join(job.name for job in jobs)


def test_the_rules_make_jobs_of_rows(tmp_path: Path) -> None:
    rules = TraceRules(
        queues=QueueRule(others="{group}/{user}"),
        missing=MissingAmounts(per_gpu={CPU: 4000}),
        pod_at_most={GPU: 8000},
        priorities={2: 100},
        default_priority=50,
        preemptible=False,
        checkpoint_ms=5000,
        job_kind="day",
        name_prefix="x-",
        submit_scale=Fraction(1, 2),
        run_scale=Fraction(3),
        first_jobs=3,
    )
    assert jobs_of(own_csv(tmp_path, DAY), rules) == [
        Job(
            name="x-a", queue="g1/ann", user="ann", kind="day", submit_ms=0, run_ms=180_000,
            pods=2, min_pods=2, requests={GPU: 8000, CPU: 32_000}, priority=0,
            preemptible=False, checkpoint_ms=5000,
        ),
        Job(
            name="x-b", queue="g2/bob", user="bob", kind="day", submit_ms=5000, run_ms=180_000,
            requests={GPU: 1000, CPU: 4000}, priority=100, preemptible=False,
            checkpoint_ms=5000, asked_ms=360_000,
        ),
        Job(
            name="x-c", queue="g1/ann", user="ann", kind="day", submit_ms=5000, run_ms=90_000,
            requests={GPU: 1000, CPU: 4000}, priority=50, preemptible=False, checkpoint_ms=5000,
        ),
    ]  # fmt: skip


def test_without_rules_a_trace_is_as_it_was_and_begins_at_zero(tmp_path: Path) -> None:
    jobs = jobs_of(own_csv(tmp_path, DAY))
    assert [(job.name, job.submit_ms, job.run_ms, job.queue) for job in jobs] == [
        ("a", 0, 60_000, "default"),
        ("b", 10_000, 60_000, "default"),
        ("c", 10_000, 30_000, "default"),
        ("e", 40_000, 7_000, "default"),
    ]
    assert [job.priority for job in jobs] == [0, 2, 0, 1]


@pytest.mark.parametrize(
    ("rules", "kept", "dropped"),
    [
        # the first job came at 100 s, so 10 s later is 110 s
        (TraceRules(from_ms=10_000), "b c e", {"came before the cut": 1}),
        (TraceRules(until_ms=10_000), "a", {"came after the cut": 4}),
        (TraceRules(from_ms=5000, until_ms=40_000), "b c", "before 1, after 1"),
        (TraceRules(first_jobs=2), "a b", {"came after as many jobs as were wanted": 3}),
        (TraceRules(first_jobs=4), "a b c e", {}),
        # the clock showed 0 at 1,000,000 s of 1970
        (TraceRules(zero_unix_ms=10**9, from_unix_ms=10**9 + 140_000), "e", None),
        (TraceRules(zero_unix_ms=10**9, until_unix_ms=10**9 + 110_000), "a", None),
        # of two cuts the narrower one counts: from 140 s on, and before 120 s
        (TraceRules(zero_unix_ms=0, from_ms=10_000, from_unix_ms=140_000), "e", None),
        (TraceRules(zero_unix_ms=0, from_ms=40_000, from_unix_ms=110_000), "e", None),
        (TraceRules(zero_unix_ms=0, until_ms=20_000, until_unix_ms=141_000), "a b c", None),
        (TraceRules(zero_unix_ms=0, until_ms=41_000, until_unix_ms=120_000), "a b c", None),
        (TraceRules(queues=QueueRule(by="group", named={"g1": "q"}, others=None)), "a c", None),
    ],
    ids=str,
)
def test_a_trace_is_cut(tmp_path: Path, rules: TraceRules, kept: str, dropped: object) -> None:
    tally = TraceTally()
    assert names(jobs_of(own_csv(tmp_path, DAY), rules, tally)) == kept
    assert tally.rows == 5 == tally.given + tally.dropped.total()
    told = {why: count for why, count in tally.dropped.items() if why != "have no run time"}
    if isinstance(dropped, dict):
        assert told == dropped
    elif dropped is not None:
        assert told == {"came before the cut": 1, "came after the cut": 1}


def test_a_trace_may_keep_its_own_clock(tmp_path: Path) -> None:
    """Scaled by 1/2 from its first job on: 100 s stays, 110 s is 5 s behind it."""
    rules = TraceRules(start_at_zero=False, submit_scale=Fraction(1, 2))
    jobs = jobs_of(own_csv(tmp_path, DAY), rules)
    assert [job.submit_ms for job in jobs] == [100_000, 105_000, 105_000, 120_000]


@pytest.mark.parametrize("start_at_zero", [True, False])
def test_a_trace_comes_later_as_a_whole(tmp_path: Path, start_at_zero: bool) -> None:
    file, rules = own_csv(tmp_path, DAY), TraceRules(start_at_zero=start_at_zero)
    later = list(jobs_of_trace(file, rules, later_ms=5))
    assert later == [replace(job, submit_ms=job.submit_ms + 5) for job in jobs_of(file, rules)]


def test_pods_that_need_not_start_together_make_an_elastic_job(tmp_path: Path) -> None:
    rules = TraceRules(gang=False, pod_at_most={GPU: 8000}, first_jobs=1)
    [job] = jobs_of(own_csv(tmp_path, DAY), rules)
    assert (job.pods, job.min_pods) == (2, 1)


def test_a_run_never_becomes_shorter_than_a_millisecond(tmp_path: Path) -> None:
    jobs = jobs_of(own_csv(tmp_path, DAY), TraceRules(run_scale=Fraction(1, 10**9)))
    assert {job.run_ms for job in jobs} == {1}


def test_jobs_of_one_id_have_names_of_their_own(tmp_path: Path) -> None:
    """Only the very same row again is the same job; the array of two tasks is two jobs."""
    text = """
        a, 0, 10, ann, , , 1, , , 1, , ,
        a, 0, 20, ann, , , 1, , , 1, , ,
        a, 0, 10, ann, , , 1, , , 1, , ,
        b, 5, 10, ann, , , 1, , , 1, , ,
        a, 9, 10, ann, , , 1, , , 1, , ,
    """
    tally = TraceTally()
    assert names(jobs_of(own_csv(tmp_path, text), tally=tally)) == "a a#2 b a#3"
    assert tally.dropped == {"are listed twice": 1}


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        (TraceRules(pod_at_most={GPU: 0}), "found at most 0 nvidia.com/gpu per pod"),
        (TraceRules(queues=QueueRule(others="{team}")), "found the queue pattern"),
        (TraceRules(from_ms=5, until_ms=5), "the cut leaves nothing"),
        (TraceRules(until_ms=0), "the cut leaves nothing"),
        (TraceRules(from_unix_ms=5), "the trace has no dates"),
        (TraceRules(until_unix_ms=5), "the trace has no dates"),
        (
            TraceRules(
                columns=ColumnMap(
                    submit=TimeColumn(name="a"), run=TimeColumn(name="b"), separator=""
                )
            ),
            "found the separator ''",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rules_that_no_trace_can_meet_are_refused(
    tmp_path: Path, rules: TraceRules, complaint: str
) -> None:
    file = own_csv(tmp_path, DAY)
    with pytest.raises(TraceError, match=complaint):
        jobs_of(file, rules)


SCALES = st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=60)


@settings(max_examples=scale_examples(60))
@given(
    submits=st.lists(st.integers(0, 60), min_size=1, max_size=12),
    cut=st.tuples(st.integers(0, 70), st.integers(1, 70)),
    scale=SCALES,
)
def test_cutting_and_shifting_keep_order_and_count_and_scaling_is_linear(
    submits: list[int],
    cut: tuple[int, int],
    scale: Fraction,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The plain version: sort, take what lies in the window, subtract the first, multiply."""
    rows = "\n".join(f"j{place},{at},1,,,,1,,,1,,," for place, at in enumerate(submits))
    file = own_csv(tmp_path_factory.mktemp("law"), rows)
    begin, length = cut
    rules = TraceRules(from_ms=begin * 1000, until_ms=(begin + length) * 1000, submit_scale=scale)
    tally = TraceTally()
    jobs = jobs_of(file, rules, tally)
    first = min(submits)
    kept = [
        (at, place)
        for at, place in sorted((at, place) for place, at in enumerate(submits))
        if begin <= at - first < begin + length
    ]
    assert [(job.name, job.submit_ms) for job in jobs] == [
        (f"j{place}", int((at - kept[0][0]) * 1000 * scale)) for at, place in kept
    ]
    assert tally.rows == len(submits) == tally.given + tally.dropped.total()
    assert all(one.submit_ms <= other.submit_ms for one, other in pairwise(jobs))


def test_a_table_of_a_user_with_dates_is_cut_by_date(tmp_path: Path) -> None:
    columns = ColumnMap(
        submit=TimeColumn(name="when", unit="date"), run=TimeColumn(name="ran", unit="min")
    )
    text = "when,ran\n2017-09-04 00:00:00,1\n2017-09-05 00:00:00,2\n"
    rules = TraceRules(
        columns=columns,
        missing=MissingAmounts(per_job={GPU: 1000}),
        from_unix_ms=1_504_569_600_000,  # 2017-09-05T00:00:00Z
    )
    [job] = jobs_of(written(tmp_path, text), rules)
    assert (job.name, job.submit_ms, job.run_ms) == ("3", 0, 120_000)
