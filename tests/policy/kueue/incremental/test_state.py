"""A policy that follows a state says what one says that sees it for the first time."""

from collections.abc import Mapping
from random import Random
from types import MappingProxyType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    WorkloadChanged,
    WorkloadFinished,
    WorkloadLeaving,
    WorkloadStopped,
)
from fairlead.model.execution.executor import apply
from fairlead.model.execution.remember import forget_promises
from fairlead.model.plan import Evict, LeftPending, Plan
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload
from fairlead.policy.kueue.flavors.nomination import Nominator
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.preemption.fair import SearchResult
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueOptions, KueueSettings
from fairlead.policy.kueue.workloads import Preemptor
from tests.policy.changes import changes_of
from tests.policy.kueue.plan_world import FAIR, FAITHFUL, NOW_MS, add, build, cluster, with_memory
from tests.policy.kueue.random_plan_world import Row
from tests.scale_examples import scale_examples

STEPS = 20
RUN_TIMES_MS = (0, 0, 1, 1500)  # steps of the histories are up to a second apart
STRATEGIES = (BOTH_STRATEGIES, BOTH_STRATEGIES, BOTH_STRATEGIES[:1], BOTH_STRATEGIES[1:])


class History:
    """What happens by chance to a small full cluster that one policy follows."""

    cohorts: Mapping[str, str] = MappingProxyType({"R": "-", "C": "R", "D": "R"})
    queues = (3, 6)
    at_once = (1, 1, 5)  # how many come

    def __init__(self, seed: int, *, faithful: bool) -> None:
        self.chance = Random(seed)
        self.groups = self.chance.choice(("gpu:any", "gpu:any", "cpu,gpu:any"))
        self.settings = self._settings(faithful=faithful)
        self.policy = KueuePolicy(self.settings)
        self.now_ms = NOW_MS
        self.came = 0
        self.state = build(self._queues(), (), self.groups)

    def _settings(self, *, faithful: bool) -> KueueSettings:
        return KueueSettings(
            fair_sharing=True,
            strategies=self.chance.choice(STRATEGIES),
            options=self._options(),
            faithful=faithful,
        )

    def _options(self) -> KueueOptions:
        run_time_ms = self.chance.choice(RUN_TIMES_MS)
        return KueueOptions(min_run_time_ms=run_time_ms, preemption_cooldown_ms=0)

    def _queues(self) -> list[Row]:
        """Queues in all cohorts, in the second more than in others."""
        rows = [self._node(name, parent) for name, parent in self.cohorts.items()]
        for at in range(self.chance.randint(*self.queues)):
            parent = self.chance.choice((*self.cohorts, "C"))
            within = self.chance.choice(("Never", "LowerPriority"))
            rows.append(
                self._node(f"q{at}", parent)
                | {"reclaim": "Any", "within": within, "strategy": "BestEffortFIFO"}
            )
        return rows

    def _node(self, name: str, parent: str) -> Row:
        resources, flavors = self.groups.split(":")
        axes = len(resources.split(",")) * len(flavors.split(","))
        quota = [self.chance.choice((0, 1, 2, 4)) for _ in range(axes)]
        limits = ("-",) * 8 + (() if parent == "-" else ("0", "1", "2"))
        lend = [self.chance.choice(limits) for _ in quota]
        own = zip(lend, quota, strict=True)
        return {
            "name": name,
            "parent": parent,
            "quota": ",".join(map(str, quota)),
            "borrow": ",".join(self.chance.choice(limits) for _ in quota),
            "lend": ",".join(
                text if text == "-" else str(min(int(text), most)) for text, most in own
            ),
            "weight": self.chance.choice(("1", "1", "1", "2", "0.5", "0")),
        }

    def step(self) -> None:
        """Let something happen."""
        self.now_ms += self.chance.choice((0, 1, 1000))
        match self.chance.choice(("come", "come", "come", "finish", "finish", "leave", "leave")):
            case "come":
                for _ in range(self.chance.choice(self.at_once)):
                    self._come()
            case "finish":
                self._finish()
            case "leave":
                self._leave()

    def _come(self) -> None:
        self.came += 1
        queues = [name for name in self.state.queues if name.startswith("q")]
        size = self.chance.choice(("1", "1", "2", "3", "2x2", "6", "40"))
        asks = f"{size},{self.chance.choice('012')}" if "cpu" in self.groups else size
        row = {
            "name": f"w{self.came}",
            "queue": self.chance.choice(queues),
            "asks": asks.replace("x2,", ","),
            "priority": self.chance.choice(("0", "0", "0", "1")),
            "created": str(self.now_ms),
        }
        add(self.state, row, self.groups)

    def _finish(self) -> None:
        """End something that runs, or a workload's wait."""
        names = sorted(self.state.runs) or sorted(self.state.workloads)
        if self.chance.random() < 0.1:
            names = sorted(self.state.workloads)
        if names:
            self.state.apply(WorkloadFinished(self.chance.choice(names)))

    def _leave(self) -> None:
        for name in sorted(self.state.runs):
            self._let_leave(name)

    def _let_leave(self, name: WorkloadName) -> None:
        pods = self.state.runs[name].pods
        leaving = tuple(sorted(pod for pod, at in pods.items() if at.phase == "leaving"))
        if leaving:
            self.state.apply(WorkloadStopped(workload=name, pods=leaving))

    def plan(self) -> int:
        """Plan, and mostly carry it out; returns how much it changes."""
        followed = changes_of(self.policy, self.state, self.now_ms)
        fresh = KueuePolicy(self.settings, plain=True).plan(self.state, self.now_ms).decisions
        assert followed == [each for each in fresh if not isinstance(each, LeftPending)]
        if self.chance.random() < 0.9:
            apply(self.state, Plan(taken_ms=self.now_ms, decisions=tuple(followed)))
            forget_promises(self.state, followed, self.now_ms)
        return len(followed)


