"""A pod that found no place takes one from others: whether it may, from whom, and on which node."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from fairlead.model.axes import Amounts
from fairlead.model.workload import ElasticPods
from fairlead.policy.elastic_quota.nodes.running_pods import Holder
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.preemption.victims import (
    PRIORITY_OFFSET,
    Asked,
    Ground,
    HarmKey,
    NodeClaim,
    NodeOutcome,
    Outcome,
    RulesLeft,
)
from fairlead.policy.elastic_quota.quota.admission import Refusal, Standing
from fairlead.policy.elastic_quota.quota.pending_pod import Asker

EXACT: Final = 12
"""Up to how many candidates every set of them is looked at, where one node is not enough."""


class NodeSearch:
    """Looks over all nodes on behalf of one claim."""

    def __init__(self, desk: Desk, claim: NodeClaim, *, was_admitted: bool) -> None:
        """Look for *claim*; a pod that *was_admitted* is not tried where it could never fit."""
        self._desk: Final = desk
        self._claim: Final = claim
        self._nodes = desk.state.nodes
        self._quirks = desk.settings.quirks
        self._was_admitted = was_admitted
        self._surroundings_matter = desk.places.neighbours_matter(claim.asker)
        self._pool_excess = claim.pool_excess()
        self.met: Counter[Outcome] = Counter()  # what came of nodes that were looked at
        self.candidates = 0  # on nodes that could hold the pod

    def outcomes(self) -> dict[str, NodeOutcome]:
        """Return what comes of every node that is looked at: the plain way, node by node."""
        return {name: self.judge(name) for name in sorted(self._nodes) if self._is_tried(name)}

    def best(self) -> NodeOutcome | None:
        """Return the node with the least harm; None if nobody's leaving helps on any.

        Law: the same as the least of `outcomes`. Cost: mostly one node; where victims are many or
        of unlike priorities, the nodes whose least important pods are as unimportant.
        """
        if self._desk.looks_later:
            idle = self._without_victims()
            if idle is not None:
                return idle
        best: NodeOutcome | None = None
        for least, name in self._cheapest_first():
            if best is not None and least > best.key:
                break
            if not self._is_tried(name):
                continue
            found = self._judge_if_it_can_win(name, best)
            if found.outcome == "victims":
                best = found if best is None else min(best, found, key=lambda each: each.key)
            self.met[found.outcome] += 1
        return best

    def misses(self) -> Counter[Outcome]:
        """Return what came of how many nodes, after `best` found none."""
        tried = sum(1 for name in self._nodes if self._is_tried(name))
        others: Counter[Outcome] = Counter({"no-victims": tried - self.met.total()})
        return self.met + others

    def others_may_help(self) -> bool:
        """Return whether victims elsewhere could be what one node, after `best`, has too few of.

        They make no room on a node, so they help only where it is a rule that is broken. Where the
        candidates are few, another choice among them may be one that the rule for one node skips.
        """
        if self.met["quota"] > 0 or 0 < self.candidates <= EXACT:
            return True
        return RulesLeft(self._claim, ()).is_broken() and self.first_with_room() is not None

    def _judge_if_it_can_win(self, name: str, best: NodeOutcome | None) -> NodeOutcome:
        """Return what comes of a node, without a trial where that is clear from what it holds."""
        if self._desk.is_hopeless(self._claim.asker, name):
            return NodeOutcome(name, "does-not-fit" if self._has_candidates(name) else "no-victims")
        candidates = list(self._candidates(name))
        if not candidates:
            return NodeOutcome(name, "no-victims")
        self.candidates += len(candidates)
        bound = self._bound(name, candidates)
        if not isinstance(bound, tuple):
            return NodeOutcome(name, bound)
        if best is not None and bound > best.key:
            return best
        return self.judge(name)

    def _without_victims(self) -> NodeOutcome | None:
        """Return the first node where the pod needs nobody to leave but who is leaving already."""
        if RulesLeft(self._claim, ()).is_broken():
            return None
        name = self.first_with_room()
        return None if name is None else NodeOutcome(name, "no-victim-needed")

    def first_with_room(self) -> str | None:
        """Return the first node where the pod has room if nobody is asked; rules are not asked."""
        asker = self._claim.asker
        for name in sorted(self._nodes):
            ground = self._ground(name)
            if (
                self._claim.has_room(ground.free)
                and self._desk.surroundings.node_defect(asker, self._nodes[name]) is None
                and (ground.fits is None or ground.fits(()))
            ):
                return name
        return None

    def _cheapest_first(self) -> Iterator[tuple[HarmKey, str]]:
        """Yield nodes that may have victims with the least harm these could do, in its order."""
        claim = self._claim
        if claim.asked == "borrowers":
            for priority, negative_start, name in self._desk.holders.cheapest_first():
                yield _harm_of_one(priority, negative_start, name), name
            return
        found = []
        for name in self._desk.holders.nodes_of(claim.asker.queue):
            least = next(self._candidates(name), None)
            if least is not None:
                found.append((_harm_of_one(least.priority, -least.started_ms, name), name))
        yield from sorted(found)

    def _bound(self, name: str, candidates: Sequence[Holder]) -> HarmKey | Outcome:
        """Return at least how much harm is done on a node, or why it cannot be enough."""
        count = self._least_count(name, candidates)
        if not isinstance(count, int):
            return count
        chosen = candidates[:count]
        last = chosen[-1]
        budgets = self._desk.budgets
        unprotected = len(candidates)
        if not budgets.are_none():
            unprotected -= sum(1 for each in candidates if budgets.has_none_left(each))
        return (
            0 if self._quirks.pdb_undercount else max(0, count - unprotected),
            last.priority,
            sum([each.priority for each in chosen]) + count * PRIORITY_OFFSET,
            count,
            -last.started_ms,
            name,
        )

    def _least_count(self, name: str, candidates: Sequence[Holder]) -> int | Outcome:
        """Return how many must leave at least, or what even all of them give too little of."""
        free = self._free(name)
        count = 1
        for at, need in self._claim.needed:
            if need > free[at]:
                found = _least([each.requests[at] for each in candidates], need - free[at])
                if found is None:
                    return "does-not-fit"
                count = max(count, found)
        for at, excess in self._pool_excess:
            found = _least([each.charge[at] for each in candidates], excess)
            if found is None:
                return "quota"
            count = max(count, found)
        return count

    def _candidates(self, name: str) -> Iterator[Holder]:
        """Yield who may be asked on a node if nobody else is, the least important first."""
        for holder in reversed(self._desk.holders.on(name)):
            if self._claim.may_give(holder, None):
                yield holder

    def judge(self, name: str) -> NodeOutcome:
        """Return what comes of one node."""
        if self._desk.surroundings.node_defect(self._claim.asker, self._nodes[name]) is not None:
            return NodeOutcome(name, "does-not-fit" if self._has_candidates(name) else "no-victims")
        return self._claim.judge(self._ground(name))

    def _has_candidates(self, name: str) -> bool:
        return next(self._candidates(name), None) is not None

    def _ground(self, name: str) -> Ground:
        node, asker = self._nodes[name], self._claim.asker
        holders = self._desk.holders.on(name)
        if not self._surroundings_matter:
            return Ground(name, holders, self._free(name))
        gone = self._desk.holders.leaving(name) if self._desk.looks_later else ()

        is_promised = self._desk.places.promised_defect(asker, name) is not None

        def fits(off: Sequence[Holder]) -> bool:
            without = self._desk.surroundings.defect_without
            return not is_promised and without(asker, node, [*gone, *off]) is None

        return Ground(name, holders, self._free(name), fits)

    def _free(self, name: str) -> Amounts:
        return self._desk.places.free(self._claim.asker, name, later=self._desk.looks_later)

    def _is_tried(self, name: str) -> bool:
        return not self._was_admitted or not self._desk.is_hopeless(self._claim.asker, name)


def _harm_of_one(priority: int, negative_start: int, node: str) -> HarmKey:
    return (0, priority, priority + PRIORITY_OFFSET, 1, negative_start, node)


def _least(amounts: Sequence[int], lack: int) -> int | None:
    """Return how many of *amounts* add up to *lack* at least, the largest taken first."""
    largest = max(amounts)
    if largest * len(amounts) < lack:
        return None
    if largest >= lack:
        return 1
    total = 0
    for count, amount in enumerate(sorted(amounts, reverse=True), start=1):
        total += amount
        if total >= lack:
            return count
    return None


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
