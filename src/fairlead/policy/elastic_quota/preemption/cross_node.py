"""Room for one pod or a whole gang, taken on several nodes at once, with the least harm.

One node may not be enough: a guarantee that others borrowed in small pieces comes back only if
pieces on several nodes are given up. Harm is compared in this order: budgets violated, the highest
priority, the sum of priorities, the number of pods, the work that is lost.

Up to `EXACT` pods that may be asked, every set of them is looked at. Beyond that the search is
bounded: all stand in line, the least important first, and each quota gives while it may. The
shortest beginning of the line that is enough leaves, then everybody goes back who is not needed for
the places found there. So nobody leaves in vain; a less harmful set may exist.

If the whole line is not enough, a quota may have given what nobody needed and kept what is in the
way. So those who are in the way on a node go to the front of the line: for one pod node by node,
the cheapest `NODES` of them; for a gang, on all nodes at once. Even then there may be a way that is
not found. That is so, too, where a pod must be near one who would leave with the line.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from operator import sub
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName
from fairlead.policy.elastic_quota.nodes.running_pods import Holder
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.preemption.joint_placement import JointPlaces
from fairlead.policy.elastic_quota.preemption.node_search import EXACT, asked_for
from fairlead.policy.elastic_quota.preemption.victims import (
    PRIORITY_OFFSET,
    Asked,
    NodeClaim,
    RulesLeft,
)
from fairlead.policy.elastic_quota.quota.pending_pod import Asker

NODES: Final = 64
"""Beyond the exact search, on how many nodes those in the way of one pod are asked first."""

Harm: TypeAlias = tuple[int, int, int, int, int]
Places: TypeAlias = tuple[str, ...]


class JointOutcome(NamedTuple):
    """A place for each pod, in their order, and who has to leave, the most important first."""

    asked: Asked
    nodes: Places
    victims: tuple[Holder, ...]


def least_harm(desk: Desk, askers: Sequence[Asker], charge: Amounts) -> JointOutcome | None:
    """Return how room for all *askers* does the least harm; None if no way is found.

    They are all of one workload, and their quota is charged *charge* for them together. Nobody is
    taken below its min if that can be avoided. Law: with up to `EXACT` who may be asked, no set of
    them does less harm, and None means that there is no way, as far as places were looked for.
    """
    settings = desk.settings
    for protects_min in (True, False):
        if protects_min and settings.quirks.below_min:
            continue
        if not protects_min and settings.protect_min:
            continue
        claim = JointClaim(desk, askers, charge, protects_min=protects_min)
        found = claim.solve()
        if found is not None:
            return found
    return None


class JointClaim:
    """The search for all pods of one workload that want a place, by one rule."""

    def __init__(
        self, desk: Desk, askers: Sequence[Asker], charge: Amounts, *, protects_min: bool
    ) -> None:
        """Look for places for *askers*; with *protects_min* nobody falls below its min."""
        self._desk = desk
        named = frozenset([at for each in askers for at in each.named])
        whole = askers[0]._replace(charge=charge, named=named)
        standing = desk.admission.standing(whole, later=desk.looks_later)
        self.asked: Final[Asked] = asked_for(desk, whole, standing)
        self._claim = NodeClaim(
            whole,
            standing,
            desk.books,
            desk.budgets,
            desk.nominations,
            desk.settings.quirks,
            asked=self.asked,
            protects_min=protects_min,
            spared=desk.spared,
            held=desk.state.holds.victims,
        )
        self._protects_min = protects_min
        self._is_gang = len(askers) > 1
        self._places = JointPlaces(desk, askers, later=desk.looks_later)

    @property
    def is_hopeless(self) -> bool:
        """Whether some pod could be on no node, even if all were empty."""
        return self._places.is_hopeless

    @property
    def is_exact(self) -> bool:
        """Whether so few may be asked that every set of them is looked at."""
        return len(self._order) <= EXACT

    def solve(self) -> JointOutcome | None:
        """Return the least harmful way, exact or as far as the bound goes."""
        if self.is_hopeless:
            return None
        nodes = self._feasible(())
        if nodes is not None:
            return JointOutcome(self.asked, nodes, ())
        if RulesLeft(self._claim, self._order).is_broken():
            return None
        return self._exact() if self.is_exact else self._bounded()

    def harm(self, victims: Sequence[Holder]) -> Harm:
        """Return by what sets of victims are compared; *victims* is not empty."""
        protected = self._desk.budgets.protected(sorted(victims))
        return (
            len(protected),
            max([each.priority for each in victims]),
            sum([each.priority + PRIORITY_OFFSET for each in victims]),
            len(victims),
            sum(map(self._lost_work, victims)),
        )

    def is_better(self, one: JointOutcome, other: JointOutcome) -> bool:
        """Return whether *one* way spares mins that the *other* does not, or does less harm."""
        if not one.victims or not other.victims:
            return len(one.victims) < len(other.victims)
        self._desk.looked_at_the_clock = True
        ranks = [
            (not self._keeps_mins(each.victims), self.harm(each.victims)) for each in (one, other)
        ]
        return ranks[0] < ranks[1]

    def _exact(self) -> JointOutcome | None:
        # Who must be near others may have a place only if not all of them leave.
        if not self._places.needs_others and self._feasible(self._order) is None:
            return None
        sets = [
            tuple([each for at, each in enumerate(self._order) if mask >> at & 1])
            for mask in range(1, 1 << len(self._order))
        ]
        by_harm = sorted([(self.harm(them), at) for at, them in enumerate(sets)])
        for _, at in by_harm:
            victims = sets[at]
            if self._may_give_together(victims):
                nodes = self._feasible(victims)
                if nodes is not None:
                    self._desk.looked_at_the_clock = True  # another set may do less harm later
                    return JointOutcome(self.asked, nodes, tuple(sorted(victims)))
        return None  # in whichever order they are tried

    def _bounded(self) -> JointOutcome | None:
        for line in self._lines():
            nodes = self._feasible(line)
            if nodes is not None:
                found = self._shortest(line, nodes)
                if self._may_give_together(found.victims):
                    return found
        return None

    def _shortest(self, line: Sequence[Holder], nodes: Places) -> JointOutcome:
        """Return a way for which a beginning of *line* leaves; *nodes* are places if all do."""
        low, high = 1, len(line)
        while low < high:
            middle = (low + high) // 2
            found = self._feasible(line[:middle])
            if found is None:
                low = middle + 1
            else:
                high, nodes = middle, found
        victims = self.spare(line[:high], nodes)
        return JointOutcome(self.asked, nodes, tuple(sorted(victims)))

    def holds(self, nodes: Places, off: Sequence[Holder]) -> bool:
        """Return whether no rule is broken with the pods on *nodes*, where there is room.

        *off* have left.
        """
        is_broken = RulesLeft(self._claim, off).is_broken()
        return not is_broken and self._places.are_allowed(nodes, off)

    def spare(self, victims: Iterable[Holder], nodes: Places) -> list[Holder]:
        """Return *victims* without those who are not needed for places on *nodes*.

        Those are spared first whom a budget protects, then the most important.
        """
        least_important_first = sorted(victims, reverse=True)
        protected = self._desk.budgets.protected(reversed(least_important_first))
        order = sorted(least_important_first, key=lambda each: each in protected)
        left = RulesLeft(self._claim, order)
        return self._places.spare(nodes, order, left.breaks_with)

    def _feasible(self, off: Sequence[Holder]) -> Places | None:
        """Return places for all pods once *off* have left; None if a rule or room forbids it."""
        return None if RulesLeft(self._claim, off).is_broken() else self._places.find(off)

    @cached_property
    def _order(self) -> list[Holder]:
        """All who may be asked, the least important first, but after them whom budgets protect."""
        found = [
            holder
            for node in self._nodes()
            for holder in self._desk.holders.on(node)
            if self._claim.may_give(holder, None)
        ]
        found.sort(reverse=True)
        protected = self._desk.budgets.protected(reversed(found))
        return sorted(found, key=lambda each: each in protected)

    def _nodes(self) -> Iterator[str]:
        if self.asked == "borrowers":
            for _, _, node in self._desk.holders.cheapest_first():
                yield node
        else:
            yield from self._desk.holders.nodes_of(self._claim.asker.queue)

    def _lines(self) -> Iterator[list[Holder]]:
        """Yield who leaves if everybody is asked: in order, then those in the way first."""
        line = self._as_many_as_may(self._order)
        yield line
        if len(line) == len(self._order):
            return  # all of them leave in any order
        firsts = self._in_the_way()
        if self._is_gang:
            firsts = iter([list(chain.from_iterable(firsts))])
        for first in islice(firsts, NODES):
            yield self._as_many_as_may(dict.fromkeys([*first, *self._order]))

    def _in_the_way(self) -> Iterator[list[Holder]]:
        """Yield for each node who leaves it so that a pod has room, the cheapest node first.

        The cheapest is the one for which the line has to be asked the least far.
        """
        on_node: dict[str, list[Holder]] = {}
        done: set[str] = set()
        for holder in self._order:
            node = self._places.node_of(holder)
            if node in done:
                continue
            before = on_node.get(node, [])
            them = on_node[node] = self._as_many_as_may([*before, holder])
            if len(them) > len(before) and self._places.has_room_for_hardest(node, them):
                done.add(node)
                yield them

    def _as_many_as_may(self, order: Iterable[Holder]) -> list[Holder]:
        """Return who of *order* leaves if all are asked; a quota gives while it is over min."""
        lowered: dict[QueueName | None, list[int]] = {}
        found = []
        for holder in order:
            if not self._claim.may_give(holder, lowered.get(holder.queue)):
                continue
            found.append(holder)
            if holder.queue is not None:
                used = lowered.get(holder.queue) or self._claim.standing.use.used[holder.queue]
                rest = [u - c for u, c in zip(used, holder.charge, strict=True)]
                lowered[holder.queue] = rest
        return found

    def _may_give_together(self, victims: Sequence[Holder]) -> bool:
        """Return whether each quota may give what *victims* hold, the least important first.

        Each is given while the quota is over its min; with protection, all together leave it at
        its min in all of which it had that.
        """
        if self.asked != "borrowers":
            return True
        if self._protects_min and not self._keeps_mins(victims):
            return False
        return all(self._may_give(queue, them) for queue, them in _by_queue(victims).items())

    def _may_give(self, queue: QueueName, victims: Sequence[Holder]) -> bool:
        left = list(self._claim.standing.use.used[queue])
        for victim in sorted(victims, reverse=True):
            if not self._claim.borrows(queue, left, victim.charge):
                return False
            left = list(map(sub, left, victim.charge))
        return True

    def _keeps_mins(self, victims: Sequence[Holder]) -> bool:
        """Return whether nobody else falls below its min in what *victims* hold."""
        if self.asked != "borrowers":
            return True
        used = self._claim.standing.use.used
        return all(
            self._claim.keeps_min(queue, used[queue], _total(them))
            for queue, them in _by_queue(victims).items()
        )

    def _lost_work(self, holder: Holder) -> int:
        """Return what is lost: the largest part of the cluster that a pod has, times how long."""
        capacity = self._desk.state.capacity
        parts = [
            10**6 * need // there
            for need, there in zip(holder.requests, capacity, strict=True)
            if there > 0
        ]
        return max(parts, default=0) * max(0, self._desk.now_ms - holder.started_ms)


def _by_queue(victims: Iterable[Holder]) -> dict[QueueName, list[Holder]]:
    found: dict[QueueName, list[Holder]] = {}
    for each in victims:
        if each.queue is not None:
            found.setdefault(each.queue, []).append(each)
    return found


def _total(victims: Iterable[Holder]) -> list[int]:
    return [sum(amounts) for amounts in zip(*[each.charge for each in victims], strict=True)]