class LargerHistory(History):
    """The same of a larger cluster, in which several preempt at once."""

    cohorts = MappingProxyType({"R": "-", "C": "R", "D": "R", "E": "C"})
    queues = (6, 12)
    at_once = (1, 2, 9)


class SlowHistory(LargerHistory):
    """The same where some take their time to leave, and some are promised nobody knows what."""

    def step(self) -> None:
        """Let something happen, or let a workload say that others leave for it."""
        pending = sorted(self.state.workloads.keys() - self.state.runs.keys())
        if pending and self.chance.random() < 0.1:
            with_memory(self.state, self.chance.choice(pending), preempting=True, promise=None)
        super().step()

    def _let_leave(self, name: WorkloadName) -> None:
        if self.chance.random() < 0.5:
            super()._let_leave(name)


class PatientHistory(LargerHistory):
    """The same where many may not ask others yet, or not even queue up."""

    def _options(self) -> KueueOptions:
        return KueueOptions(
            min_run_time_ms=self.chance.choice(RUN_TIMES_MS),
            preemption_delay_ms=self.chance.choice((0, 0, 1, 2500)),
            preemption_cooldown_ms=self.chance.choice((1, 1500, 1500, 9000)),
        )

    def step(self) -> None:
        """Let something happen, or let a workload be kept out of its queue for a while."""
        pending = sorted(self.state.workloads.keys() - self.state.runs.keys())
        if pending and self.chance.random() < 0.1:
            workload = self.state.workloads[self.chance.choice(pending)]
            assert isinstance(workload.extension, KueueWorkload)
            until_ms = self.now_ms + self.chance.choice((1, 1500))
            extension = replace(workload.extension, back_off_until_ms=until_ms)
            self.state.apply(WorkloadChanged(replace(workload, extension=extension)))
        super().step()


class OverusedHistory(History):
    """The same where others than the policy let workloads start, so that too much may be used.

    Of most of its quota a queue lends nothing: it has that for its own, unless too much is used.
    """

    def __init__(self, seed: int, *, faithful: bool) -> None:
        super().__init__(seed, faithful=faithful)
        self.groups = "cpu,gpu:any"
        self.state = build(self._queues(), (), self.groups)

    def _node(self, name: str, parent: str) -> Row:
        row = super()._node(name, parent)
        if parent != "-":
            quota = map(int, row["quota"].split(","))
            most = [min(each, self.chance.choice((0, 0, 1))) for each in quota]
            row["lend"] = ",".join(map(str, most))
        return row

    def step(self) -> None:
        """Let something happen, and now and then something start."""
        if self.chance.random() < 0.25:
            self.came += 1
            row = {
                "name": f"w{self.came}",
                "queue": self.chance.choice([q for q in self.state.queues if q.startswith("q")]),
                "asks": f"{self.chance.choice('012')},{self.chance.choice('123')}",
                "running": str(self.now_ms),
            }
            add(self.state, row, self.groups)
        super().step()


def live(
    seed: int, eq_class: type[History] = History, *, faithful: bool = False
) -> tuple[int, ClusterState]:
    history = eq_class(seed, faithful=faithful)
    changes = 0
    for _ in range(STEPS):
        history.step()
        changes += history.plan()
    return changes, history.state


in_both_modes = pytest.mark.parametrize("faithful", [False, True], ids=["ours", "faithful"])


