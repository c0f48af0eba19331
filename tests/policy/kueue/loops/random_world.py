"""Small worlds made up by chance: every kind of limit, weight and rule occurs, and most are full.

At most three levels of the tree, four ClusterQueues and five workloads of up to four. Half of the
worlds have one resource of one flavor, and workloads of a single pod. The others have two flavors,
which queues try in their own order, or two resources; workloads have up to two pod sets, and some
may start with fewer pods than they ask for.
"""

from collections.abc import Iterator
from random import Random
from typing import Final

from msgspec.structs import replace

from fairlead.policy.kueue.settings import BOTH_STRATEGIES, KueueOptions, KueueSettings, Strategy
from tests.policy.kueue.loops.small_world import Row, SmallWorld

_STRATEGIES: Final[tuple[tuple[Strategy, ...], ...]] = (
    BOTH_STRATEGIES,
    BOTH_STRATEGIES,
    ("LessThanOrEqualToFinalShare",),
    ("LessThanInitialShare",),
)
_SETTINGS: Final = (
    *(KueueSettings(fair_sharing=True, strategies=each) for each in _STRATEGIES),
    KueueSettings(),
)
_GATES: Final = (
    ("PrioritizePreemptorWorkloads", False),
    ("FairSharingPrioritizeNonBorrowing", False),
    ("PrioritySortingWithinCohort", False),
    ("FairSharingPreemptWithinNominal", True),
    ("RecomputeAssignmentUponPreemptionTargetsOverlap", False),
    ("PartialAdmission", False),
)
_WITHIN: Final = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
_RECLAIM: Final = (*("Any",) * 6, "LowerPriority", "Never")
_PLAIN: Final = "gpu:any"
_GROUPS: Final = (
    *("gpu:red,blue",) * 6,
    _PLAIN,
    "cpu,gpu:any",
    "cpu,gpu:red,blue",
    "cpu:any gpu:red,blue",
)
_LISTS: Final = ("red,blue", "red,blue", "blue,red", "blue,red", "red", "blue")
_POD_COUNTS: Final = ("", "", "", "", "2x", "1-2x", "1-3x", "2-4x")


def random_world(number: int) -> SmallWorld:
    """Return the world of that number: the same one, whenever and wherever it is asked for."""
    chance = Random(number)
    is_plain = chance.random() < 0.5
    groups = _PLAIN if is_plain else chance.choice(_GROUPS)
    cohorts = list(_cohorts(chance, groups))
    queues = list(_queues(chance, [row["name"] for row in cohorts], groups))
    rules = chance.choice(_SETTINGS)
    if number % 4 == 0:
        rules = replace(rules, options=KueueOptions(priority_override=True))
    if chance.random() < 0.15:
        rules = replace(rules, feature_gates=(chance.choice(_GATES),))
    workloads = list(_workloads(chance, [row["name"] for row in queues]))
    if not is_plain:
        workloads = [row | _request(chance, groups) for row in workloads]
    return SmallWorld(rules, (*cohorts, *queues), tuple(workloads), groups)


def _cohorts(chance: Random, groups: str) -> Iterator[Row]:
    """Yield a root and up to two cohorts below it, one perhaps below the other."""
    axes = _flavors_of_axes(groups)
    yield _row("ROOT", "-", quota=",".join(chance.choice("000012") for _ in axes))
    parents = ["ROOT"]
    for name in ("LEFT", "RIGHT")[: chance.choice((0, 1, 1, 2))]:
        yield _row(
            name,
            chance.choice(parents) if chance.random() < 0.3 else "ROOT",
            quota=",".join(chance.choice("0001") for _ in axes),
            borrow=",".join(chance.choice("-------12") for _ in axes),
            lend=",".join(chance.choice("-------01") for _ in axes),
            weight=chance.choice(("1", "1", "1", "2", "0")),
        )
        parents.append(name)


def _queues(chance: Random, parents: list[str], groups: str) -> Iterator[Row]:
    rules = _rules(chance)
    for number in range(chance.choice((2, 3, 3, 4))):
        yield _row(
            f"q{number}",
            chance.choice(parents),
            **_quota(chance, groups),
            weight=chance.choice(("1", "1", "1", "1", "2", "0.5", "0")),
            strategy=chance.choice(("BestEffortFIFO",) * 6 + ("StrictFIFO",)),
            **(rules if chance.random() < 0.7 else _rules(chance)),
        )


