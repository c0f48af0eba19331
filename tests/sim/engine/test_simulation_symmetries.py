"""A simulation is its plans and nothing else: by hand, at half the speed, and under other names."""

import re
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import WorkloadName
from fairlead.model.events import (
    WorkloadAdded,
    WorkloadFinished,
    WorkloadLeaving,
    WorkloadStopped,
)
from fairlead.model.execution.executor import apply
from fairlead.model.plan import Decision, Evict, LeftPending, Move, Plan, Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.contract import Policy
from fairlead.sim.engine.events import Finished, SimulationEvent, Stopped, Submitted
from fairlead.sim.scenario.variant.prepare import prepare
from tests.model.invariants import check_invariants
from tests.scale_examples import scale_examples
from tests.sim.random_scenarios import POLICIES, START_MS, Document, documents, read, run

policies = st.sampled_from(POLICIES)
some = settings(max_examples=scale_examples(25))
DURATION = re.compile(r"(\d+)s")


class NotedPlans:
    """A policy that writes down when it was asked and what it said."""

    def __init__(self, policy: Policy, log: list[SimulationEvent | Plan]) -> None:
        self._policy = policy
        self._log = log

    def plan(self, state: ClusterState, now_ms: int, **options: Any) -> Plan:
        plan = self._policy.plan(state, now_ms, **options)
        self._log.append(Plan(taken_ms=now_ms, decisions=plan.decisions))
        return plan


class ByHand:
    """Feeds jobs and plans to a state, one after the other, without a clock or a simulator."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._leaving: dict[WorkloadName, list[tuple[PodId, ...]]] = {}

    def carry_out(self, now_ms: int, decision: Decision) -> None:
        match decision:
            case Evict():
                self._leaving.setdefault(decision.workload, []).append(decision.pods)
            case Move():
                pods = tuple(origin.pod for origin in decision.origins)
                self._state.apply(WorkloadLeaving(workload=decision.workload, pods=pods))
                self._state.apply(WorkloadStopped(workload=decision.workload, pods=pods))
                decision = Start(
                    workload=decision.workload,
                    placements=decision.placements,
                    charged=(),
                    reason=decision.reason,
                )
            case _:
                pass
        apply(self._state, Plan(taken_ms=now_ms, decisions=(decision,)))

    def stop(self, name: WorkloadName) -> None:
        """Let those pods stop that were told to first."""
        pods = self._leaving[name].pop(0)
        self._state.apply(WorkloadStopped(workload=name, pods=pods))


@some
@given(documents(plain_pods=True, steady=True), policies)
def test_a_simulation_equals_the_same_plans_fed_by_hand(document: Document, policy: str) -> None:
    """A second state gets the jobs, and what the plans say; a second policy says the same."""
    document["spec"].pop("usage", None)  # past use is told to the state, by no plan
    scenario = read(document, policy)
    log: list[SimulationEvent | Plan] = []
    noted = prepare(scenario, scenario.by_name[policy])
    noted = noted._replace(policy=NotedPlans(noted.policy, log))
    noted.simulation(log.append).run()
    mine = prepare(scenario, scenario.by_name[policy])
    hand = ByHand(mine.state)
    for each in log:
        match each:
            case Plan():
                plan = mine.policy.plan(mine.state, each.taken_ms)
                said = [
                    decision for decision in plan.decisions if not isinstance(decision, LeftPending)
                ]
                assert said == list(each.decisions)
                for decision in each.decisions:
                    hand.carry_out(each.taken_ms, decision)
                    if isinstance(decision, Evict):
                        hand.stop(decision.workload)
                check_invariants(mine.state)
            case Submitted():
                mine.state.apply(WorkloadAdded(mine.maker.workload(each.job)))
            case Finished():
                mine.state.apply(WorkloadFinished(WorkloadName(each.job.name)))
            case _:
                pass
    assert mine.state.runs == noted.state.runs
    assert mine.state.workloads == noted.state.workloads


def slower(part: Any) -> Any:
    """Return the same document with every length of time twice as long."""
    match part:
        case dict():
            return {key: slower(value) for key, value in part.items()}
        case list():
            return [slower(value) for value in part]
        case str() if (found := DURATION.fullmatch(part)) is not None:
            return f"{2 * int(found[1])}s"
        case _:
            return part


def in_short(seen: list[SimulationEvent], scale: int = 1) -> Iterator[tuple[object, ...]]:
    """When what happened to whom; times and lost work are divided by *scale*."""
    for each in seen:
        at, odd = divmod(each.at_ms - START_MS, scale)
        assert odd == 0
        job = getattr(each, "job", None)
        lost = each.lost_ms / scale if isinstance(each, Stopped) else None
        name = None if job is None else job.name
        yield type(each).__name__, at, name, getattr(each, "pods", None), lost


@some
@given(documents(), policies)
def test_with_all_times_twice_as_long_the_same_happens_at_half_the_speed(
    document: Document, policy: str
) -> None:
    """Of jobs that run with all of their pods: what others have left is rounded to milliseconds."""
    for job in document["spec"]["work"][0]["jobs"]:
        job["minPods"] = job["pods"]
    seen = list(in_short(run(document, policy)))
    assert list(in_short(run(slower(document), policy), scale=2)) == seen


@some
@given(documents(), policies)
def test_other_names_of_queues_change_nothing_but_names(document: Document, policy: str) -> None:
    """As long as their order stays: names decide where nothing else does.

    All of them come before "cohort/", which is before the names of cohorts among Kueue's queues.
    """
    seen = run(document, policy)
    for queue in document["spec"]["queues"]:
        queue["name"] = f"all-{queue['name']}"
        if "parent" in queue:
            queue["parent"] = f"all-{queue['parent']}"
    for job in document["spec"]["work"][0]["jobs"]:
        job["queue"] = f"all-{job['queue']}"
    renamed = run(document, policy)
    assert list(in_short(renamed)) == list(in_short(seen))
    assert [replace(each.job, queue="") for each in seen if isinstance(each, Submitted)] == [
        replace(each.job, queue="") for each in renamed if isinstance(each, Submitted)
    ]
