"""From a file of KAI's simulator to what it asks for, or to all that is wrong with it.

KAI takes the names of fields in any case, and so do we. Its files say neither apiVersion nor kind;
they are known by their fields. One cycle is a second of virtual time, so that windows and
half-lives, which the file has in seconds, are as many cycles.
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Final

import msgspec

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.path import quote
from fairlead.sim.scenario.variant.queue_tree import MOST_LEVELS, first_too_deep, in_circles

KNOWN_BY: Final = frozenset({"cycles", "nodes", "queues", "jobs"})
MOST: Final = 1_000_000
"""Of cycles, nodes, and pods of all jobs: more is surely a mistake."""


class SimulatedNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that are alike."""

    gpus: int
    count: int


class SimulatedQueue(msgspec.Struct, frozen=True, kw_only=True):
    """A queue; only its GPUs are of interest."""

    name: str
    parent: str | None
    priority: int = 100
    deserved_gpus: Decimal = Decimal(0)
    weight: Decimal = Decimal(1)


class SimulatedJobs(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs of one queue that are alike, all there from the start; none of them ever ends."""

    queue: str
    gpus: int  # of each pod
    pods: int
    jobs: int


class KaiSimulation(msgspec.Struct, frozen=True, kw_only=True):
    """One simulation."""

    cycles: int = 100
    window_s: int = 5
    half_life_s: int | None = None
    k: Fraction = Fraction(1)
    nodes: tuple[SimulatedNodes, ...] = ()
    queues: tuple[SimulatedQueue, ...] = ()
    jobs: tuple[SimulatedJobs, ...] = ()


def is_kai_simulation(document: Document) -> bool:
    """Return whether *document* is one of KAI's simulator: by its fields, as it has no kind."""
    names = {key.lower() for key in document.value}
    return "apiversion" not in names and len(names & KNOWN_BY) >= 2


def read_kai_simulation(document: Document, findings: Findings) -> KaiSimulation:
    """Return what *document* asks for; it is of use only if *findings* have no error."""
    top = Cursor.of(document, findings)
    half_life_s = top.integer(_as_written(top, "HalfLifePeriod"), 0, minimum=0)
    read = KaiSimulation(
        cycles=top.integer(_as_written(top, "Cycles"), 100, minimum=1, maximum=MOST),
        window_s=top.integer(_as_written(top, "WindowSize"), 5, minimum=1),
        half_life_s=half_life_s or None,
        k=_k(top),
        nodes=tuple(_nodes(each) for each in top.items(_as_written(top, "Nodes"))),
        queues=tuple(_queue(each) for each in top.items(_as_written(top, "Queues"))),
        jobs=tuple(_jobs(top.mapping(_as_written(top, "Jobs")))),
    )
    top.finish()
    if not findings.has_errors:
        _check_names(read, top)
        _check_size(read, top)
    return read


def _k(top: Cursor) -> Fraction:
    """Below 0 it counts as 0, as for KAI."""
    key = _as_written(top, "KValue")
    k = top.decimal(key, Decimal(1))
    if k < 0:
        top.warn(key, "peer-differs", f"found {k}; KAI counts it as 0", "write 0")
    return Fraction(max(k, Decimal(0)))


def _nodes(cursor: Cursor) -> SimulatedNodes:
    return SimulatedNodes(
        gpus=cursor.integer(_as_written(cursor, "GPUs"), 0, minimum=0, maximum=MOST),
        count=cursor.integer(_as_written(cursor, "Count"), 0, minimum=0, maximum=MOST),
    )


def _queue(cursor: Cursor) -> SimulatedQueue:
    return SimulatedQueue(
        name=cursor.text(_as_written(cursor, "Name")),
        parent=cursor.text(_as_written(cursor, "Parent"), "") or None,
        priority=cursor.integer(_as_written(cursor, "Priority"), 100),
        deserved_gpus=cursor.decimal(_as_written(cursor, "DeservedGPUs"), Decimal(0), minimum=0),
        weight=cursor.factor(_as_written(cursor, "Weight"), Decimal(1)),
    )


def _jobs(cursor: Cursor) -> Iterator[SimulatedJobs]:
    queues = cursor.keys()
    for queue in queues:
        each = cursor.mapping(queue)
        yield SimulatedJobs(
            queue=queue,
            gpus=each.integer(_as_written(each, "GPUs"), 0, minimum=0, maximum=MOST),
            pods=each.integer(_as_written(each, "NumPods"), 0, minimum=0, maximum=MOST),
            jobs=each.integer(_as_written(each, "NumJobs"), 0, minimum=0, maximum=MOST),
        )


def _check_names(read: KaiSimulation, top: Cursor) -> None:
    """Report queues that are listed twice, and names of queues that do not exist."""
    parents = {queue.name: queue.parent for queue in read.queues}
    circles, too_deep = in_circles(parents), first_too_deep(parents)
    seen: set[str] = set()
    for at, queue in enumerate(read.queues):
        path = (_as_written(top, "Queues"), at)
        if queue.name in seen:
            message = f"found the queue {quote(queue.name)} for the second time"
            top.error(path, "duplicate-object", message, "rename one of them")
        elif queue.parent is not None and queue.parent not in parents:
            message = f"found the parent {quote(queue.parent)}, which is no queue of this file"
            top.error(path, "missing-parent", message, "name one of its queues, or none")
        elif queue.name in circles:
            message = f"found the queue {quote(queue.name)}, which is its own ancestor"
            top.error(path, "cycle", message, "remove one of the parents")
        elif queue.name == too_deep:
            message = f"found a queue with {MOST_LEVELS:,} above it, expected fewer levels"
            top.error(path, "too-deep", message, "leave out levels in between")
        seen.add(queue.name)
    for jobs in read.jobs:
        if jobs.queue not in parents:
            message = f"found jobs of {quote(jobs.queue)}, which is no queue of this file"
            place = (_as_written(top, "Jobs"), jobs.queue)
            top.error(place, "missing-reference", message, "name one of its queues")


def _check_size(read: KaiSimulation, top: Cursor) -> None:
    """Report what is too much only together: many groups of nodes, or many jobs of many pods."""
    sums = {
        "Nodes": (sum(nodes.count for nodes in read.nodes), "nodes"),
        "Jobs": (sum(each.jobs * each.pods for each in read.jobs), "pods of all jobs"),
    }
    for field, (count, what) in sums.items():
        if count > MOST:
            message = f"found {count:,} {what}, expected at most {MOST:,}"
            top.error(_as_written(top, field), "out-of-range", message, "write fewer")


def _as_written(cursor: Cursor, name: str) -> str:
    """Return how the file writes the field *name*."""
    written = cursor.keys()
    return next((key for key in written if key.lower() == name.lower()), name)
