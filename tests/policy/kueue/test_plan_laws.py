"""What holds of every plan under Kueue's rules, whatever the cluster."""

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.execution.executor import apply
from fairlead.model.execution.remember import forget_promises
from fairlead.model.plan import Comparison, Evict, LeftPending, Plan, Reason, Reserve, Start, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.policy import KueuePolicy
from tests.model.invariants import check_invariants
from tests.policy.changes import changes_of
from tests.policy.kueue.plain_quota import PlainQuota, used_by_queue
from tests.policy.kueue.plan_world import NOW_MS, told
from tests.policy.kueue.random_plan_world import PlanWorld, follow, plan_worlds
from tests.scale_examples import scale_examples

FEW = settings(max_examples=scale_examples(30))


def facts(state: ClusterState) -> list[object]:
    """All that a state knows of workloads and queues, as values."""
    sums = {name: (each.allocated, each.leaving, each.pending) for name, each in state.sums.items()}
    return [dict(state.workloads), repr(state.runs), dict(state.queues), repr(sums)]


@FEW
@given(plan_worlds())
def test_plans_can_be_carried_out_and_leave_the_state_alone(world: PlanWorld) -> None:
    for state, _ in follow(world):
        check_invariants(state)
        before = facts(state)
        KueuePolicy(world.settings).plan(state, NOW_MS)
        assert facts(state) == before


@FEW
@given(plan_worlds())
def test_the_changes_are_the_plan_without_its_waits(world: PlanWorld) -> None:
    """Also for one policy that has planned for the same state before, at another time."""
    policy = KueuePolicy(world.settings)
    for number, (state, planned) in enumerate(follow(world)):
        changes = [each for each in planned.decisions if not isinstance(each, LeftPending)]
        assert changes_of(KueuePolicy(world.settings), state, NOW_MS + number) == changes
        assert policy.plan(state, NOW_MS + number) == planned


@FEW
@given(plan_worlds())
def test_waits_end_promises_and_do_nothing_else(world: PlanWorld) -> None:
    for state, planned in follow(world):
        assert after_changes(state, planned) == after_plan(state, planned)


def after_plan(state: ClusterState, planned: Plan) -> list[object]:
    with state.trial():
        apply(state, planned)
        return facts(state)


def after_changes(state: ClusterState, planned: Plan) -> list[object]:
    changes = tuple(each for each in planned.decisions if not isinstance(each, LeftPending))
    with state.trial():
        apply(state, msgspec.structs.replace(planned, decisions=changes))
        forget_promises(state, changes, planned.taken_ms)
        check_invariants(state)
        return facts(state)


def charged(state: ClusterState, decision: Start | Reserve) -> dict[int, int]:
    """What a decision takes of each axis."""
    sets = state.workloads[decision.workload].pod_sets
    total: Counter[int] = Counter()
    for place in decision.placements:
        flavors = decision.flavors[sets.set_index[place.pod]]
        requests = sets.of(place.pod).requests
        for resource, amount in zip(state.resources, requests, strict=True):
            if amount:
                axis = state.axes.index(resource, flavors[resource])
                assert axis is not None
                total[axis] += amount
    return dict(total)


def column(used: Mapping[QueueName, Amounts | list[int]], axis: int) -> dict[QueueName, int]:
    return {queue: row[axis] for queue, row in used.items()}


@settings(max_examples=scale_examples(60))
@given(plan_worlds())
def test_no_admission_breaks_a_borrowing_or_a_lending_limit(world: PlanWorld) -> None:
    """Nor takes more than there is. Who was evicted before it does not count any more.

    A node that uses more than its limits already, because they shrank, is not raised further.
    """
    for state, planned in follow(world):
        used = {queue: list(row) for queue, row in used_by_queue(state, with_leaving=False).items()}
        started: dict[WorkloadName, dict[int, int]] = {}
        for decision in planned.decisions:
            if isinstance(decision, Evict):
                queue = state.workloads[decision.workload].queue
                for axis, amount in held_by(state, decision.workload, started).items():
                    used[queue][axis] -= amount
            elif isinstance(decision, Start):
                started[decision.workload] = charged(state, decision)
                queue = state.workloads[decision.workload].queue
                row = used.setdefault(queue, [0] * len(state.axes))
                for axis, amount in started[decision.workload].items():
                    before = PlainQuota(state, axis, column(used, axis))
                    assert amount <= max(0, before.available(queue)), decision
                    row[axis] += amount
                    after = PlainQuota(state, axis, column(used, axis))
                    for node in state.path(queue):
                        most = after.most(node)
                        is_raised = after.usage(node) > before.usage(node)
                        assert not is_raised or most is None or after.usage(node) <= most, decision


