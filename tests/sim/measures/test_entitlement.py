"""What is due to queues, by one yardstick for all rule sets."""

from collections.abc import Collection
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import Axis, QueueName, QuotaAxes
from fairlead.model.events import NodeAdded, Placement, QueueChanged, WorkloadAdded, WorkloadStarted
from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.model.workload import numbered_pod
from fairlead.sim.engine.events import CapacityChanged, SimulationEvent
from fairlead.sim.engine.workload_maker import WorkloadMaker
from fairlead.sim.measures.entitlement import EntitlementFollower
from fairlead.sim.scenario.kai.rule_set import kai_address_book
from fairlead.sim.scenario.variant.prepare import prepare
from tests.scale_examples import scale_examples
from tests.sim.random_scenarios import POLICIES, Document, documents, read
from tests.sim.small_cluster import DEVICE, GPU, RESOURCES, cluster, job, queue

GPU_PLACE = RESOURCES.index(GPU)


def ask(state: ClusterState, queue_name: str, gpus: int) -> None:
    made = WorkloadMaker(state, kai_address_book(state)).workload(
        job(f"of-{queue_name}", queue_name, gpus=gpus)
    )
    state.apply(WorkloadAdded(made))


def thousandths_due(state: ClusterState) -> dict[str, int]:
    """Of a GPU, of which a GPU has 1,000 base units."""
    everything = EntitlementFollower(state).everything(0)
    return {name: each[GPU_PLACE] for name, each in everything.entitled.items()}


def test_guarantees_go_first_and_the_rest_by_weight() -> None:
    """16 GPUs: a owns 4 and wants 12, b weighs 2 and wants 12, c wants 1.

    4 for a and 1 for c; the other 11 by 1 to 2: a has 4 + 11/3 = 7.666, b 22/3 = 7.333.
    """
    state = cluster([queue("a", gpus=4), queue("b", weight="2"), queue("c")], {"n": 16})
    for name, wanted in (("a", 12), ("b", 12), ("c", 1)):
        ask(state, name, wanted)
    assert thousandths_due(state) == {"a": 7_666, "b": 7_333, "c": 1_000}


def test_three_equal_queues_are_due_a_third_each() -> None:
    """16 GPUs for three: 5.333 each. Whole GPUs would be 6, 5 and 5, always to the same queue."""
    state = cluster([queue(name) for name in "abc"], {"n": 16})
    for name in "abc":
        ask(state, name, 16)
    assert thousandths_due(state) == {"a": 5_333, "b": 5_333, "c": 5_333}


def test_what_rounding_leaves_is_not_due_to_a_lower_priority() -> None:
    """The three are due 15.999 of 16 GPUs and lack more; nothing is due to the fourth."""
    first = [msgspec.structs.replace(queue(name), priority=200) for name in "abc"]
    state = cluster([*first, queue("d")], {"n": 16})
    for name in "abcd":
        ask(state, name, 16)
    assert thousandths_due(state)["d"] == 0


def test_nobody_is_due_more_than_it_wants() -> None:
    state = cluster([queue("a", gpus=8), queue("b")], {"n": 16})
    ask(state, "a", 3)
    assert thousandths_due(state) == {"a": 3_000, "b": 0}


def test_what_is_held_is_wanted() -> None:
    state = cluster([queue("a")], {"n": 16})
    ask(state, "a", 3)
    started = WorkloadStarted(
        workload=next(iter(state.workloads)),
        placements=(Placement(numbered_pod("main", 0), "n"),),
        at_ms=0,
    )
    state.apply(started)
    everything = EntitlementFollower(state).everything(5)
    assert everything.at_ms == 5
    assert everything.demand["a"][GPU_PLACE] == 3 * DEVICE


def test_flavors_of_a_resource_are_added_up_and_quotas_stand_for_nodes_that_are_not_there() -> None:
    """Two flavors of 3 and 5 GPUs, guaranteed to one queue that wants 6."""
    axes = QuotaAxes([Axis(GPU, "old"), Axis(GPU, "new")])
    state = ClusterState((GPU,), axes)
    made = queue("a")
    flavored = msgspec.structs.replace(
        made,
        weights=(Decimal(1), Decimal(1)),
        guaranteed=(3 * DEVICE, 5 * DEVICE),
        ceiling=(None, None),
        borrow_limit=(None, None),
        lend_limit=(None, None),
    )
    state.apply(QueueChanged(flavored))
    made_job = WorkloadMaker(state, kai_address_book(state)).workload(job("j", "a", gpus=6))
    state.apply(WorkloadAdded(made_job))
    assert EntitlementFollower(state).everything(0).entitled[QueueName("a")] == (6 * DEVICE,)
    state.apply(NodeAdded(Node(name="n", allocatable=(4 * DEVICE,))))
    # What is guaranteed is due even where nodes have less; beyond it there is nothing.
    assert EntitlementFollower(state).everything(0).entitled[QueueName("a")] == (6 * DEVICE,)
    state.apply(QueueChanged(msgspec.structs.replace(flavored, guaranteed=(DEVICE, DEVICE))))
    assert EntitlementFollower(state).everything(0).entitled[QueueName("a")] == (4 * DEVICE,)


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(25))
@given(documents(), st.sampled_from(POLICIES))
def test_what_is_followed_is_what_a_new_division_of_the_state_gives(
    document: Document, policy: str
) -> None:
    scenario = read(document, policy)
    prepared = prepare(scenario, scenario.by_name[policy])
    follower = EntitlementFollower(prepared.state)
    known = follower.everything(0)
    happened: set[QueueName] = set()

    def listen(event: SimulationEvent) -> None:
        if not isinstance(event, CapacityChanged):
            happened.add(QueueName(event.job.queue))

    def watch(now_ms: int, until_ms: int, queues: Collection[QueueName]) -> None:
        del until_ms
        assert happened == set(queues), "whoever is told of what happens knows as much"
        happened.clear()
        change = follower.change(now_ms, queues)
        known.entitled.update(change.entitled)
        known.demand.update(change.demand)
        plain = EntitlementFollower(prepared.state).everything(0)
        assert plain == follower.everything(0) == known

    prepared.simulation(listen, watch).run()
