"""The inline queues of a scenario as a tree, with what every rule set needs to know of them.

Rule sets share quota, but only of resources that some queue has a guarantee or a limit of. A
resource that no queue names is *free*: every queue may have all of it, and only the nodes bound it.
Where no queue has a guarantee, nothing is free, and the whole cluster is divided by weight.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.sim.fields import added_up
from fairlead.sim.scenario.form.scenario_form import ClusterForm, QueueForm
from fairlead.sim.scenario.variant.nodes import first_capacity, most_capacity

MOST_LEVELS: Final = 2000
"""Of queues below each other: no company is that deep, and every job is counted at each of them."""


def in_circles(parents: Mapping[str, str | None]) -> set[str]:
    """Return the queues that are their own ancestors. Cost: linear, however deep."""
    found: set[str] = set()
    passed: set[str] = set()
    for name in parents:
        way: dict[str, None] = {}  # from here up, in order
        at: str | None = name
        while at is not None and at in parents and at not in passed and at not in way:
            way[at] = None
            at = parents[at]
        if at is not None and at in way:
            steps = list(way)
            found.update(steps[steps.index(at) :])
        passed.update(way)
    return found


def first_too_deep(parents: Mapping[str, str | None]) -> str | None:
    """Return the least deep queue below `MOST_LEVELS`; None: there is none."""
    below: dict[str | None, list[str]] = {}
    for name, parent in parents.items():
        below.setdefault(parent, []).append(name)
    level = below.get(None, [])
    for _ in range(MOST_LEVELS):
        level = [name for above in level for name in below.get(above, [])]
    return level[0] if level else None


QUEUES: Final[Path] = ("spec", "queues")


class QueueTree:
    """Queues that were checked, and the cluster that they share."""

    def __init__(self, queues: Sequence[QueueForm], cluster: ClusterForm) -> None:
        """Add up what the inner queues have. Cost: queues times resources."""
        self.queues = queues
        self.capacity = first_capacity(cluster)
        self.most = most_capacity(cluster)
        self.children: dict[str | None, list[QueueForm]] = {}
        for queue in queues:
            self.children.setdefault(queue.parent, []).append(queue)
        self.shared = _shared(queues, self.most)
        self._places = {queue.name: place for place, queue in enumerate(queues)}
        self._guaranteed: dict[str, dict[str, int]] = {}
        for queue in reversed(self._parents_first()):
            self._add_up(queue)

    def path(self, queue: QueueForm) -> Path:
        """Return where *queue* is written."""
        return (*QUEUES, self._places[queue.name])

    def is_leaf(self, queue: QueueForm) -> bool:
        """Return whether jobs can be in it."""
        return queue.name not in self.children

    def guaranteed(self, queue: QueueForm) -> Mapping[str, int]:
        """Return what *queue* has of what is shared; one that does not say has what is below it."""
        return self._guaranteed[queue.name]

    def guaranteed_below(self, name: str | None) -> dict[str, int]:
        """Return what the queues just below have together; None: all of them."""
        return added_up(self.guaranteed(child) for child in self.children.get(name, []))

    def ceiling(self, queue: QueueForm) -> dict[str, int]:
        """Return what *queue* may hold at most, by its limit and by what it may borrow."""
        guaranteed = self.guaranteed(queue)
        most = {
            resource: guaranteed.get(resource, 0) + amount
            for resource, amount in (queue.borrow_limit or {}).items()
        }
        for resource, limit in (queue.limit or {}).items():
            most[resource] = min(limit, most.get(resource, limit))
        return most

    def left_over(self) -> dict[str, int]:
        """Return the capacity of shared resources that no queue is guaranteed."""
        promised = self.guaranteed_below(None)
        return {
            resource: max(0, self.capacity.get(resource, 0) - promised.get(resource, 0))
            for resource in self.shared
        }

    def own_name(self, preferred: str) -> str:
        """Return a name that no queue has: *preferred*, or it with a dash and more."""
        names = {queue.name for queue in self.queues}
        while preferred in names:
            preferred += "-0"
        return preferred

    def _parents_first(self) -> list[QueueForm]:
        found = list(self.children.get(None, []))
        for queue in found:  # which grows
            found += self.children.get(queue.name, [])
        return found

    def _add_up(self, queue: QueueForm) -> None:
        own = queue.guaranteed
        if own is None:
            own = self.guaranteed_below(queue.name)
        self._guaranteed[queue.name] = {name: own.get(name, 0) for name in self.shared}


def _shared(queues: Sequence[QueueForm], there: Mapping[str, int]) -> tuple[str, ...]:
    if not any(queue.guaranteed for queue in queues):
        named = set(there)
    else:
        named = set()
    for queue in queues:
        for amounts in (queue.guaranteed, queue.limit, queue.borrow_limit, queue.lend_limit):
            named.update(amounts or ())
    return tuple(sorted(named))


def counted(count: int, noun: str) -> str:
    """Return such as ``1 queue`` or ``3 queues``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


class TreeDefect(NamedTuple):
    """What is wrong with one of several queues, by its place: in a field, with code and fix."""

    place: int
    field: str
    code: str
    message: str
    fix: str


def tree_defects(queues: Sequence[tuple[str, str | None]]) -> Iterator[TreeDefect]:
    """Yield why queues, each with its parent, form no tree: no two of a name, and no cycle."""
    parents: dict[str, str | None] = {}
    for name, parent in queues:
        parents.setdefault(name, parent)
    circles, too_deep = in_circles(parents), first_too_deep(parents)
    seen: set[str] = set()
    for place, (name, parent) in enumerate(queues):
        if name in seen:
            message = f"found a second queue {quote(name)}, expected a name each"
            yield TreeDefect(place, "name", "duplicate-object", message, "rename one of them")
        seen.add(name)
        if parent is None:
            continue
        if parent not in parents:
            hint = did_you_mean(parent, parents) or "add it, or remove parent"
            message = f"found the parent {quote(parent)}, which does not exist"
            yield TreeDefect(place, "parent", "missing-parent", message, hint)
        elif name in circles:
            message = f"found the parent {quote(parent)}, which is below this queue"
            yield TreeDefect(place, "parent", "cycle", message, "remove one of the parents")
        elif name == too_deep:
            message = f"found a queue with {MOST_LEVELS:,} above it, expected fewer levels"
            yield TreeDefect(place, "parent", "too-deep", message, "leave out levels in between")