def held_by(
    state: ClusterState, name: WorkloadName, started: Mapping[WorkloadName, dict[int, int]]
) -> dict[int, int]:
    """What a workload uses that is not leaving, perhaps since a moment ago."""
    if name in started:
        return started[name]
    total: Counter[int] = Counter()
    run = state.runs[name]
    for pod, placed in run.pods.items():
        if placed.phase != "leaving":
            total.update(dict(enumerate(run.charge(pod))))
    return dict(total)


@FEW
@given(plan_worlds(), st.randoms(use_true_random=False))
def test_the_order_in_which_things_are_listed_changes_nothing(
    world: PlanWorld, chance: Random
) -> None:
    shuffled = world._replace(
        queues=tuple(chance.sample(world.queues, len(world.queues))),
        workloads=tuple(chance.sample(world.workloads, len(world.workloads))),
    )
    for (_, first), (_, second) in zip(follow(world), follow(shuffled), strict=True):
        assert first == second


def names_of(world: PlanWorld) -> list[str]:
    return [row["name"] for row in (*world.queues, *world.workloads)]


def called_otherwise(planned: Plan, names: Mapping[str, str]) -> object:
    """The plan as plain data, its names replaced."""
    known = {**names, **{f"cohort/{old}": f"cohort/{new}" for old, new in names.items()}}

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(walk, value))
        return known.get(value, value) if isinstance(value, str) else value

    return walk(msgspec.to_builtins(planned))


@FEW
@given(plan_worlds())
def test_names_in_the_same_order_give_the_same_plan(world: PlanWorld) -> None:
    names = {old: ("N" if old.isupper() else "n") + old for old in names_of(world)}
    renamed = world.renamed(names)
    for (_, first), (_, second) in zip(follow(world), follow(renamed), strict=True):
        assert called_otherwise(first, names) == msgspec.to_builtins(second)


@FEW
@given(plan_worlds(has_ties=False, is_flat=True), st.randoms(use_true_random=False))
def test_without_ties_any_names_give_the_same_plan(world: PlanWorld, chance: Random) -> None:
    """Only who is told first may differ, where two are told at the same time."""
    names: dict[str, str] = {}
    for group in (world.queues, world.workloads):
        plain = [row["name"] for row in group if not row["name"].isupper()]
        names |= dict(zip(plain, chance.sample(plain, len(plain)), strict=True))
    renamed = world.renamed(names)
    for (_, first), (_, second) in zip(follow(world), follow(renamed), strict=True):
        assert sorted(translated(first, names)) == sorted(told(second))


def translated(planned: Plan, names: Mapping[str, str]) -> Iterator[str]:
    for each in planned.decisions:
        match each:
            case Reserve():
                leaving = tuple(sorted(WorkloadName(names[name]) for name in each.waits_for))
                changed: Any = msgspec.structs.replace(each, waits_for=leaving)
            case Evict(beneficiary=beneficiary) if beneficiary is not None:
                changed = msgspec.structs.replace(each, beneficiary=names[beneficiary])
            case _:
                changed = each
        changed = msgspec.structs.replace(changed, workload=names[each.workload])
        yield from told(Plan(taken_ms=0, decisions=(changed,)))


@settings(max_examples=scale_examples(60))
@given(plan_worlds())
def test_whoever_waits_gets_one_answer(world: PlanWorld) -> None:
    """It starts, has a promise, or waits; who starts may be evicted later in the plan."""
    for state, planned in follow(world):
        answers = Counter(
            each.workload for each in planned.decisions if not isinstance(each, Evict)
        )
        assert answers == Counter(name for name in state.workloads if name not in state.runs)
        told_to_leave = Counter(
            each.workload for each in planned.decisions if isinstance(each, Evict)
        )
        assert all(count == 1 for count in told_to_leave.values())
        started = {each.workload for each in planned.decisions if isinstance(each, Start)}
        assert told_to_leave.keys() <= state.runs.keys() | started


