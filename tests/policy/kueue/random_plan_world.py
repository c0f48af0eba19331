"""Small random clusters under Kueue's rules, as rows of the tables that `plan_world` reads.

They are drawn from a seed, evenly: a cluster has to be full for anybody to give way, and that is
not what a search for the smallest example would find.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, NamedTuple, TypeAlias, cast

from hypothesis import strategies as st

from fairlead.model.axes import QueueName
from fairlead.model.catalogue import ResourceFlavor
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.plan import LeftPending, Plan
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueOptions, KueueSettings
from tests.policy.kueue.plain_quota import PlainQuota, used_by_queue
from tests.policy.kueue.plan_world import NOW_MS, add, build, plan, with_catalogue

Row: TypeAlias = dict[str, str]

MOST_PLANS = 6
GROUPS = (
    "gpu:any",
    "gpu:any",
    "gpu:red,blue",
    "cpu,gpu:red",
    "cpu,gpu:red,blue",
    "cpu:red gpu:any",
)
ODDITIES = ("requeued", "backOff", "preempted", "preempting", "active", "kind")
GATES = (
    "PrioritizePreemptorWorkloads",
    "FairSharingPrioritizeNonBorrowing",
    "PrioritySortingWithinCohort",
    "FairSharingPreemptWithinNominal",
    "RecomputeAssignmentUponPreemptionTargetsOverlap",
    "PartialAdmission",
)
OPTIONS = (
    KueueOptions(),
    KueueOptions(),
    KueueOptions(no_preemption_loops=True),
    KueueOptions(min_run_time_ms=NOW_MS - 2),
    KueueOptions(preemption_delay_ms=NOW_MS - 2, priority_override=True),
    KueueOptions(smallest_first=True),
)
RULES = {
    "within": ("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
    "reclaim": ("Any", "Any", "Never", "LowerPriority"),
    "borrowWithin": ("-", "-", "LowerPriority", "LowerPriority<=1"),
    "strategy": ("BestEffortFIFO", "BestEffortFIFO", "StrictFIFO"),
    "stop": ("None",) * 18 + ("Hold", "HoldAndDrain"),
    "whenBorrow": ("MayStopSearch", "TryNextFlavor"),
    "whenPreempt": ("TryNextFlavor", "MayStopSearch"),
    "preference": ("BorrowingOverPreemption", "PreemptionOverBorrowing"),
}


class PlanWorld(NamedTuple):
    """A cluster and the settings of its administrator."""

    queues: tuple[Row, ...]
    workloads: tuple[Row, ...]
    groups: str
    settings: KueueSettings

    def state(self) -> ClusterState:
        """Return the cluster, with its flavors; each has the label ``kind`` with its name."""
        state = build(self.queues, self.workloads, self.groups)
        names = {name for group in self.groups.split() for name in group.split(":")[1].split(",")}
        flavors = [ResourceFlavor(name=name, node_labels=(("kind", name),)) for name in names]
        with_catalogue(state, flavors={flavor.name: flavor for flavor in flavors})
        return state

    def renamed(self, names: Mapping[str, str]) -> "PlanWorld":
        """Return the same with queues and workloads called otherwise."""

        def row(known: Row) -> Row:
            columns = ("name", "parent", "queue")
            return known | {at: names[known[at]] for at in columns if known.get(at) in names}

        return self._replace(
            queues=tuple(map(row, self.queues)), workloads=tuple(map(row, self.workloads))
        )


def follow(world: PlanWorld, most: int = MOST_PLANS) -> Iterator[tuple[ClusterState, Plan]]:
    """Yield each state and its plan, carried out one after the other until nothing changes."""
    state = world.state()
    for number in range(most):
        planned = plan(state, world.settings, NOW_MS + number)
        yield state, planned
        if all(isinstance(each, LeftPending) for each in planned.decisions):
            return
        carry_out(state, planned.decisions, NOW_MS + number, keeps_reservations=False)


def plan_worlds(
    *, has_ties: bool = True, is_flat: bool = False, has_options: bool = True
) -> st.SearchStrategy[PlanWorld]:
    """Up to three cohorts, four queues, fourteen workloads, two resources and two flavors.

    Without ties no two workloads came, or have had quota, since the same moment; flat is at most
    one cohort.
    """
    seeds = st.integers(0, 2**40)
    return seeds.map(
        lambda seed: random_plan_world(
            Random(seed), has_ties=has_ties, is_flat=is_flat, has_options=has_options
        )
    )


def random_plan_world(
    chance: Random, *, has_ties: bool = True, is_flat: bool = False, has_options: bool = True
) -> PlanWorld:
    """Return a cluster most of whose quota is in use, and some who want more."""
    groups = chance.choice(GROUPS)
    cohorts: list[Row] = []
    for name in ("C", "D", "E")[: chance.choice((0, 1, 1) if is_flat else (1, 1, 2, 3))]:
        parent = chance.choice([*(row["name"] for row in cohorts), "-"]) if cohorts else "-"
        cohorts.append(_node(chance, name, parent, groups))
    names = [row["name"] for row in cohorts]
    queues = []
    for at in range(chance.randint(2, 4)):
        parent = chance.choice([*names * 4, "-"])
        rules = {column: chance.choice(values) for column, values in RULES.items()}
        queues.append(_node(chance, f"q{at}", parent, groups) | rules)
    world = PlanWorld((*cohorts, *queues), (), groups, _settings(chance, has_options=has_options))
    return world._replace(workloads=tuple(_workloads(chance, world, has_ties=has_ties)))


def _workloads(chance: Random, world: PlanWorld, *, has_ties: bool) -> Iterator[Row]:
    """Yield workloads; the first ones, of half of the queues, run as long as there is room."""
    queues = [row["name"] for row in world.queues if not row["name"].isupper()]
    state = build(world.queues, (), world.groups)
    count = chance.randint(6, 14)
    moments = chance.sample(range(count), count)
    for at in range(count):
        moment = chance.randint(0, 3) if has_ties else moments[at]
        is_early = at < count * 2 // 3
        queue = chance.choice(queues[: len(queues) // 2] if is_early else queues)
        row = _workload(chance, f"w{at}", queue, world.groups, moment)
        runs = row | {"running": str(chance.randint(0, 3) if has_ties else moments[at])}
        with state.trial():
            add(state, runs, world.groups)
            has_room = _has_room(state, row["queue"]) or chance.random() < 0.1
        if is_early and has_room:
            add(state, runs, world.groups)
            yield runs
        else:
            yield row | _oddity(chance, moment)


def _has_room(state: ClusterState, queue: str) -> bool:
    """Return whether no more is used than there is for *queue*."""
    used = used_by_queue(state, with_leaving=True)
    for axis in range(len(state.axes)):
        by_queue = Counter({name: row[axis] for name, row in used.items()})
        tree = PlainQuota(state, axis, by_queue)
        for node in state.path(QueueName(queue)):
            most = tree.most(node)
            if most is not None and tree.usage(node) > most:
                return False
    return True


def _settings(chance: Random, *, has_options: bool) -> KueueSettings:
    gates = chance.choice([(), ((chance.choice(GATES), chance.random() < 0.5),)])
    options = chance.choice(OPTIONS) if has_options else KueueOptions()
    return KueueSettings(
        fair_sharing=chance.random() < 0.6,
        strategies=chance.choice(
            [BOTH_STRATEGIES, BOTH_STRATEGIES, BOTH_STRATEGIES[:1], BOTH_STRATEGIES[1:]]
        ),
        feature_gates=gates,
        requeued_by=cast(Any, chance.choice(["Eviction", "Creation"])),
        options=options,
        faithful=options == KueueOptions() and chance.random() < 0.5,
    )


def _node(chance: Random, name: str, parent: str, groups: str) -> Row:
    """Return quota and limits; limits only where there is a parent, and no more lent than had."""
    pairs = [group.split(":") for group in groups.split()]
    size = sum(len(names.split(",")) * len(flavors.split(",")) for names, flavors in pairs)
    quota = [chance.choice((0, 0, 1, 2, 3, 5)) for _ in range(size)]
    limits = ("-",) if parent == "-" else ("-", "-", "-", "-", "1", "2", "0")
    borrow = [chance.choice(limits) for _ in quota]
    lend = [chance.choice(limits) for _ in quota]
    lent_of = zip(lend, quota, strict=True)
    lend = [text if text == "-" else str(min(int(text), own)) for text, own in lent_of]
    return {
        "name": name,
        "parent": parent,
        "quota": ",".join(map(str, quota)),
        "borrow": ",".join(borrow),
        "lend": ",".join(lend),
        "weight": chance.choice(("1", "1", "1", "2", "0.5", "0")),
    }


def _workload(chance: Random, name: str, queue: str, groups: str, moment: int) -> Row:
    sets = range(chance.choice((1, 1, 1, 2)))
    flavors = [group.split(":")[1].split(",") for group in groups.split()]
    resources = sum(len(group.split(":")[0].split(",")) for group in groups.split())
    return {
        "name": name,
        "queue": queue,
        "asks": "+".join(_pod_set(chance, resources) for _ in sets),
        "priority": str(chance.randint(0, 2)),
        "created": str(moment),
        "on": "+".join(",".join(chance.choice(each) for each in flavors) for _ in sets),
    }


def _oddity(chance: Random, moment: int) -> Row:
    """Return something unusual about one that waits, seldom."""
    column = chance.choice(("-",) * 15 + ODDITIES)
    values = {
        "requeued": str(moment + 20),
        "backOff": str(NOW_MS + 3),
        "preempted": str(moment),
        "preempting": "yes",
        "active": "no",
        "kind": chance.choice(("red", "blue", "any")),
    }
    return {} if column == "-" else {column: values[column]}


def _pod_set(chance: Random, resources: int) -> str:
    amounts = ",".join(str(chance.choice((1, 1, 1, 2, 3, 0))) for _ in range(resources))
    return chance.choice(("", "", "", "", "", "", "2x", "1-2x", "1-3x")) + amounts
