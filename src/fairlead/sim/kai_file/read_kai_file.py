"""From a file of KAI's simulator to what it asks for, or to all that is wrong with it.

KAI takes the names of fields in any case, and so do we. Its files say neither apiVersion nor kind;
they are known by their fields.
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Final

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.documents import Document
from fairlead.sim.kai_file.kai_simulation import (
    KaiSimulation,
    SimulatedJobs,
    SimulatedNodes,
    SimulatedQueue,
)

KNOWN_BY: Final = frozenset({"cycles", "nodes", "queues", "jobs"})
MOST: Final = 1_000_000
"""Of cycles, nodes, pods and jobs: more is surely a slip."""


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
    """Tell queues that are there twice, and names of queues that are not there."""
    names = [queue.name for queue in read.queues]
    parents = {queue.name: queue.parent for queue in read.queues}
    for at, queue in enumerate(read.queues):
        path = (_as_written(top, "Queues"), at)
        if queue.name in names[:at]:
            top.error(path, "duplicate-object", f"found the queue {queue.name} for the second time")
        elif queue.parent is not None and queue.parent not in parents:
            message = f"found the parent {queue.parent}, which is no queue of this file"
            top.error(path, "missing-parent", message, "name one of its queues, or none")
        elif queue.name in _above(queue.name, parents):
            top.error(path, "cycle", f"queue {queue.name} is its own ancestor")
    for jobs in read.jobs:
        if jobs.queue not in parents:
            message = f"found jobs of {jobs.queue}, which is no queue of this file"
            place = (_as_written(top, "Jobs"), jobs.queue)
            top.error(place, "missing-reference", message, "name one of its queues")


def _above(name: str, parents: dict[str, str | None]) -> list[str]:
    """Return the ancestors of a queue, up to one that was met before."""
    met: list[str] = []
    parent = parents[name]
    while parent is not None and parent not in met:
        met.append(parent)
        parent = parents.get(parent)
    return met


def _as_written(cursor: Cursor, name: str) -> str:
    """Return how the file writes the field *name*."""
    written = cursor.keys()
    return next((key for key in written if key.lower() == name.lower()), name)