def _quota(chance: Random, groups: str) -> Row:
    """Return what a ClusterQueue owns and its limits; nothing of flavors that it does not list."""
    has_choice = "red,blue" in groups
    listed = chance.choice(_LISTS) if has_choice else "-"
    quota, borrow, lend = [], [], []
    for flavor in _flavors_of_axes(groups):
        is_listed = flavor == "any" or flavor in listed.split(",")
        own = chance.choice((0, 0, 1, 2, 2) if has_choice else (0, 1, 2, 2, 3)) * is_listed
        lent = chance.choice("--------01")
        quota.append(str(own))
        borrow.append(chance.choice("--------12") if is_listed else "-")
        lend.append(lent if lent == "-" else str(min(int(lent), own)))
    found = {"quota": quota, "borrow": borrow, "lend": lend}
    return {column: ",".join(cells) for column, cells in found.items()} | {"flavors": listed}


def _rules(chance: Random) -> Row:
    """Return whom a ClusterQueue may ask; who reclaims nothing may not borrow by importance."""
    reclaim = chance.choice(_RECLAIM)
    borrow = chance.choice(("Never", "Never", "LowerPriority", "LowerPriority<=0"))
    return {
        "within": chance.choice(_WITHIN),
        "reclaim": reclaim,
        "borrowWithin": "Never" if reclaim == "Never" else borrow,
        "whenBorrow": chance.choice(("MayStopSearch", "TryNextFlavor")),
        "whenPreempt": chance.choice(("TryNextFlavor", "MayStopSearch")),
        "preference": chance.choice(("BorrowingOverPreemption", "PreemptionOverBorrowing")),
    }


def _workloads(chance: Random, queues: list[str]) -> Iterator[Row]:
    """Yield them in the order of their creation."""
    priorities = chance.choice(("0", "0", "01"))
    lingers = chance.choice(("0", "0", "0", "012"))
    arrives = chance.choice(("0", "01", "01"))
    for number in range(chance.choice((2, 3, 4, 4, 5, 5))):
        yield {
            "name": f"w{number}",
            "queue": chance.choice(queues),
            "asks": str(chance.randint(1, 4)),
            "priority": chance.choice(priorities),
            "created": str(number),
            "arrives": chance.choice(arrives),
            "lingers": chance.choice(lingers),
        }


def _request(chance: Random, groups: str) -> Row:
    """Return what a workload asks for that may have more than one pod, and where they may run."""
    resources = sum(len(group.split(":")[0].split(",")) for group in groups.split())
    sets = [_pod_set(chance, resources) for _ in range(chance.choice((1, 1, 2)))]
    kinds = ("-",) * 6 + ("red", "blue") if "red" in groups else ("-",)
    return {"asks": "+".join(sets), "kind": chance.choice(kinds)}


def _pod_set(chance: Random, resources: int) -> str:
    counts = chance.choice(_POD_COUNTS)
    sizes = (1, 1, 2) if counts else (1, 2, 2, 3)
    amounts = [chance.choice(sizes) for _ in range(resources)]
    if resources > 1 and chance.random() < 0.3:
        amounts[chance.randrange(resources)] = 0
    return counts + ",".join(map(str, amounts))


def _flavors_of_axes(groups: str) -> list[str]:
    """Return the flavor of each axis, in the order in which tables have them."""
    found: list[str] = []
    for group in groups.split():
        resources, flavors = group.split(":")
        for flavor in flavors.split(","):
            found += [flavor] * len(resources.split(","))
    return found


def _row(name: str, parent: str, **columns: str) -> Row:
    blank = dict.fromkeys(("quota", "borrow", "lend"), "-") | {"weight": "1"}
    rules = ("within", "reclaim", "borrowWithin", "strategy")
    fungibility = ("flavors", "whenBorrow", "whenPreempt", "preference")
    blank |= dict.fromkeys((*rules, *fungibility), "-")
    return {"name": name, "parent": parent, **blank, **columns}
