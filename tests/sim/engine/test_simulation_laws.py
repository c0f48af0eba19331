"""What holds in every simulation, whatever the cluster, the work and the rules."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import WorkloadName
from fairlead.sim.engine.events import (
    CapacityChanged,
    Evicted,
    Finished,
    SimulationEvent,
    Started,
    Stopped,
    Submitted,
)
from fairlead.sim.engine.job import Job
from fairlead.sim.measures.measures import Measures
from fairlead.sim.scenario.variant.prepare import Prepared
from tests.model.invariants import check_invariants
from tests.scale_examples import scale_examples
from tests.sim.random_scenarios import MOST_SECONDS, POLICIES, START_MS, Document, documents, run

GPU = "nvidia.com/gpu"
END_MS = START_MS + MOST_SECONDS * 1000
policies = st.sampled_from(POLICIES)
some = settings(max_examples=scale_examples(25))


def held_by_hand(seen: list[SimulationEvent]) -> dict[str, int]:
    """GPU time that each job held, added up from starts and stops alone."""
    held: Counter[str] = Counter()
    for each in seen:
        match each:
            case Started():
                sign = 1
            case Stopped() | Finished():
                sign = -1
            case _:
                continue
        left_ms = END_MS - each.at_ms
        held[each.job.name] += sign * each.pods * each.job.requests[GPU] * left_ms
    return dict(held)


def idle_by_hand(seen: list[SimulationEvent]) -> dict[str, int]:
    """Pod time in which too few pods of a job had places for any work."""
    idle: Counter[str] = Counter()
    running: Counter[str] = Counter()
    since_ms: dict[str, int] = {}
    for each in seen:
        if not isinstance(each, Started | Stopped | Finished):
            continue
        name = each.job.name
        if running[name] < each.job.min_pods:
            idle[name] += running[name] * (each.at_ms - since_ms.get(name, 0))
        since_ms[name] = each.at_ms
        running[name] += each.pods if isinstance(each, Started) else -each.pods
    return dict(idle)


@some
@given(documents(), policies)
def test_the_state_is_sound_after_everything_that_happens(document: Document, policy: str) -> None:
    run(document, policy, lambda prepared, _: check_invariants(prepared.state))


@some
@given(documents(), policies)
def test_a_job_has_each_of_its_pods_once_and_tells_how_many(
    document: Document, policy: str
) -> None:
    running: Counter[str] = Counter()
    came: dict[str, Job] = {}
    for each in run(document, policy):
        match each:
            case Submitted():
                assert each.job.name not in came
                came[each.job.name] = each.job
            case Started():
                running[each.job.name] += each.pods
                assert each.running == running[each.job.name] <= each.job.pods
                assert each.running >= each.job.min_pods
            case Stopped():
                running[each.job.name] -= each.pods
                assert each.running == running[each.job.name] >= 0
            case Finished():
                assert each.pods == running.pop(each.job.name)
                assert each.first_start_ms >= each.job.submit_ms
            case _:
                pass
    assert running.keys() <= came.keys()


@some
@given(documents(), st.sampled_from(["kai", "elastic-quota"]))
def test_no_node_holds_more_than_it_has_and_no_pod_is_on_a_node_that_is_gone(
    document: Document, policy: str
) -> None:
    def watch(prepared: Prepared, event: SimulationEvent) -> None:
        state = prepared.state
        held: Counter[str] = Counter()
        for name, each in state.runs.items():
            (pod_set,) = state.workloads[name].pod_sets
            for placed in each.pods.values():
                assert placed.node is not None
                if placed.phase != "reserved":
                    held[placed.node] += pod_set.requests[state.resources.index(GPU)]
        lost = isinstance(event, (Evicted, Stopped)) and event.cause == "node-lost"
        if not lost:  # in the middle of it the others on that node are still to be told
            for node, amount in held.items():
                assert amount <= state.nodes[node].allocatable[state.resources.index(GPU)]

    run(document, policy, watch)


@some
@given(documents(steady=True))
def test_under_kueue_no_more_is_held_than_there_is_quota(document: Document) -> None:
    spec = document["spec"]
    capacity = sum(node["capacity"]["gpu"] for node in spec["cluster"]["nodes"])
    owned = sum(queue["guaranteed"]["gpu"] for queue in spec["queues"] if "guaranteed" in queue)
    total = max(capacity, owned) * 1000  # Kueue believes in quotas, also in those that nobody has
    held = 0
    for each in run(document, "kueue"):
        match each:
            case Started():
                held += each.pods * each.job.requests[GPU]
            case Stopped() | Finished():
                held -= each.pods * each.job.requests[GPU]
            case _:
                pass
        assert 0 <= held <= total


@some
@given(documents(), policies)
def test_resource_time_is_conserved(document: Document, policy: str) -> None:
    """What jobs say they held, what starts and stops add up to, and what is measured, agree."""
    seen = run(document, policy)
    by_hand = held_by_hand(seen)
    for each in seen:
        if isinstance(each, Finished):
            assert each.held_ms * each.job.requests[GPU] == by_hand[each.job.name]
    parents = {"a": None, "a1": "a", "a2": "a", "b1": None}
    measures = Measures((GPU,), parents, start_ms=START_MS)
    for each in seen:
        measures(each)
    summary, _ = measures.end(END_MS)
    assert summary.of_cluster.allocated == {GPU: sum(by_hand.values())}
    per_queue: Counter[str] = Counter()
    for each in seen:
        if isinstance(each, Submitted):
            per_queue[each.job.queue] += by_hand.get(each.job.name, 0)
    for queue, amount in per_queue.items():
        assert summary.of_queues[queue].allocated == {GPU: amount}


@some
@given(documents(plain_pods=True), policies)
def test_what_was_held_is_what_was_lost_and_the_work_itself(
    document: Document, policy: str
) -> None:
    """Where pods start and stop at once; the last millisecond of several pods may be too much.

    Elastic quotas evict pods of a gang one by one: what is left of it waits in its place.
    """
    seen = run(document, policy)
    idle = idle_by_hand(seen)
    for each in seen:
        if isinstance(each, Finished):
            assert each.job.run_ms is not None
            work_ms = each.job.pods * each.job.run_ms + idle[each.job.name]
            assert 0 <= each.held_ms - each.lost_ms - work_ms < each.job.pods


@some
@given(documents(), st.sampled_from(["kai", "elastic-quota"]))
def test_a_lost_node_stops_only_who_was_there(document: Document, policy: str) -> None:
    lost_at: dict[int, set[str]] = {}
    for change in document["spec"]["cluster"]["changes"]:
        at_ms = START_MS + int(change["at"].removesuffix("s")) * 1000
        lost_at.setdefault(at_ms, set()).update(change["lose"])

    def watch(prepared: Prepared, event: SimulationEvent) -> None:
        if not isinstance(event, Evicted) or event.cause != "node-lost":
            return
        lost = lost_at[event.at_ms]
        placed = prepared.state.runs[WorkloadName(event.job.name)].pods.values()
        assert {each.node for each in placed} & lost
        if len(lost) > 1:
            return  # one after the other, and nobody says which it is
        there = sum(each.node in lost for each in placed)
        stays = len(placed) - there
        if stays >= event.job.min_pods:
            assert event.pods <= there
        else:
            assert event.pods == len(placed)

    run(document, policy, watch)


@some
@given(documents())
def test_under_kueue_a_lost_node_stops_nobody(document: Document) -> None:
    """There jobs hold quota and no node, and quotas stay as they are.

    Cycles come at a fixed period: else a node that is lost lets one be held, and the next one, in
    which a job could start, comes that much later.
    """
    lossy = {**document, "spec": {**document["spec"], "cycle": {"every": "5s"}}}
    steady = {**document["spec"]["cluster"], "changes": []}
    calm = {**lossy, "spec": {**lossy["spec"], "cluster": steady}}

    def jobs(seen: list[SimulationEvent]) -> list[SimulationEvent]:
        return [each for each in seen if not isinstance(each, CapacityChanged)]

    assert jobs(run(lossy, "kueue")) == jobs(run(calm, "kueue"))


def with_kept_jobs(document: Document) -> Document:
    """Let every other job be there first, and kept from those who would be worth more.

    All are in one queue, which is guaranteed the whole cluster: else such jobs do not begin.
    """
    spec = document["spec"]
    whole = sum(node["capacity"]["gpu"] for node in spec["cluster"]["nodes"])
    jobs = [{**job, "queue": "b1", "preemptible": True} for job in spec["work"][0]["jobs"]]
    jobs[::2] = [{**job, "preemptible": False, "at": "0s", "priority": 0} for job in jobs[::2]]
    queues = [*spec["queues"][:-1], {"name": "b1", "guaranteed": {"gpu": whole}}]
    work = [{"name": "j", "jobs": jobs}]
    return {**document, "spec": {**spec, "queues": queues, "work": work}}


@some
@given(documents().map(with_kept_jobs))
def test_under_kai_nobody_evicts_or_moves_who_is_not_preemptible(document: Document) -> None:
    """Only with their nodes do such jobs lose places."""
    for each in run(document, "kai"):
        if isinstance(each, Evicted | Stopped) and not each.job.preemptible:
            assert each.cause == "node-lost"
