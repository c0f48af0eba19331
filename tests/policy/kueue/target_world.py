"""Worlds for the searches: read from text tables, or made at random."""

from decimal import Decimal
from itertools import product
from operator import add
from typing import Literal, TypeAlias

import msgspec
from hypothesis import strategies as st

from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.queue import BorrowWithinCohort, ClusterQueue, QueuePreemption
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, Preemptor, Usage
from tests.conformance.kueue_need import lacking_axes
from tests.text_table import number, rows

Within: TypeAlias = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]
Reclaim: TypeAlias = Literal["Never", "LowerPriority", "Any"]
GATE = "FairSharingPreemptWithinNominal"


class TargetWorld(msgspec.Struct, frozen=True, kw_only=True):
    """A tree whose queues hold workloads, and one more that asks for quota."""

    axis_resources: tuple[str, ...]
    nodes: tuple[QuotaNode, ...]
    rules: dict[QueueName, QueuePreemption]
    admitted: tuple[AdmittedWorkload, ...]
    queue: QueueName
    usage: Usage
    priority: int
    queued_ms: int
    settings: KueueSettings = KueueSettings(fair_sharing=True)
    spared: frozenset[WorkloadName] = frozenset()
    spared_within_nominal: frozenset[WorkloadName] = frozenset()
    may_use_fair_sharing: bool = True

    def tree(self) -> QuotaTree:
        tree = QuotaTree(self.axis_resources, self.nodes)
        for admitted in self.admitted:
            tree.charge_axes(admitted.queue, admitted.usage)
        return tree

    def snapshot(self) -> Snapshot:
        parents = {
            QueueName(node.name): None if node.parent is None else QueueName(node.parent)
            for node in self.nodes
        }
        rules = {name: ClusterQueue(preemption=rule) for name, rule in self.rules.items()}
        return Snapshot(self.tree(), parents, rules, self.admitted)

    def preemptor(self) -> Preemptor:
        return Preemptor(
            name=WorkloadName("claimant"),
            queue=self.queue,
            priority=self.priority,
            usage=self.usage,
            queued_ms=self.queued_ms,
            need=lacking_axes(self.tree(), self.queue, self.usage),
            spared=self.spared,
            spared_within_nominal=self.spared_within_nominal,
            may_use_fair_sharing=self.may_use_fair_sharing,
        )


def story_world(tree: str, held: str, claim: str, settings: KueueSettings) -> TargetWorld:
    """Return the world of two tables and one line, all on one axis.

    A cohort is a node without rules (``-`` under *within*). *borrow* is the borrowing limit,
    *over* the policy of borrowWithinCohort: its largest priority, ``any`` or ``-``. The claim
    names a queue, an amount and a priority, and was queued at 0; so was all that is held.
    """
    nodes = rows(tree)
    queue, amount, priority = claim.split()
    return TargetWorld(
        axis_resources=("cpu",),
        nodes=tuple(_story_node(row) for row in nodes),
        rules={QueueName(row["name"]): _rules(row) for row in nodes if row["within"] != "-"},
        admitted=tuple(
            AdmittedWorkload(
                name=WorkloadName(row["name"].strip("!")),
                queue=QueueName(row["queue"]),
                priority=int(row["priority"]),
                usage=((0, int(row["amount"])),),
                queued_ms=0,
                reserved_ms=int(row["since"]),
                is_evicted=row["name"].startswith("!"),
            )
            for row in rows(held)
        ),
        queue=QueueName(queue),
        usage=((0, int(amount)),),
        priority=int(priority),
        queued_ms=0,
        settings=settings,
    )


def _story_node(row: dict[str, str]) -> QuotaNode:
    return QuotaNode(
        name=row["name"],
        parent=None if row["parent"] == "-" else row["parent"],
        weight=Decimal(row["weight"]),
        guaranteed=(int(row["nominal"]),),
        borrow_limit=(number(row["borrow"]),),
        lend_limit=(number(row["lend"]),),
        listed=frozenset({0}),
    )


WITHIN: dict[str, Within] = {
    "never": "Never",
    "lower": "LowerPriority",
    "newer": "LowerOrNewerEqualPriority",
}
RECLAIM: dict[str, Reclaim] = {"never": "Never", "lower": "LowerPriority", "any": "Any"}


def _rules(row: dict[str, str]) -> QueuePreemption:
    over = row.get("over", "-")
    return QueuePreemption(
        within_cluster_queue=WITHIN[row["within"]],
        reclaim_within_cohort=RECLAIM[row["reclaim"]],
        borrow_within_cohort=BorrowWithinCohort(
            policy="Never" if over == "-" else "LowerPriority",
            max_priority_threshold=None if over in ("-", "any") else int(over),
        ),
    )


