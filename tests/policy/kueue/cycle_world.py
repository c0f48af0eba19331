"""Worlds for whole cycles: read from text tables, or made at random."""

import re
from collections.abc import Sequence
from decimal import Decimal
from operator import add

import msgspec
from hypothesis import strategies as st

from fairlead.fairness.quota_tree import QuotaNode, QuotaTree
from fairlead.model.axes import Axis, QueueName, QuotaAxes, WorkloadName
from fairlead.model.queue import ClusterQueue, FlavorFungibility, QueuePreemption, ResourceGroup
from fairlead.policy.kueue.cycle.cycle import KueueCycle, Turn
from fairlead.policy.kueue.flavors.nomination import Nomination, Nominator
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload, Demand, PendingWorkload, Usage
from tests.policy.kueue.target_world import GATE, LIMITS, RECLAIM, RULES, WITHIN
from tests.text_table import rows

FAIR = KueueSettings(fair_sharing=True)
CLASSICAL = KueueSettings(fair_sharing=False)
AS_A_RULE = FlavorFungibility()


class CycleWorld(msgspec.Struct, frozen=True, kw_only=True):
    """A tree whose queues hold workloads, and the heads of its queues."""

    groups: tuple[ResourceGroup, ...]  # the same for every queue
    nodes: tuple[QuotaNode, ...]
    rules: dict[QueueName, QueuePreemption]
    admitted: tuple[AdmittedWorkload, ...]
    heads: tuple[PendingWorkload, ...]
    fungibility: FlavorFungibility = AS_A_RULE
    settings: KueueSettings = FAIR

    def axes(self) -> QuotaAxes:
        return QuotaAxes([axis for group in self.groups for axis in group.axes()])

    def snapshot(self) -> Snapshot:
        tree = QuotaTree([axis.resource for axis in self.axes().axes], self.nodes)
        for admitted in self.admitted:
            tree.charge_axes(admitted.queue, admitted.usage)
        parents = {
            QueueName(node.name): None if node.parent is None else QueueName(node.parent)
            for node in self.nodes
        }
        rules = {
            name: ClusterQueue(
                resource_groups=self.groups, fungibility=self.fungibility, preemption=preemption
            )
            for name, preemption in self.rules.items()
        }
        return Snapshot(tree, parents, rules, self.admitted)

    def turns(self) -> list[Turn]:
        return list(KueueCycle(self.snapshot(), self.axes(), self.settings).run(self.heads))

    def nominations(self) -> list[Nomination]:
        """Every head, looked at on its own."""
        nominator = Nominator(self.snapshot(), self.axes(), self.settings)
        return [nominator.nominate(head) for head in self.heads]


def read_world(
    groups: str,
    queues: str,
    held: str,
    heads: str,
    *,
    fungibility: FlavorFungibility = AS_A_RULE,
    settings: KueueSettings = FAIR,
) -> CycleWorld:
    """Return the world of three tables.

    *groups* are like ``red blue: cpu memory | fast: gpu``. A queue has a column of quota for each
    axis: ``4``, ``4:borrow2``, ``4:lend1`` or both limits; ``-`` lists none. A cohort has no rules
    (``-``). What is held is like ``red/cpu=2,red/memory=1``. What a head asks for is like
    ``cpu=2,gpu=1``; ``3xcpu=2`` are three such pods, ``1-3xcpu=2`` at least one of three; and
    ``+`` stands between pod sets.
    """
    parsed = tuple(_group(text) for text in groups.split("|"))
    axes = [axis for group in parsed for axis in group.axes()]
    nodes = rows(queues)
    return CycleWorld(
        groups=parsed,
        nodes=tuple(_node(row, axes) for row in nodes),
        rules={
            QueueName(row["name"]): QueuePreemption(
                within_cluster_queue=WITHIN[row["within"]],
                reclaim_within_cohort=RECLAIM[row["reclaim"]],
            )
            for row in nodes
            if row["within"] != "-"
        },
        admitted=tuple(_held(row, axes) for row in rows(held)) if held.strip() else (),
        heads=tuple(
            PendingWorkload(
                name=WorkloadName(row["name"]),
                queue=QueueName(row["queue"]),
                priority=int(row.get("priority", "0")),
                queued_ms=int(row.get("queued", "0")),
                demands=tuple(demand(text) for text in row["asks"].split("+")),
            )
            for row in rows(heads)
        ),
        fungibility=fungibility,
        settings=settings,
    )


