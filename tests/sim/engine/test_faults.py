"""A cluster that does not do as it is told: refused, late and lost orders."""

from collections import Counter
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.execution.executor import Verb
from fairlead.sim.engine.events import (
    Evicted,
    Finished,
    SimulationEvent,
    Started,
    Stopped,
    Submitted,
)
from fairlead.sim.engine.faults import DrawnFates, Fate, Faults, OrderFaults
from fairlead.sim.engine.simulation_rules import SimulationRules
from fairlead.sim.scenario.variant.prepare import Prepared
from tests.model.invariants import check_invariants
from tests.scale_examples import scale_examples
from tests.sim.engine.test_simulation import TWO_HALVES, lines, simulate
from tests.sim.random_scenarios import POLICIES, Document, documents, result_of, run
from tests.sim.small_cluster import SECOND, cluster, job, queue

FAULTY = SimulationRules(faults=Faults(patience_ms=30 * SECOND))


class TheseFates(DrawnFates):
    """The first orders have these fates, the later ones are done."""

    def __init__(self, *fates: Fate) -> None:
        late = OrderFaults(delay_ms=5_000)
        super().__init__(Faults(bind=late, evict=late))
        self._fates = list(fates)

    def _fate(self, verb: Verb) -> Fate:
        assert verb in self._faults
        return self._fates.pop(0) if self._fates else "done"


def with_fates(*fates: Fate) -> "mock._patch[mock.MagicMock]":
    return mock.patch("fairlead.sim.engine.live_jobs.DrawnFates", return_value=TheseFates(*fates))


BINDS: dict[str, tuple[tuple[Fate, ...], str]] = {
    # The other node has room, and is tried in the next cycle, a second later.
    "refused": (("refused",), "1 j starts 1"),
    # Refused on both nodes at 0 s and 1 s; the pause of 1 s for the first ends at 1 s.
    "refused twice": (("refused", "refused"), "2 j starts 1"),
    "late": (("late",), "5 j starts 1"),
    # Looked into after 30 s, it was not done; the other node is tried.
    "lost": (("lost",), "30 j starts 1"),
}


@pytest.mark.parametrize(("fates", "start"), BINDS.values(), ids=BINDS.keys())
def test_a_pod_whose_bind_goes_wrong_starts_later(fates: tuple[Fate, ...], start: str) -> None:
    state = cluster([queue("a")], {"n": 1, "m": 1})
    with with_fates(*fates):
        told, _ = simulate(state, [job("j", "a", gpus=1, run=10)], FAULTY)
    begin = int(start.partition(" ")[0])
    assert told == ["0 j comes", start, f"{begin + 10} j is done, held 10"]


def test_room_that_is_bound_late_is_not_given_to_another() -> None:
    state = cluster([queue("a")], {"n": 1})
    jobs = [job("first", "a", gpus=1, run=10), job("second", "a", gpus=1, at=1, run=10)]
    with with_fates("late"):
        told, _ = simulate(state, jobs, FAULTY)
    assert told == lines("""
        0 first comes
        1 second comes
        5 first starts 1
        15 first is done, held 10
        15 second starts 1
        25 second is done, held 10
    """)


EVICTIONS: dict[str, tuple[Fate, str]] = {
    # Refused at 5 s and left alone until 15 s.
    "refused": ("refused", "15 a2 is to leave for b1"),
    "late": ("late", "10 a2 is to leave for b1"),
    # Lost at 5 s, looked into at 35 s, left alone until 45 s.
    "lost": ("lost", "45 a2 is to leave for b1"),
}


@pytest.mark.parametrize(("fate", "leaves"), EVICTIONS.values(), ids=EVICTIONS.keys())
def test_a_pod_whose_eviction_goes_wrong_leaves_later(fate: Fate, leaves: str) -> None:
    """a1 may not be preempted, so that a2 is the only victim."""
    state = cluster(TWO_HALVES, {"n": 2})
    fixed = replace(job("a1", "a", gpus=1, run=200), preemptible=False)
    jobs = [fixed, job("a2", "a", gpus=1, at=1, run=200), job("b1", "b", gpus=1, at=5, run=30)]
    with with_fates("done", "done", fate):
        told, _ = simulate(state, jobs, FAULTY)
    assert [each for each in told if "leave" in each][:1] == [leaves]


chances = st.fixed_dictionaries(
    {
        "refused": st.sampled_from([0, 0.1, 0.4]),
        "late": st.sampled_from([0, 0.1, 0.3]),
        "lost": st.sampled_from([0, 0.1, 0.3]),
        "delay": st.sampled_from(["0s", "1s", "7s"]),
    }
)
faults = st.fixed_dictionaries(
    {"bind": chances, "evict": chances, "patience": st.sampled_from(["1s", "10s"])}
)
policies = st.sampled_from(POLICIES)
some = settings(max_examples=scale_examples(60))


