"""What is kept from search to search, and from turn to turn, never shows in an answer."""

from decimal import Decimal
from random import Random
from unittest import mock

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.queue import QueuePreemption, ResourceGroup
from fairlead.policy.kueue.flavors import nomination
from fairlead.policy.kueue.preemption.classical import classical_targets
from fairlead.policy.kueue.preemption.fair import SearchResult, fair_targets, search_fairly
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, Demand, PendingWorkload, Preemptor
from tests.conformance.kueue_need import lacking_axes
from tests.policy.kueue.cycle_world import FUNGIBILITIES, GATES, CycleWorld
from tests.policy.kueue.preemption.plain_fair import plain_fair_targets
from tests.policy.kueue.target_world import RULES, TargetWorld, story_world, target_worlds
from tests.scale_examples import scale_examples

GROUPS = {
    ("cpu",): ResourceGroup(resources=("cpu",), flavors=("red",)),
    ("cpu", "gpu"): ResourceGroup(resources=("cpu", "gpu"), flavors=("red",)),
    ("cpu", "cpu"): ResourceGroup(resources=("cpu",), flavors=("red", "blue")),
}
AMOUNTS = st.sampled_from([1, 1, 2, 3])


@st.composite
def crowded_worlds(draw: st.DrawFn) -> tuple[TargetWorld, CycleWorld]:
    """Full worlds in which every queue has a head, and its own rules for whom it may displace."""
    full = draw(target_worlds())
    group = GROUPS[full.axis_resources]
    heads = [
        PendingWorkload(
            name=WorkloadName(f"head-of-{queue}"),
            queue=queue,
            priority=draw(st.integers(0, 3)),
            queued_ms=1,
            demands=(Demand({resource: draw(AMOUNTS) for resource in group.resources}),),
        )
        for queue in full.rules
    ]
    world = CycleWorld(
        groups=(group,),
        nodes=full.nodes,
        rules={queue: draw(RULES) for queue in full.rules},
        admitted=full.admitted,
        heads=tuple(heads),
        fungibility=draw(FUNGIBILITIES),
        settings=msgspec.structs.replace(
            full.settings,
            fair_sharing=draw(st.sampled_from([True, True, False])),
            feature_gates=draw(st.sampled_from(GATES)),
        ),
    )
    return full, world


def anew(snapshot: Snapshot, world: TargetWorld) -> Snapshot:
    """The same quota, use and workloads, with nothing known about them."""
    used: dict[str, Amounts] = {name: snapshot.tree.charged(name) for name in snapshot.rules}
    tree = QuotaTree(world.axis_resources, world.nodes, used)
    admitted = [each for name in snapshot.rules for each in snapshot.admitted(name).workloads]
    return Snapshot(tree, snapshot.parents, snapshot.rules, admitted)


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(300))
@given(crowded_worlds())
def test_a_cycle_comes_to_the_same_if_every_search_starts_from_nothing(
    worlds: tuple[TargetWorld, CycleWorld],
) -> None:
    full, world = worlds

    def fair(snapshot: Snapshot, preemptor: Preemptor, rules: KueueSettings) -> SearchResult:
        return search_fairly(anew(snapshot, full), preemptor, rules)

    def classical(snapshot: Snapshot, preemptor: Preemptor) -> list[Target]:
        return classical_targets(anew(snapshot, full), preemptor)

    turns = world.turns()
    with mock.patch.multiple(nomination, search_fairly=fair, classical_targets=classical):
        assert turns == world.turns()


def crowd(chance: Random) -> TargetWorld:
    """Many queues in few cohorts, most of which ask in the same way, and little to lend."""
    cohorts = ["root", "left", "right"][: chance.choice([1, 3])]
    queues = [QueueName(f"q{at}") for at in range(chance.randint(4, 8))]
    admitted = [
        AdmittedWorkload(
            name=WorkloadName(f"w{at}"),
            queue=chance.choice(queues),
            priority=chance.randint(0, 2),
            usage=((0, chance.choice([1, 2, 3])),),
            queued_ms=0,
            reserved_ms=chance.randint(0, 2),
        )
        for at in range(20)
    ]
    nodes = [_quota_node(name, "root", chance, (0, 0, 1, 6)) for name in cohorts[1:]]
    nodes += [_quota_node(name, chance.choice(cohorts), chance, (0, 0, 1)) for name in queues]
    held = sum(amount for admitted in admitted for _, amount in admitted.usage)
    spare = held - sum(node.guaranteed[0] for node in nodes)
    nodes.append(_quota_node("root", None, chance, (spare, spare + 1)))
    rules = QueuePreemption(reclaim_within_cohort=chance.choice(["Any", "LowerPriority"]))
    return TargetWorld(
        axis_resources=("cpu",),
        nodes=tuple(nodes),
        rules=dict.fromkeys(queues, rules),
        admitted=tuple(admitted),
        queue=queues[0],
        usage=((0, chance.randint(1, 9)),),
        priority=2,
        queued_ms=1,
        settings=KueueSettings(
            fair_sharing=True, strategies=chance.choice([BOTH_STRATEGIES, BOTH_STRATEGIES[:1]])
        ),
    )


