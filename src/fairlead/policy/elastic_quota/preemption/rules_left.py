"""How a pod stands to the rules of its quota while some holders, on whichever node, are gone."""

from collections.abc import Callable, Iterable
from operator import add, sub

from fairlead.policy.elastic_quota.nodes.holders import Holder
from fairlead.policy.elastic_quota.preemption.node_claim import NodeClaim


class RulesLeft:
    """How a pod stands to the rules of its quota while some holders, wherever, are gone."""

    def __init__(self, claim: NodeClaim, off: Iterable[Holder]) -> None:
        """Let *off* be gone."""
        self._claim = claim
        self._queue = claim.asker.queue
        use = claim.standing.use
        self._pool = list(use.pool)
        self._used = list(use.used[self._queue]) if self._queue is not None else []
        for holder in off:
            self._pool, self._used = self._changed(holder, sub)

    def is_broken(self) -> bool:
        """Return whether the pod breaks a rule."""
        return self._breaks(self._pool, self._used)

    def breaks_with(self, holder: Holder) -> bool:
        """Return whether it does if *holder* is there again; if not, it is from now on."""
        pool, used = self._changed(holder, add)
        if self._breaks(pool, used):
            return True
        self._pool, self._used = pool, used
        return False

    def _breaks(self, pool: list[int], used: list[int]) -> bool:
        standing = self._claim.standing
        return self._claim.breaks_rule(used, pool, standing.in_quota, standing.everywhere)

    def _changed(
        self, holder: Holder, by: Callable[[int, int], int]
    ) -> tuple[list[int], list[int]]:
        pool, used = self._pool, self._used
        if holder.queue is not None:
            pool = list(map(by, pool, holder.charge))
            if holder.queue == self._queue:
                used = list(map(by, used, holder.charge))
        return pool, used