def reasons(planned: Plan) -> Iterator[Reason]:
    for each in planned.decisions:
        yield each.reason
        if isinstance(each, Wait):
            yield from (claim.reason for claim in each.claims)


@settings(max_examples=scale_examples(60))
@given(plan_worlds())
def test_the_numbers_that_are_told_stand_in_the_relation_that_is_told(world: PlanWorld) -> None:
    for _, planned in follow(world):
        for reason in reasons(planned):
            for compared in reason.comparisons:
                assert isinstance(compared, Comparison)
                assert compared.holds(), reason


@settings(max_examples=scale_examples(60))
@given(plan_worlds())
def test_nobody_is_told_to_leave_for_nothing(world: PlanWorld) -> None:
    """Who has others leave has a place or a promise in the end.

    As Kueue decides it may also wait, if another was faster; then it is told why.
    """
    for state, planned in follow(world):
        answers = {each.workload: each for each in planned.decisions if not isinstance(each, Evict)}
        for each in planned.decisions:
            if isinstance(each, Evict) and each.beneficiary is not None:
                answer = answers[each.beneficiary]
                assert each.beneficiary not in state.runs
                if isinstance(answer, Wait):
                    assert not world.settings.keeps_promises, answer
                    assert answer.reason.comparisons or answer.reason.names or answer.claims


@settings(max_examples=scale_examples(60))
@given(plan_worlds())
def test_in_our_own_mode_nobody_starts_and_is_told_to_leave_in_one_plan(world: PlanWorld) -> None:
    for _, planned in follow(world._replace(settings=replace(world.settings, faithful=False))):
        started = {each.workload for each in planned.decisions if isinstance(each, Start)}
        told = {each.workload for each in planned.decisions if isinstance(each, Evict)}
        assert not started & told


@settings(max_examples=scale_examples(80))
@given(plan_worlds(has_options=False))
def test_no_victim_is_needless(world: PlanWorld) -> None:
    """If one of those for whom a workload waits stayed, there would be no room for it.

    Looked at where no two wait for the same, and by who told them to leave. Without fair sharing a
    claim that may not borrow has no room either if it would have to.
    """
    for state, planned in follow(world):
        promises = [each for each in planned.decisions if isinstance(each, Reserve)]
        tellers = {each.beneficiary for each in planned.decisions if isinstance(each, Evict)}
        waited_for = Counter(name for each in promises for name in each.waits_for)
        local_usage = {name: all_of(state, name) for name in state.runs}
        for each in planned.decisions:
            if isinstance(each, Start):
                local_usage[each.workload] = charged(state, each)
        for promise in promises:
            is_own = promise.workload in tellers
            if is_own and all(waited_for[name] == 1 for name in promise.waits_for):
                check_promise(state, world, promise, local_usage)


def check_promise(
    state: ClusterState,
    world: PlanWorld,
    promise: Reserve,
    local_usage: Mapping[WorkloadName, dict[int, int]],
) -> None:
    leaving = set(promise.waits_for)
    assert leaving
    for name in leaving:
        assert not has_room(state, world, promise, local_usage, leaving - {name}), (promise, name)


def all_of(state: ClusterState, name: WorkloadName) -> dict[int, int]:
    """What a workload uses, also while it is leaving."""
    total: Counter[int] = Counter()
    run = state.runs[name]
    for pod in run.pods:
        total.update(dict(enumerate(run.charge(pod))))
    return dict(total)


def has_room(
    state: ClusterState,
    world: PlanWorld,
    promise: Reserve,
    local_usage: Mapping[WorkloadName, dict[int, int]],
    leaving: set[WorkloadName],
) -> bool:
    """Whether what is promised fits once *leaving* have left."""
    queue = state.workloads[promise.workload].queue
    has_all = True
    for axis, amount in charged(state, promise).items():
        used: Counter[QueueName] = Counter()
        for name, use in local_usage.items():
            if name not in leaving:
                used[state.workloads[name].queue] += use.get(axis, 0)
        tree = PlainQuota(state, axis, used)
        may_borrow = world.settings.fair_sharing
        is_within = used[queue] + amount <= tree.subtree(queue)
        has_all &= amount <= max(0, tree.available(queue)) and (may_borrow or is_within)
    return has_all