def _group(text: str) -> ResourceGroup:
    flavors, resources = text.split(":")
    return ResourceGroup(resources=tuple(resources.split()), flavors=tuple(flavors.split()))


def _node(row: dict[str, str], axes: Sequence[Axis]) -> QuotaNode:
    quota = [row.get(str(axis), "-") for axis in axes]
    parts = [dict(re.findall(r"([a-z]*)(\d+)", text)) for text in quota]
    limits = {
        word: tuple(int(part[word]) if word in part else None for part in parts)
        for word in ("borrow", "lend")
    }
    return QuotaNode(
        name=row["name"],
        parent=None if row["parent"] == "-" else row["parent"],
        weight=Decimal(row.get("weight", "1")),
        guaranteed=tuple(int(part.get("", 0)) for part in parts),
        borrow_limit=limits["borrow"],
        lend_limit=limits["lend"],
        listed=frozenset(number for number, text in enumerate(quota) if text != "-"),
    )


def _held(row: dict[str, str], axes: Sequence[Axis]) -> AdmittedWorkload:
    numbers = {str(axis): number for number, axis in enumerate(axes)}
    return AdmittedWorkload(
        name=WorkloadName(row["name"]),
        queue=QueueName(row["queue"]),
        priority=int(row.get("priority", "0")),
        usage=tuple(sorted((numbers[axis], amount) for axis, amount in _amounts(row["uses"]))),
        queued_ms=0,
        reserved_ms=int(row.get("since", "0")),
    )


def _amounts(text: str) -> list[tuple[str, int]]:
    return [(name, int(amount)) for name, amount in re.findall(r"([^=,]+)=(\d+)", text)]


def demand(text: str) -> Demand:
    """Return what a pod set asks for; it could run on any flavor."""
    found = re.fullmatch(r"(?:(?:(\d+)-)?(\d+)x)?(.*)", text)
    assert found is not None
    with_fewest_pods, count, requests = found.groups()
    return Demand(
        dict(_amounts(requests)),
        int(count or 1),
        None if not with_fewest_pods else int(with_fewest_pods),
    )


def told(turn: Turn) -> str:
    """Return a turn as one line: the head, what became of it, its flavors and who gives way."""
    nomination = turn.nomination
    names = " ".join(sorted(target.workload.name for target in turn.targets))
    words = [nomination.pending.name, turn.outcome, flavors_of(nomination), names]
    return " ".join(word for word in words if word)


def flavors_of(nomination: Nomination) -> str:
    """Return the flavors as ``cpu=red,gpu=fast``, with a ``+`` between pod sets."""
    if nomination.assignment is None:
        return ""
    sets = [",".join(f"{r}={f}" for r, f in each.items()) for each in nomination.assignment.flavors]
    return "+".join(sets)


def lines(text: str) -> list[str]:
    """Return the lines of *text*, each word one blank from the next."""
    return [" ".join(line.split()) for line in text.strip().splitlines()]


AMOUNTS = {
    flavors: [tuple((axis, amount) for axis in flavors) for amount in (1, 2, 4)]
    for flavors in ((0,), (1,), (0, 1))
}
GATES = [
    (),
    ((GATE, False),),
    (("RecomputeAssignmentUponPreemptionTargetsOverlap", False),),
    (("PartialAdmission", False),),
]
FUNGIBILITIES = st.sampled_from(
    [
        FlavorFungibility(when_can_borrow=borrow, when_can_preempt=preempt, preference=preference)
        for borrow in ("MayStopSearch", "TryNextFlavor")
        for preempt in ("MayStopSearch", "TryNextFlavor")
        for preference in ("BorrowingOverPreemption", "PreemptionOverBorrowing")
    ]
)
ONE_GROUP = (ResourceGroup(resources=("cpu",), flavors=("red", "blue")),)
QUOTAS = [(nominal, *limits) for nominal in (0, 0, 1, 3) for limits in LIMITS]
NOT_LISTED = (0, None, None)
SIZES = [(1, None), (2, None), (3, 1), (4, 2)]  # how many pods, and at least


