"""Which pods have a place, and which still want one: one meaning for all rule sets."""

from typing import Final

from fairlead.manifest.core.objects import PodObject

_FINISHED_PHASES: Final = frozenset({"Succeeded", "Failed"})


def is_finished(pod: PodObject) -> bool:
    """Return whether a pod has run to its end, well or badly, and so holds nothing any more."""
    return pod.phase in _FINISHED_PHASES


def is_placed(pod: PodObject) -> bool:
    """Return whether a pod holds a place on a node, leaving or not; where that is must be known."""
    return pod.node is not None and not is_finished(pod)


def is_live(pod: PodObject) -> bool:
    """Return whether a pod holds or wants something.

    A finished one does not, nor one that was deleted before it got a place.
    """
    return not is_finished(pod) and (is_placed(pod) or not pod.terminating)


def is_gated(pod: PodObject) -> bool:
    """Return whether a pod is held back from scheduling; one that has a place is not."""
    return pod.gated and not is_placed(pod)
