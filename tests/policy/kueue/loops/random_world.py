"""Small worlds made up by chance: every kind of limit, weight and rule occurs, and most are full.

At most three levels of the tree, four ClusterQueues and five workloads of up to four.
"""

from collections.abc import Iterator
from random import Random
from typing import Final

from msgspec.structs import replace

from fairlead.policy.kueue.settings import (
    BOTH_STRATEGIES,
    KueueOptions,
    KueueSettings,
    Strategy,
)
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
_WITHIN: Final = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
_RECLAIM: Final = (*("Any",) * 6, "LowerPriority", "Never")


def random_world(number: int) -> SmallWorld:
    """Return the world of that number: the same one, whenever and wherever it is asked for."""
    chance = Random(number)
    cohorts = list(_cohorts(chance))
    queues = list(_queues(chance, [row["name"] for row in cohorts]))
    rules = chance.choice(_SETTINGS)
    if number % 4 == 0:
        rules = replace(rules, options=KueueOptions(priority_override=True))
    return SmallWorld(
        settings=rules,
        queues=(*cohorts, *queues),
        workloads=tuple(_workloads(chance, [row["name"] for row in queues])),
    )


def _cohorts(chance: Random) -> Iterator[Row]:
    """Yield a root and up to two cohorts below it, one perhaps below the other."""
    yield _row("ROOT", "-", quota=chance.choice("000012"))
    parents = ["ROOT"]
    for name in ("LEFT", "RIGHT")[: chance.choice((0, 1, 1, 2))]:
        limits = [chance.choice("-------12"), chance.choice("-------01")]
        yield _row(
            name,
            chance.choice(parents) if chance.random() < 0.3 else "ROOT",
            quota=chance.choice("0001"),
            borrow=limits[0],
            lend=limits[1],
            weight=chance.choice(("1", "1", "1", "2", "0")),
        )
        parents.append(name)


def _queues(chance: Random, parents: list[str]) -> Iterator[Row]:
    rules = _rules(chance)
    for number in range(chance.choice((2, 3, 3, 4))):
        quota = chance.choice((0, 1, 2, 2, 3))
        lend = chance.choice("--------01")
        yield _row(
            f"q{number}",
            chance.choice(parents),
            quota=str(quota),
            borrow=chance.choice("--------12"),
            lend=lend if lend == "-" else str(min(int(lend), quota)),
            weight=chance.choice(("1", "1", "1", "1", "2", "0.5", "0")),
            strategy=chance.choice(("BestEffortFIFO",) * 6 + ("StrictFIFO",)),
            **(rules if chance.random() < 0.7 else _rules(chance)),
        )


def _rules(chance: Random) -> Row:
    """Return whom a ClusterQueue may ask; who reclaims nothing may not borrow by importance."""
    reclaim = chance.choice(_RECLAIM)
    borrow = chance.choice(("Never", "Never", "LowerPriority", "LowerPriority<=0"))
    return {
        "within": chance.choice(_WITHIN),
        "reclaim": reclaim,
        "borrowWithin": "Never" if reclaim == "Never" else borrow,
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


def _row(name: str, parent: str, **columns: str) -> Row:
    blank = dict.fromkeys(("quota", "borrow", "lend"), "-") | {"weight": "1"}
    blank |= dict.fromkeys(("within", "reclaim", "borrowWithin", "strategy"), "-")
    return {"name": name, "parent": parent, **blank, **columns}