@st.composite
def cycle_worlds(draw: st.DrawFn) -> CycleWorld:
    """Small worlds of two flavors, rather full, with a head in every queue."""
    cohorts = ["c0", "c1", "c2"][: draw(st.integers(1, 3))]
    nodes = [
        draw(_random_node(name, draw(st.sampled_from(cohorts[:at])) if at else None))
        for at, name in enumerate(cohorts)
    ]
    names = [QueueName(f"q{at}") for at in range(draw(st.integers(2, 4)))]
    parents = st.sampled_from([*cohorts * 4, None])
    nodes += [draw(_random_node(name, draw(parents))) for name in names]
    admitted = tuple(
        AdmittedWorkload(
            name=WorkloadName(f"w{at}"),
            queue=draw(st.sampled_from([*names, *names[:1] * 4])),
            priority=draw(st.integers(0, 2)),
            usage=draw(USAGES),
            queued_ms=0,
            reserved_ms=at,
        )
        for at in range(draw(st.integers(0, 5)))
    )
    world = CycleWorld(
        groups=ONE_GROUP,
        nodes=tuple(nodes),
        rules={name: draw(RULES) for name in names},
        admitted=admitted,
        heads=tuple(_random_head(name, *draw(TRAITS)) for name in names),
        fungibility=draw(FUNGIBILITIES),
        settings=KueueSettings(
            fair_sharing=draw(st.booleans()), feature_gates=draw(st.sampled_from(GATES))
        ),
    )
    return _filled(world, spare=draw(st.sampled_from([None, 0, 0, 1, 3])))


def _filled(world: CycleWorld, *, spare: int | None) -> CycleWorld:
    """Give the first cohort as much more quota as lacks for what is held, and some to spare."""
    root, *others = world.nodes
    room = world.snapshot().tree.available(root.name)
    more = [0 if spare is None else max(0, spare - left) for left in room]
    quota = tuple(map(add, root.guaranteed, more))
    filled = msgspec.structs.replace(root, guaranteed=quota, listed=frozenset({0, 1}))
    return msgspec.structs.replace(world, nodes=(filled, *others))


USAGES: st.SearchStrategy[Usage] = st.sampled_from(
    [usage for choice in AMOUNTS.values() for usage in choice]
)
TRAITS = st.sampled_from(
    [
        (priority, queued_ms, amount, size)
        for priority in (0, 1, 3)
        for queued_ms in (0, 1)
        for amount in (1, 2, 4)
        for size in SIZES
    ]
)


def _random_head(
    queue: QueueName, priority: int, queued_ms: int, amount: int, size: tuple[int, int | None]
) -> PendingWorkload:
    asked = Demand({"cpu": amount}, *size)
    return PendingWorkload(WorkloadName(f"head-of-{queue}"), queue, priority, queued_ms, (asked,))


@st.composite
def _random_node(draw: st.DrawFn, name: str, parent: str | None) -> QuotaNode:
    quotas = [draw(st.sampled_from([NOT_LISTED, *QUOTAS])) for _ in range(2)]
    is_root = parent is None
    return QuotaNode(
        name=name,
        parent=parent,
        weight=draw(st.sampled_from([Decimal(text) for text in ("1", "0.5", "2", "0")])),
        guaranteed=tuple(quota[0] for quota in quotas),
        borrow_limit=tuple(None if is_root else quota[1] for quota in quotas),
        lend_limit=tuple(None if is_root else quota[2] for quota in quotas),
        listed=frozenset(at for at, quota in enumerate(quotas) if quota != NOT_LISTED),
    )