def _quota_node(
    name: str, parent: str | None, chance: Random, quotas: tuple[int, ...]
) -> QuotaNode:
    return QuotaNode(
        name=name,
        parent=parent,
        weight=chance.choice([Decimal(1), Decimal(2)]),
        guaranteed=(chance.choice(quotas),),
        borrow_limit=(None,),
        lend_limit=(None if parent is None else chance.choice([None, None, 0, 1]),),
        listed=frozenset({0}),
    )


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(200))
@given(st.integers(0, 2**32))
def test_a_search_finds_what_it_would_have_found_had_there_been_none_before(seed: int) -> None:
    """Between the searches workloads leave for good, others come, and some come only on trial."""
    chance = Random(seed)
    world = crowd(chance)
    snapshot, there = world.snapshot(), list(world.admitted)
    for _ in range(12):
        queue, usage = chance.choice(list(world.rules)), ((0, chance.randint(1, 4)),)
        match chance.choice(["leave", "come", "try"]):
            case "leave":
                snapshot.remove(there.pop(chance.randrange(len(there))))
            case "come":
                snapshot.charge(queue, usage)
            case "try":
                snapshot.charge(queue, usage)
                snapshot.discharge(queue, usage)
        candidate_filter = chance.choice(list(world.rules))
        need = lacking_axes(snapshot.tree, candidate_filter, usage)
        preemptor = Preemptor(WorkloadName("claimant"), candidate_filter, 2, usage, 1, need)
        found = fair_targets(snapshot, preemptor, world.settings)
        assert found == fair_targets(anew(snapshot, world), preemptor, world.settings)


@settings(max_examples=scale_examples(60))
@given(st.integers(0, 2**32))
def test_in_a_crowd_too_a_search_equals_the_plain_one(seed: int) -> None:
    """Several victims are taken from several cohorts, which changes the way to the next queue."""
    world = crowd(Random(seed))
    found = fair_targets(world.snapshot(), world.preemptor(), world.settings)
    assert [(each.workload.name, each.reason) for each in found] == plain_fair_targets(world)


@pytest.mark.exhaustive
@given(crowded_worlds())
def test_what_one_snapshot_learns_does_not_reach_its_copy(
    worlds: tuple[TargetWorld, CycleWorld],
) -> None:
    """A copy is made as for the victims of a cycle; everybody leaves one of the two."""
    full, world = worlds
    preemptor = full.preemptor()
    snapshot = world.snapshot()
    before = fair_targets(snapshot, preemptor, full.settings)
    twin = snapshot.copy()
    assert fair_targets(twin, preemptor, full.settings) == before
    for admitted in world.admitted:
        twin.remove(admitted)
    assert fair_targets(snapshot, preemptor, full.settings) == before
    assert fair_targets(twin, preemptor, full.settings) == []
    assert all(not twin.admitted(QueueName(name)).workloads for name in world.rules)


def test_what_is_known_of_a_side_is_what_it_was_before_a_search_took_from_it() -> None:
    """S uses 9 of 10 and c 3; the first claim of 4 takes b1, which leaves S with 4, and then fails.

    Without one of d's, S would have had 3 then; it has 8 when c has left. So a claim of 5 is
    refused b1 (9 - 5 = 4), but gets d's one by one: S keeps 8, 7, 6, 5, and 1 + 4 are free.
    """
    world = story_world(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      10      -      -    -      -
        S    root   1      0       -      -    -      -
        a    root   1      0       -      -    never  any
        b    S      1      0       -      -    never  any
        c    root   1      0       -      -    never  any
        d    S      1      0       -      -    never  any
        """,
        """
        name queue amount priority since
        b1   b     5      0        0
        c1   c     3      0        0
        d1   d     1      0        1
        d2   d     1      0        2
        d3   d     1      0        3
        d4   d     1      0        4
        """,
        "a 4 0",
        KueueSettings(fair_sharing=True, strategies=BOTH_STRATEGIES[:1]),
    )
    snapshot, preemptor = world.snapshot(), world.preemptor()
    assert fair_targets(snapshot, preemptor, world.settings) == []
    snapshot.remove(world.admitted[1])
    larger = msgspec.structs.replace(preemptor, usage=((0, 5),))
    found = fair_targets(snapshot, larger, world.settings)
    assert [target.workload.name for target in found] == ["d4", "d3", "d2", "d1"]
