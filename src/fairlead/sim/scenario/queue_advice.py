"""What of an inline queue has no meaning under one of the rule sets that a scenario runs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from fairlead.manifest.text.path import Path
from fairlead.model.quantity import is_gpu
from fairlead.policy.contract import PolicyName
from fairlead.sim.scenario.queue_tree import QueueTree
from fairlead.sim.scenario.resource_names import full_names
from fairlead.sim.scenario.scenario_form import QueueForm

_GIVEN: Final[Mapping[str, Callable[[QueueForm], bool]]] = {
    "weight": lambda queue: queue.weight != 1,
    "priority": lambda queue: queue.priority is not None,
    "lendLimit": lambda queue: queue.lend_limit is not None,
    "minRuntime": lambda queue: queue.min_runtime_ms is not None,
}
_INEXPRESSIBLE: Final[Mapping[PolicyName, tuple[str, ...]]] = {
    "kai": ("lendLimit",),
    "kueue": ("priority", "minRuntime"),
    "elastic-quota": ("weight", "priority", "lendLimit", "minRuntime"),
}


def inexpressible(tree: QueueTree, policy: PolicyName) -> Iterator[tuple[Path, str]]:
    """Yield where the first field of each kind stands that *policy* has none for, and why."""
    for field in _INEXPRESSIBLE[policy]:
        given = [queue for queue in tree.queues if _GIVEN[field](queue)]
        if given:
            message = f"found {field} in {_count(given)}, which has no effect under {policy}"
            yield (*tree.path(given[0]), field), message
    if policy == "elastic-quota":
        yield from _inner_queues(tree)
    if policy == "kai":
        yield from _other_resources(tree)


def _inner_queues(tree: QueueTree) -> Iterator[tuple[Path, str]]:
    """Tell that quotas form no tree."""
    inner = [queue for queue in tree.queues if not tree.is_leaf(queue)]
    if inner:
        message = f"found {_count(inner)} with others below, of which elastic-quota knows nothing"
        yield tree.path(inner[0]), message


def _other_resources(tree: QueueTree) -> Iterator[tuple[Path, str]]:
    """Tell that KAI's queues have cpu, memory and GPUs only; not of what no node has."""
    for queue in tree.queues:
        fields = (queue.guaranteed, queue.limit, queue.borrow_limit)
        for name in (name for amounts in fields for name in full_names(amounts)):
            if name in tree.most and name not in ("cpu", "memory") and not is_gpu(name):
                yield tree.path(queue), f"found {name}, which queues under kai have no quota of"
                return


def _count(queues: list[QueueForm]) -> str:
    return "1 queue" if len(queues) == 1 else f"{len(queues)} queues"
