"""All worlds up to a small size, by number, so that none of them is left to chance.

Two ClusterQueues below a root, or three, of which two stand below a cohort of their own. Quotas
from 0 to 2, three workloads that ask for 1 to 3, each in any queue; one, two or all of them are
there from the first plan, the others from the second. All weights are 1, there are no limits,
everybody is as important as the others, everything may be reclaimed, and shares decide.
"""

from typing import Final

from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.kueue.loops.small_world import Row, SmallWorld

_TREES: Final[tuple[tuple[str, ...], ...]] = (
    ("ROOT", "ROOT"),
    ("LEFT", "LEFT", "ROOT"),
)
_QUOTAS: Final = 3
_SIZES: Final = 3
_WORKLOADS: Final = 3
_FAIR: Final = KueueSettings(fair_sharing=True)


def _count(tree: tuple[str, ...]) -> int:
    ways_to_ask = len(tree) * _SIZES
    return int(_QUOTAS ** len(tree) * _WORKLOADS * ways_to_ask**_WORKLOADS)


COMPLETE: Final = sum(map(_count, _TREES))


def complete_world(number: int) -> SmallWorld:
    """Return the world of that number, below ``COMPLETE``; no two are the same."""
    for tree in _TREES:
        if number < _count(tree):
            return _world(tree, number)
        number -= _count(tree)
    raise IndexError(f"there are {COMPLETE} worlds")


def _world(tree: tuple[str, ...], number: int) -> SmallWorld:
    queues: list[Row] = [_queue("ROOT", "-", 0)]
    if "LEFT" in tree:
        queues.append(_queue("LEFT", "ROOT", 0))
    for at, parent in enumerate(tree):
        number, quota = divmod(number, _QUOTAS)
        queues.append(_queue(f"q{at}", parent, quota))
    number, last_early = divmod(number, _WORKLOADS)
    workloads: list[Row] = []
    for at in range(_WORKLOADS):
        number, queue = divmod(number, len(tree))
        number, size = divmod(number, _SIZES)
        workloads.append(
            {
                "name": f"w{at}",
                "queue": f"q{queue}",
                "asks": str(size + 1),
                "created": str(at),
                "arrives": str(int(at > last_early)),
            }
        )
    return SmallWorld(_FAIR, tuple(queues), tuple(workloads))


def _queue(name: str, parent: str, quota: int) -> Row:
    reclaim = "-" if name.isupper() else "Any"
    return {"name": name, "parent": parent, "quota": str(quota), "reclaim": reclaim}
