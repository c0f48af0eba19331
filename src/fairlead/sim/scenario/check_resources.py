"""Amounts of something that no node ever has: mostly a name that is misspelt.

Work that asks for such is refused, because it could never run. A queue with a quota of it can be
simulated, and shares then nothing of what it was meant to share.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.sim.scenario.doubt import Doubt
from fairlead.sim.scenario.node_groups import most_capacity
from fairlead.sim.scenario.queue_tree import QUEUES
from fairlead.sim.scenario.resource_names import as_written, full_name
from fairlead.sim.scenario.scenario_form import SpecForm
from fairlead.sim.scenario.work_form import WorkForm

_PODS: Final = "pods"
"""Every node takes some, whether it says how many or not."""


def quotas_of_nothing(spec: SpecForm) -> Iterator[Doubt]:
    """Tell the amounts of inline queues that are of nothing that the nodes beside them have."""
    known = most_capacity(spec.cluster)
    for place, queue in enumerate(spec.queues):
        path = (*QUEUES, place)
        yield from _of_nothing((*path, "guaranteed"), queue.guaranteed, known)
        yield from _of_nothing((*path, "limit"), queue.limit, known)
        yield from _of_nothing((*path, "borrowLimit"), queue.borrow_limit, known)
        yield from _of_nothing((*path, "lendLimit"), queue.lend_limit, known)


def pods_of_nothing(work: Sequence[WorkForm], known: Collection[str]) -> Iterator[Doubt]:
    """Tell where pods of logs have at most so much of what is not *known* of nodes."""
    for place, source in enumerate(work):
        if source.trace is not None:
            path: Path = ("spec", "work", place, "trace", "podAtMost")
            yield from _of_nothing(path, source.trace.pod_at_most, known)


def _of_nothing(
    path: Path, amounts: Mapping[str, int] | None, known: Collection[str]
) -> Iterator[Doubt]:
    there = sorted(set(known) - {_PODS})
    for written in amounts or ():
        if full_name(written) not in known and written != _PODS:
            message = f"found {quote(written)}, which no node ever has: it has no effect"
            named = f"name {', '.join(there)}" if there else "add it to the capacity of nodes"
            fix = did_you_mean(written, as_written(there)) or named
            yield Doubt((*path, written), "missing-reference", message, fix)
