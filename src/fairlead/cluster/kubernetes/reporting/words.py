"""What reporting asks of the layer that makes sentences of reasons."""

from typing import Protocol

from fairlead.model.plan import Evict, LeftPending, Move, Reserve


class Words(Protocol):
    """Sentences without their full stop, made of a decision alone."""

    def waiting(self, decision: LeftPending | Reserve) -> str:
        """Return why the pods of a workload wait."""

    def evicted(self, decision: Evict | Move) -> str:
        """Return for which workload pods are evicted, and by which rule."""
