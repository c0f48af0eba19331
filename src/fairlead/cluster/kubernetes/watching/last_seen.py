"""What the watches showed last of nodes and pods, for a look just before an act is sent.

The API server binds a pod to a node that is cordoned, full or gone, so this is looked at here. It
is kept beside the watches, because the state belongs to another thread and may be seconds behind.
"""

from typing import Any, Final

from fairlead.cluster.kubernetes.watching.facts import Gone, Listed, ObjectFact
from fairlead.manifest.text.values import Mapping, Value

_MOST_SETTLED: Final = 10_000  # the state knows a pod within seconds, and 1,000 are bound in one


class LastSeen:
    """Which nodes take pods, and which pods are not to be bound any more."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._ready: set[str] = set()  # nodes that are there, and ready
        self._cordoned: set[str] = set()
        self._settled: dict[str, None] = {}  # uids of pods that are bound, leaving or gone

    def note(self, kind: tuple[str, str], fact: ObjectFact) -> None:
        """Take in a fact about an object of *kind*. Cost: one look at it."""
        if kind == ("", "Node"):
            self._note_nodes(fact)
        elif kind == ("", "Pod") and not isinstance(fact, Listed):
            self._note_pod(fact.object, is_gone=isinstance(fact, Gone))

    def may_bind(self, uid: str, node: str, *, is_cordoned: bool) -> bool:
        """Return whether nothing seen speaks against binding a pod to a node.

        The pod may tolerate a node that *is_cordoned*, as it was when that was decided.
        """
        is_newly_cordoned = node in self._cordoned and not is_cordoned
        return node in self._ready and not is_newly_cordoned and uid not in self._settled

    def _note_nodes(self, fact: ObjectFact) -> None:
        if isinstance(fact, Listed):
            self._ready.clear()
            self._cordoned.clear()
        for node in fact.objects if isinstance(fact, Listed) else (fact.object,):
            name = _name(node)
            is_there = not isinstance(fact, Gone)
            _put(self._ready, name, is_there and _is_ready(node))
            _put(self._cordoned, name, is_there and _is_cordoned(node))

    def _note_pod(self, pod: Mapping, *, is_gone: bool) -> None:
        is_bound = bool(_mapping(pod.get("spec")).get("nodeName"))
        if is_gone or is_bound or _is_leaving(pod):
            self._settled[str(_mapping(pod.get("metadata")).get("uid"))] = None
            if len(self._settled) > _MOST_SETTLED:
                del self._settled[next(iter(self._settled))]


def _put(names: set[str], name: str, is_in: bool) -> None:
    if is_in:
        names.add(name)
    else:
        names.discard(name)


def _is_leaving(each: Mapping) -> bool:
    return _mapping(each.get("metadata")).get("deletionTimestamp") is not None


def _is_cordoned(node: Mapping) -> bool:
    """Return whether a node takes no more pods, as for readers: one that is deleted does not."""
    return _mapping(node.get("spec")).get("unschedulable") is True or _is_leaving(node)


def _is_ready(node: Mapping) -> bool:
    """Return whether a node says that it is ready, or nothing of that, as for the readers."""
    conditions = _mapping(node.get("status")).get("conditions")
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, dict) and each.get("type") == "Ready":
            return each.get("status") == "True"
    return True


def _name(each: Mapping) -> str:
    return str(_mapping(each.get("metadata")).get("name"))


def _mapping(value: Value) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