def with_faults(document: Document, found: Document) -> Document:
    return {**document, "spec": {**document["spec"], "faults": found}}


@some
@given(documents(), policies)
def test_faults_that_never_happen_change_nothing(document: Document, policy: str) -> None:
    """Then the executor's orders come to the same as decisions that take effect at once."""
    assert run(with_faults(document, {}), policy) == run(document, policy)


@some
@given(documents(), faults, policies)
def test_a_cluster_with_faults_stays_sound_and_tells_the_same_twice(
    document: Document, found: Document, policy: str
) -> None:
    running: Counter[str] = Counter()

    def watch(prepared: Prepared, event: SimulationEvent) -> None:
        check_invariants(prepared.state)
        lost = isinstance(event, Evicted | Stopped) and event.cause == "node-lost"
        for name in prepared.state.nodes if not lost else ():
            size = prepared.state.nodes[name].allocatable
            held = prepared.state.books.use(name).held
            assert all(there <= most for there, most in zip(held, size, strict=True)), name
        match event:
            case Started():
                running[event.job.name] += event.pods
                assert event.running == running[event.job.name] <= event.job.pods
            case Stopped():
                running[event.job.name] -= event.pods
                assert event.running == running[event.job.name] >= 0
            case Finished():
                assert event.pods == running.pop(event.job.name)
            case _:
                pass

    seen = run(with_faults(document, found), policy, watch)
    assert run(with_faults(document, found), policy) == seen


@some
@given(documents(steady=True), faults, policies)
def test_whatever_is_done_in_the_end_is_done_without_faults_too(
    document: Document, found: Document, policy: str
) -> None:
    """Faults delay; they invent no job and finish none twice."""
    seen = run(with_faults(document, found), policy)
    came = [each.job.name for each in seen if isinstance(each, Submitted)]
    done = [each.job.name for each in seen if isinstance(each, Finished)]
    assert len(set(done)) == len(done)
    assert set(done) <= set(came)
    assert came == [each.job.name for each in run(document, policy) if isinstance(each, Submitted)]


@pytest.mark.parametrize("verb", ["bind", "evict"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_ends_although_nothing_ever_succeeds(policy: str, verb: str) -> None:
    """It has no duration; after a week in which nothing happened it is given up."""
    jobs = [{"queue": "a", "requests": {"gpu": 1}, "run": "1h"}]
    jobs += [{"queue": "b", "requests": {"gpu": 1}, "run": "1h", "at": "1m"}]
    seen = run(scenario({verb: {"refused": 1}}, jobs), policy)
    assert len([each for each in seen if isinstance(each, Submitted)]) == 2


def scenario(found: Document, jobs: list[Document]) -> Document:
    spec = {
        "cluster": {"nodes": [{"name": "n", "capacity": {"gpu": 1}}]},
        "queues": [{"name": "a"}, {"name": "b", "guaranteed": {"gpu": 1}}],
        "work": [{"name": "w", "jobs": jobs}],
        "faults": found,
    }
    return {
        "apiVersion": "fairlead/v1",
        "kind": "Scenario",
        "metadata": {"name": "odd"},
        "spec": spec,
    }


def test_under_kueue_a_workload_has_one_fate() -> None:
    """Of a gang of four either all pods have quota or none, whatever is drawn."""
    gang = {"queue": "b", "requests": {"gpu": 1}, "run": "1m", "pods": 4, "minPods": 4}
    document = scenario({"bind": {"refused": 0.5}}, [gang] * 3)
    document["spec"]["cluster"]["nodes"][0]["capacity"]["gpu"] = 4
    document["spec"]["queues"][1]["guaranteed"]["gpu"] = 4
    seen = run(document, "kueue")
    assert {each.pods for each in seen if isinstance(each, Started)} == {4}
    assert len([each for each in seen if isinstance(each, Finished)]) == 3


def test_chances_of_more_than_always_are_refused() -> None:
    jobs = [{"queue": "a", "requests": {"gpu": 1}, "run": "1s"}]
    odd = scenario({"bind": {"refused": 0.7, "lost": 0.4}}, jobs)
    [told] = map(str, result_of(odd, "kai").findings)
    assert "$.spec.faults.bind: found chances that add up to 1.1" in told
    [told] = map(str, result_of(scenario({"patience": "0s"}, jobs), "kai").findings)
    assert "$.spec.faults.patience: found 0s, expected more" in told
