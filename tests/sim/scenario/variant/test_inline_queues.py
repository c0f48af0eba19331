"""One tree of queues under three rule sets: the objects that it becomes, and their numbers.

The cluster has 2 nodes with 8 cpu, 32Gi and 4 GPUs each: 8 GPUs in all.
"""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.state import ClusterState
from fairlead.policy.contract import POLICY_NAMES, PolicyName
from fairlead.sim.fields import GPU
from fairlead.sim.scenario.form.scenario_form import (
    ClusterForm,
    NodeGroupForm,
    PolicyForm,
    QueueForm,
    SpecForm,
)
from fairlead.sim.scenario.variant.objects import source_without_lines
from fairlead.sim.scenario.variant.prepare import load_variant, prepare
from fairlead.sim.scenario.variant.queue_tree import QueueTree
from tests.sim.scenario.scenario_files import NODES, WORK, indented, scenario
from tests.text_table import rows

FILE = source_without_lines("file")
TREE = indented(
    """
    queues:
      - {name: red, weight: 2}
      - {name: a, parent: red, guaranteed: {gpu: 3}, limit: {gpu: 5}}
      - {name: blue, guaranteed: {gpu: 4}}
      - {name: b, parent: blue, guaranteed: {gpu: 1}, borrowLimit: {gpu: 2}}
      - {name: c, parent: blue, guaranteed: {gpu: 2}}
    policies: [kai, kueue, elastic-quota]
    """
)

# red has what is below it: 3. All guarantees: 3 + 4 = 7, so 8 - 7 = 1 is left over. Under Kueue
# blue owns what its queues do not, 4 - 1 - 2 = 1, and the top the one that is left over. Under
# elastic-quota both are left over: 8 - 3 - 1 - 2 = 2. A limit of 5 beside 3 is to borrow 2; to
# borrow 2 beside 1 is a limit of 3.
EXPECTED: dict[PolicyName, str] = {
    "kai": """
        queue    guaranteed ceiling borrow weight
        red      3          -       -      2
        a        3          5       -      1
        blue     4          -       -      1
        b        1          3       -      1
        c        2          -       -      1
    """,
    "kueue": """
        queue           guaranteed ceiling borrow weight
        cohort/cluster  1          -       -      1
        cohort/red      0          -       -      2
        a               3          -       2      1
        cohort/blue     1          -       -      1
        b               1          -       2      1
        c               2          -       -      1
    """,
    "elastic-quota": """
        queue     guaranteed ceiling borrow weight
        a         3          5       -      1
        b         1          3       -      1
        c         2          -       -      1
        left-over 2          -       -      1
    """,
}


def gpus(state: ClusterState, amounts: Sequence[int | None]) -> str:
    [place] = [place for place, axis in enumerate(state.axes.axes) if axis.resource.endswith("gpu")]
    amount = amounts[place]
    return "-" if amount is None else str(amount // 1000)


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_each_rule_set_gets_the_same_guarantees_in_its_own_terms(
    tmp_path: Path, policy: PolicyName
) -> None:
    found = scenario(tmp_path, NODES + TREE + WORK)
    state = prepare(found, found.by_name[policy]).state
    numbers = {
        name: (
            gpus(state, queue.guaranteed),
            gpus(state, queue.ceiling),
            gpus(state, queue.borrow_limit),
            str(queue.weights[-1]),
        )
        for name, queue in state.queues.items()
    }
    expected = {
        row["queue"]: (row["guaranteed"], row["ceiling"], row["borrow"], row["weight"])
        for row in rows(EXPECTED[policy])
    }
    assert numbers == expected


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_what_no_queue_names_is_free_of_quota(tmp_path: Path, policy: PolicyName) -> None:
    """The only guarantee is of GPUs, but jobs that ask for cpu too start all the same: 8 of 1."""
    work = """
        work:
          - name: w
            queue: a
            shapes: [{requests: {cpu: 1, gpu: 1}, run: 1h}]
            arrivals: {at: {times: [0s], jobs: 8}}
        queues: [{name: a, guaranteed: {gpu: 8}}]
    """
    found = scenario(tmp_path, NODES + indented(work) + f"  policies: [{policy}]\n")
    prepared = prepare(found, found.variants[0])
    simulation = prepared.simulation(lambda _: None)
    simulation.run()
    assert simulation.now_ms - found.spec.start_ms == 3_600_000  # all at once, none after another


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_without_any_guarantee_everybody_may_have_everything(
    tmp_path: Path, policy: PolicyName
) -> None:
    work = """
        work:
          - {name: w, queue: a, jobs: [{pods: 2, requests: {cpu: 8, gpu: 4}, run: 1h}]}
        queues: [{name: a}, {name: b}]
    """
    found = scenario(tmp_path, NODES + indented(work) + f"  policies: [{policy}]\n")
    simulation = prepare(found, found.variants[0]).simulation(lambda _: None)
    simulation.run()
    assert simulation.now_ms - found.spec.start_ms == 3_600_000


@st.composite
def trees(draw: st.DrawFn) -> list[QueueForm]:
    """Up to three roots with up to three leaves each, of at most 30 GPUs together."""
    queues = []
    for root in range(draw(st.integers(1, 3))):
        leaves = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
        own = draw(st.none() | st.integers(sum(leaves), sum(leaves) + 1))
        guaranteed = None if own is None else {GPU: own * 1000}
        queues.append(QueueForm(name=f"root{root}", guaranteed=guaranteed))
        queues += [
            QueueForm(
                name=f"leaf{root}{leaf}",
                parent=f"root{root}",
                guaranteed={GPU: amount * 1000},
                weight=Decimal(draw(st.integers(1, 5))),
            )
            for leaf, amount in enumerate(leaves)
        ]
    return draw(st.permutations(queues))


@settings(deadline=None)
@given(queues=trees())
def test_what_leaves_are_guaranteed_does_not_depend_on_the_rules(queues: list[QueueForm]) -> None:
    """And nothing of the cluster gets lost: quota under Kueue and all mins are its 30 GPUs."""
    cluster = ClusterForm(nodes=(NodeGroupForm(name="node", capacity={GPU: 30_000}),))
    spec = SpecForm(cluster=cluster, queues=tuple(queues), work=())
    tree = QueueTree(queues, cluster)
    leaves = {queue.name: queue.guaranteed for queue in queues if tree.is_leaf(queue)}
    for policy in POLICY_NAMES:
        result = load_variant(spec, FILE, ".", PolicyForm(policy=policy), 0)
        assert result.assembled is not None, result.findings
        state = result.assembled.state
        held = {name: queue.guaranteed[-1] for name, queue in state.queues.items()}
        named = {str(name): amount for name, amount in held.items() if name in leaves}
        assert named == {name: (own or {}).get(GPU) for name, own in leaves.items()}
        if policy != "kai":
            assert sum(amount or 0 for amount in held.values()) == 30_000


def test_a_queue_may_have_the_name_that_we_would_choose() -> None:
    cluster = ClusterForm(nodes=(NodeGroupForm(name="node", capacity={GPU: 4000}),))
    queues = (QueueForm(name="cluster"), QueueForm(name="left-over"))
    spec = SpecForm(cluster=cluster, queues=queues, work=())
    names = []
    for policy in POLICY_NAMES:
        result = load_variant(spec, FILE, ".", PolicyForm(policy=policy), 0)
        assert result.assembled is not None
        names.append(sorted(result.assembled.state.queues))
    assert names == [
        ["cluster", "left-over"],
        ["cluster", "cohort/cluster-0", "left-over"],
        ["cluster", "left-over", "left-over-0"],
    ]
