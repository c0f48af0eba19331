"""A pod that found no place takes one from others: whether it may, from whom, and on which node."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from fairlead.model.workload import ElasticPods
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.preemption.node_claim import Asked, NodeClaim
from fairlead.policy.elastic_quota.preemption.node_outcome import NodeOutcome, Outcome
from fairlead.policy.elastic_quota.preemption.node_search import NodeSearch
from fairlead.policy.elastic_quota.quota.admission import Refusal, Standing
from fairlead.policy.elastic_quota.quota.asker import Asker

NEVER_PREEMPTS: Final = "NeverPreempts"
STILL_LEAVING: Final = "WaitsForLeaving"


class Claim:
    """The try of one pod, as things are when it is made."""

    def __init__(
        self, desk: Desk, asker: Asker, refusal: Refusal | None, asked: Asked | None = None
    ) -> None:
        """Claim for *asker*, whom a quota refused, or who was admitted and fits no node.

        Who may be asked follows from how the pod stands to its min, unless *asked* says it for
        the gang that it belongs to.
        """
        self._desk = desk
        self._was_admitted = refusal is None
        self._last_search: NodeSearch | None = None
        self.asker: Final = asker
        self.standing: Final[Standing] = desk.admission.standing(asker, later=desk.looks_later)
        self.asked: Final[Asked] = asked or asked_for(desk, asker, self.standing)

    def why_not(self) -> str | None:
        """Return why the pod may not even try; None: it may."""
        own = self.asker.workload.extension
        if isinstance(own, ElasticPods) and own.preemption_policy == "Never":
            return NEVER_PREEMPTS
        node = self._desk.nominations.node_of(self.asker.key)
        if node is None:
            return None
        if self._desk.looks_later:
            search = self._search(protects_min=False)
            return STILL_LEAVING if search.judge(node).outcome == "no-victim-needed" else None
        return STILL_LEAVING if self._victim_is_leaving(node) else None

    def best(self) -> NodeOutcome | None:
        """Return the node where it does the least harm; None if it cannot be helped."""
        if not self.has_candidates() and not self._desk.looks_later:
            return None
        for search in self._searches():
            self._last_search = search
            found = search.best()
            if found is not None:
                return found
        return None

    def misses(self) -> Counter[Outcome]:
        """Return what came of how many nodes, after `best` found none."""
        return self._last_search.misses() if self._last_search else Counter()

    def others_may_help(self) -> bool:
        """Return whether, after `best` found none, victims on other nodes could help."""
        if self._last_search is None or not self.has_candidates():
            return False
        return self._last_search.others_may_help()

    def outcomes(self) -> dict[str, NodeOutcome]:
        """Return what came of every node by the rule that was applied last."""
        found: dict[str, NodeOutcome] = {}
        for search in self._searches():
            found = search.outcomes()
            if any(each.is_choice(self._desk.looks_later) for each in found.values()):
                break
        return found

    def has_candidates(self) -> bool:
        """Return whether anybody may be asked at all, on whichever node."""
        asker = self.asker
        if self.asked == "borrowers":
            over = self.standing.use.is_over_min.items()
            return any(is_over for queue, is_over in over if queue != asker.queue)
        lowest = self._desk.holders.lowest_priority(asker.queue)
        return lowest is not None and lowest < asker.priority

    def _searches(self) -> Iterator[NodeSearch]:
        """Yield the rules to try: first without taking anybody below its min, if that is asked."""
        if self.asked == "borrowers":
            for protects_min in self._desk.settings.min_protections():
                yield self._search(protects_min=protects_min)
        else:
            yield self._search(protects_min=False)

    def _search(self, *, protects_min: bool) -> NodeSearch:
        claim = self._node_claim(protects_min=protects_min)
        return NodeSearch(self._desk, claim, was_admitted=self._was_admitted)

    def _node_claim(self, *, protects_min: bool) -> NodeClaim:
        desk = self._desk
        return NodeClaim(
            self.asker,
            self.standing,
            desk.books,
            desk.budgets,
            desk.nominations,
            desk.settings.quirks,
            asked=self.asked,
            protects_min=protects_min,
            spared=desk.spared,
            held=desk.state.holds.victims,
        )

    def _victim_is_leaving(self, node: str) -> bool:
        """Return whether one is leaving the nominated node whom the pod could have taken."""
        desk, asker = self._desk, self.asker
        if self._was_admitted and desk.is_hopeless(asker, node):
            return False
        for holder in desk.holders.leaving(node):
            if holder.queue == asker.queue:
                is_takeable = holder.priority < asker.priority
            elif holder.queue is None:
                is_takeable = False
            else:
                used = self.standing.use.used[holder.queue]
                claim = self._node_claim(protects_min=False)
                borrows = claim.borrows(holder.queue, used, holder.charge)
                is_takeable = self.asked == "borrowers" and borrows
            if is_takeable:
                return True
        return False


def asked_for(desk: Desk, asker: Asker, standing: Standing) -> Asked:
    """Return among whom victims for *asker* are looked for."""
    if asker.queue is None:
        return "without quota"
    return "own namespace" if desk.admission.is_over_min(asker, standing) else "borrowers"