# Few draws of many-sided values: drawing is what costs, not searching.
Quota: TypeAlias = tuple[int, int | None, int | None] | None
LIMITS = [(None, None)] * 6 + [(2, None), (None, 1), (1, 0)]
MANY: list[Quota] = [None, *((nominal, *each) for nominal in (0, 2, 4) for each in LIMITS)]
FEW: list[Quota] = [None, *((nominal, *each) for nominal in (0, 0, 1, 2) for each in LIMITS)]
WEIGHTS = [Decimal(text) for text in ("1", "1", "0.5", "2", "0")]
TRAITS = [  # priority, queued, reserved, whether evicted
    (priority, queued_ms, reserved_ms, is_evicted)
    for is_evicted in (False, False, False, True)
    for priority in (0, 1, 2)
    for queued_ms in (0, 2)
    for reserved_ms in (0, 1, 2)
]
USAGES: dict[int, list[Usage]] = {
    axes: [
        tuple((axis, amount) for axis, amount in enumerate(amounts) if amount)
        for amounts in product((0, 1, 2, 3), repeat=axes)
        if any(amounts)
    ]
    for axes in (1, 2)
}


@st.composite
def target_worlds(draw: st.DrawFn) -> TargetWorld:
    """Small worlds that are full, so that most preemptors lack something."""
    resources = draw(st.sampled_from([("cpu",), ("cpu", "gpu"), ("cpu", "cpu")]))
    axes = len(resources)
    cohorts = ["c0", "c1", "c2", "c3"][: draw(st.integers(1, 4))]
    nodes: list[QuotaNode] = []
    for position, name in enumerate(cohorts):
        parent = draw(st.sampled_from(cohorts[:position])) if position else None
        nodes.append(draw(_node(name, parent, axes, FEW)))
    names = [QueueName(f"q{position}") for position in range(draw(st.integers(2, 5)))]
    for name in names:
        parent = draw(st.sampled_from([*cohorts * 5, None]))
        nodes.append(draw(_node(name, parent, axes, MANY if name == names[0] else FEW)))
    usages = st.sampled_from(USAGES[axes])
    admitted = []
    for position in range(draw(st.integers(3, 9))):
        queue = draw(st.sampled_from([*names[1:], *names]))
        admitted.append(_holder(position, queue, draw(usages), *draw(st.sampled_from(TRAITS))))
    world = TargetWorld(
        axis_resources=resources,
        nodes=tuple(nodes),
        rules=dict.fromkeys(names, QueuePreemption()) | {names[0]: draw(RULES)},
        admitted=tuple(admitted),
        queue=names[0],
        usage=draw(usages),
        priority=draw(st.integers(1, 3)),
        queued_ms=1,
        settings=draw(SETTINGS),
    )
    return _filled(world, spare=draw(st.sampled_from([0, 0, 1, -1])))


def _filled(world: TargetWorld, *, spare: int) -> TargetWorld:
    """Give the first cohort as much more quota as lacks for what is held, and some to spare."""
    root, *others = world.nodes
    left = [max(0, spare - room) for room in world.tree().available(root.name)]
    quota = tuple(map(add, root.guaranteed, left))
    filled = msgspec.structs.replace(root, guaranteed=quota, listed=frozenset(range(len(quota))))
    return msgspec.structs.replace(world, nodes=(filled, *others))


@st.composite
def _node(
    draw: st.DrawFn, name: str, parent: str | None, axes: int, quotas: list[Quota]
) -> QuotaNode:
    rows = [draw(st.sampled_from(quotas)) for _ in range(axes)]
    if parent is None:  # only nodes with a parent have limits
        rows = [None if row is None else (row[0], None, None) for row in rows]
    listed = [(0, None, None) if row is None else row for row in rows]
    return QuotaNode(
        name=name,
        parent=parent,
        weight=draw(st.sampled_from(WEIGHTS)),
        guaranteed=tuple(row[0] for row in listed),
        borrow_limit=tuple(row[1] for row in listed),
        lend_limit=tuple(row[2] for row in listed),
        listed=frozenset(axis for axis, row in enumerate(rows) if row is not None),
    )


def _holder(
    position: int,
    queue: QueueName,
    usage: Usage,
    priority: int,
    queued_ms: int,
    reserved_ms: int,
    is_evicted: bool,
) -> AdmittedWorkload:
    name = WorkloadName(f"w{position}")
    return AdmittedWorkload(name, queue, priority, usage, queued_ms, reserved_ms, is_evicted)


RULES = st.sampled_from(
    [
        QueuePreemption(
            within_cluster_queue=within, reclaim_within_cohort=reclaim, borrow_within_cohort=borrow
        )
        for within in WITHIN.values()
        for reclaim in (*RECLAIM.values(), RECLAIM["any"])
        for borrow in (
            BorrowWithinCohort(),
            BorrowWithinCohort(policy="LowerPriority"),
            BorrowWithinCohort(policy="LowerPriority", max_priority_threshold=1),
        )
    ]
)
SETTINGS = st.sampled_from(
    [
        KueueSettings(fair_sharing=True, strategies=strategies, feature_gates=gates)
        for strategies in (BOTH_STRATEGIES, BOTH_STRATEGIES[:1], BOTH_STRATEGIES[1:])
        for gates in ((), ((GATE, False),))
    ]
)
