"""What an explanation of a workload of Kueue says is what the plan decided, number by number."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.explain.kueue.flavors import flavors_tried
from fairlead.explain.kueue.job import explain_kueue_job
from fairlead.explain.kueue.job_view import KueueJobView
from fairlead.explain.kueue.place import place_in_line
from fairlead.explain.kueue.quota import quota_paths
from fairlead.model.plan import Reserve, Start, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.api import EXCEEDS_MAX_QUOTA
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueOptions, KueueSettings
from tests.policy.kueue.plan_world import NOW_MS, cluster
from tests.scale_examples import scale_examples

QUEUES = """
    name parent quota borrow lend weight within reclaim borrowWithin strategy
    ROOT -      {}    -      -    1      -      -       -            -
    X    ROOT   0     {}     -    2      -      -       -            -
    a    ROOT   {}    -      {}   1      {}     {}      {}           {}
    b    X      {}    2      -    {}     {}     {}      Never        BestEffortFIFO
    c    -      2     -      -    1      Never  Never   Never        StrictFIFO
"""
WITHIN = st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"])
RECLAIM = st.sampled_from(["Never", "LowerPriority", "Any"])
STRATEGY = st.sampled_from(["BestEffortFIFO", "StrictFIFO"])
OPTIONS = st.builds(
    KueueOptions,
    no_preemption_loops=st.booleans(),
    min_run_time_ms=st.sampled_from([0, NOW_MS - 6, NOW_MS]),
    preemption_delay_ms=st.sampled_from([0, NOW_MS - 6, NOW_MS]),
)
RULES = st.builds(
    KueueSettings, fair_sharing=st.booleans(), options=OPTIONS, faithful=st.booleans()
)


@st.composite
def clusters(draw: st.DrawFn) -> ClusterState:
    small, limit = st.integers(0, 4), st.sampled_from(["-", 0, 2])
    drawn = [small, limit, small, limit, WITHIN, RECLAIM]
    drawn += [st.sampled_from(["Never", "LowerPriority"]), STRATEGY]
    drawn += [small, st.integers(0, 2), WITHIN, RECLAIM]
    asks = st.sampled_from(["1", "2", "3x1", "1-4x1", "2x2"])
    lines = ["name queue asks priority created running preempted"]
    for number in range(draw(st.integers(1, 8))):
        since = draw(st.sampled_from(["-", "-", "5"]))
        queue, priority = draw(st.sampled_from("abbac")), draw(st.integers(-1, 1))
        age, preempted = draw(st.integers(0, 9)), draw(st.sampled_from(["-", "-", "7"]))
        lines.append(f"w{number} {queue} {draw(asks)} {priority} {age} {since} {preempted}")
    return cluster(QUEUES.format(*map(draw, drawn)), "\n".join(lines))


@settings(max_examples=scale_examples(60), deadline=None)
@given(state=clusters(), rules=RULES)
def test_every_workload_is_explained_by_what_is_decided_about_it(
    state: ClusterState, rules: KueueSettings
) -> None:
    plan = KueuePolicy(rules).plan(state, NOW_MS)
    for job in state.workloads:
        view = KueueJobView(state, rules, job, NOW_MS)
        assert view.decisions == [each for each in plan.decisions if each.workload == job]
        explained = explain_kueue_job(state, rules, job, NOW_MS)
        assert explained.answer.startswith(f"{job} ")
        assert (explained.data["place"] is None) == (job in state.runs)
        assert (explained.data["quota"] is None) == (job not in state.runs)


@settings(max_examples=scale_examples(60), deadline=None)
@given(state=clusters(), rules=RULES)
def test_the_numbers_are_those_of_the_moment_that_decided(
    state: ClusterState, rules: KueueSettings
) -> None:
    for job in state.workloads:
        view = KueueJobView(state, rules, job, NOW_MS)
        tried = flavors_tried(view)
        paths = {each.axis: each for each in quota_paths(view, tried)}
        taken = [line for line in tried if line.is_taken]
        match view.seeks:
            case Start():
                assert not any(line.lacks_quota() for line in taken)
                assert {line.judged for line in taken} <= {"fits", "fits by borrowing"}
            case Reserve():
                assert any(line.judged == "fits after preemption" for line in taken)
            case Wait(reason=reason):
                assert not taken
                for told in reason.comparisons:
                    assert told.axis is not None
                    numbers = [line.numbers for line in tried if line.numbers.axis == told.axis]
                    assert told.left[0].amount in {each.amounts["asks"] for each in numbers}
                    path = paths[told.axis]
                    own = path.levels[view.workload.queue].amounts
                    number = "potential" if reason.code == EXCEEDS_MAX_QUOTA else "available"
                    assert (path.ends_at, own[number]) == (told.queue, told.right.amount)


@settings(max_examples=scale_examples(30), deadline=None)
@given(state=clusters(), rules=RULES)
def test_places_count_all_who_are_before(state: ClusterState, rules: KueueSettings) -> None:
    for job in state.workloads:
        place = place_in_line(KueueJobView(state, rules, job, NOW_MS))
        if place is not None:
            assert [each.position for each in place.before] == list(range(len(place.before)))
            assert place.own.position_in_cluster_queue == len(place.before) < place.waiting