@pytest.mark.exhaustive
@in_both_modes
@settings(max_examples=scale_examples(20), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_one_that_follows_a_state_decides_as_a_fresh_one(faithful: bool, seed: int) -> None:
    live(seed, faithful=faithful)


@pytest.mark.exhaustive
@in_both_modes
@settings(max_examples=scale_examples(15), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_so_it_does_where_several_preempt_at_once(faithful: bool, seed: int) -> None:
    live(seed, LargerHistory, faithful=faithful)


@pytest.mark.exhaustive
@in_both_modes
@settings(max_examples=scale_examples(15), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_so_it_does_where_some_take_their_time_to_leave(faithful: bool, seed: int) -> None:
    live(seed, SlowHistory, faithful=faithful)


@pytest.mark.exhaustive
@in_both_modes
@settings(max_examples=scale_examples(15), deadline=None)
@given(seed=st.integers(0, 2**40))
def test_so_it_does_where_many_may_not_ask_yet(faithful: bool, seed: int) -> None:
    live(seed, PatientHistory, faithful=faithful)


@pytest.mark.exhaustive
@in_both_modes
@settings(max_examples=scale_examples(15), deadline=None)
@given(seed=st.integers(0, 2**40))
@example(seed=377)  # one comes to lack what it counted on as its own
@example(seed=868)
def test_so_it_does_where_more_is_used_than_there_is(faithful: bool, seed: int) -> None:
    live(seed, OverusedHistory, faithful=faithful)


@in_both_modes
def test_the_histories_are_full_of_changes_and_of_workloads_that_wait(faithful: bool) -> None:
    lives = [live(seed, faithful=faithful) for seed in range(5)]
    assert sum(changes for changes, _ in lives) > STEPS
    assert sum(len(state.workloads) - len(state.runs) for _, state in lives) > STEPS


@pytest.mark.exhaustive
def test_many_of_those_who_may_not_ask_yet_would_have_asked() -> None:
    def evictions(eq_class: type[History]) -> int:
        return sum(live(seed, eq_class)[0] for seed in range(20))

    assert 0 < evictions(PatientHistory) < evictions(LargerHistory)


def test_who_waits_is_looked_at_again_only_if_it_is_concerned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two full queues of quota 1 each, in which 30 workloads of two kinds wait: 1 and 2 GPUs."""
    rows = [{"name": "C", "parent": "-", "quota": "2"}]
    rules = {"reclaim": "Any", "within": "LowerPriority", "strategy": "BestEffortFIFO"}
    rows += [{"name": name, "parent": "C", "quota": "1"} | rules for name in ("q0", "q1")]
    state, policy, now_ms = build(rows, ()), KueuePolicy(FAIR), NOW_MS
    for queue in ("q0", "q1"):
        for at in range(2):
            add(state, {"name": f"{queue}-runs-{at}", "queue": queue, "asks": "1", "running": "1"})
        for at in range(15):
            asks = str(1 + at % 2)
            add(state, {"name": f"{queue}-{at:02}", "queue": queue, "asks": asks, "created": "2"})
    assert changes_of(policy, state, now_ms) == []
    looked_at: list[str] = []
    search = Nominator._search

    def listen(self: Nominator, preemptor: Preemptor) -> SearchResult:
        looked_at.append(preemptor.name)
        return search(self, preemptor)

    monkeypatch.setattr(Nominator, "_search", listen)
    add(state, {"name": "late", "queue": "q0", "asks": "1", "created": "3"})
    assert changes_of(policy, state, now_ms) == []
    assert looked_at == []
    state.apply(WorkloadFinished(WorkloadName("q0-runs-0")))
    assert [each.workload for each in changes_of(policy, state, now_ms)] == ["q0-00"]
    # Those of q0, which uses less now, and the first of q1 that would fit, but not the next one.
    assert "q1-01" not in looked_at
    assert {name[:2] for name in looked_at} >= {"q0"}


def test_who_is_asked_first_because_it_leaves_already_may_make_the_claim_of_another_be_met() -> (
    None
):
    """k, of weight 1.4, would stand at 7 / 10 / 1.4 -> 500 and lacks all 7; s has 10 of 10 -> 1000.

    In their line s gives 3, the next of 3 would leave 400, the one of 4 less; and one more, 3,
    because 700 is above 500: 6 in all. But once the one of 4 leaves, and so is asked first, it is
    4, and then 3 more: 7.
    """
    state = cluster(
        """
        name parent quota weight reclaim within strategy
        R    -      10    1      -       -      -
        k    R      0     1.4    Any     Never  BestEffortFIFO
        s    R      0     1      Any     Never  BestEffortFIFO
        """,
        """
        name queue asks running created
        of4  s     4    1       0
        of3  s     3    2       0
        new3 s     3    3       0
        it   k     7    -       4
        """,
    )
    policy = KueuePolicy(FAITHFUL)
    assert changes_of(policy, state, NOW_MS) == []
    leaver = WorkloadName("of4")
    state.apply(WorkloadLeaving(workload=leaver, pods=tuple(state.runs[leaver].pods)))
    changes = changes_of(policy, state, NOW_MS)
    assert [each.workload for each in changes if isinstance(each, Evict)] == ["new3"]
