"""Victims on several nodes at once, for one pod or a whole gang, with the least disruption.

One node may not be enough: a guarantee that others borrowed in small pieces comes back only if
pieces on several nodes are evicted. The cost of a set of victims is compared in this order:
disruption budgets violated, the highest priority, the sum of priorities, the number of pods, the
work that is lost.

With up to `EXHAUSTIVE_LIMIT` candidates every set of them is examined. Beyond that the search is
bounded: candidates are ordered by priority, lowest first, and each quota loses pods while it may.
The shortest prefix of that order that is enough is evicted, then every pod is reprieved that is not
needed for the nodes found. So no eviction is needless, but a less disruptive set may exist.

If even all candidates in that order are not enough, a quota may have lost pods that help nothing
and kept those that block a node. So the blocking pods of a node are moved to the front: for one pod
node by node, for the cheapest `NODE_LIMIT` nodes; for a gang on all nodes at once. Even then a
solution may be missed, as it may where a pod must be near one that would be evicted.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, QueueName
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.preemption.joint_placement import JointPlacement
from fairlead.policy.elastic_quota.preemption.node_search import EXHAUSTIVE_LIMIT, candidate_scope
from fairlead.policy.elastic_quota.preemption.victims import (
    PRIORITY_OFFSET,
    CandidateScope,
    UsageTrial,
    VictimSelection,
)
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod

NODE_LIMIT: Final = 64
"""Beyond the exhaustive search, on how many nodes the blocking pods are moved to the front."""

DisruptionCost: TypeAlias = tuple[int, int, int, int, int]
NodeNames: TypeAlias = tuple[str, ...]


class CrossNodeOutcome(NamedTuple):
    """A node for each pod, in their order, and the victims, highest priority first."""

    scope: CandidateScope
    nodes: NodeNames
    victims: tuple[RunningPod, ...]


def least_disruptive(
    context: PlanningContext, pending_pods: Sequence[PendingPod], charge: Amounts
) -> CrossNodeOutcome | None:
    """Return the least disruptive way to place all *pending_pods*; None if none is found.

    They all belong to one workload, and *charge* is what its quota is charged for them together. No
    namespace falls below its min if that can be avoided. Law: with up to `EXHAUSTIVE_LIMIT`
    candidates no set of them costs less, and None means that no set is enough, within the bounds of
    the search for nodes.
    """
    for protects_min in context.settings.min_protections():
        preemption = CrossNodePreemption(context, pending_pods, charge, protects_min=protects_min)
        found = preemption.solve()
        if found is not None:
            return found
    return None


class CrossNodePreemption:
    """The search for victims for all pending pods of one workload, under one rule."""

    def __init__(
        self,
        context: PlanningContext,
        pending_pods: Sequence[PendingPod],
        charge: Amounts,
        *,
        protects_min: bool,
    ) -> None:
        """Search for *pending_pods*; with *protects_min* no namespace falls below its min."""
        self._context = context
        named = frozenset([at for each in pending_pods for at in each.named])
        whole = pending_pods[0]._replace(charge=charge, named=named)
        check = context.admission.check(whole, after_termination=context.expects_termination)
        self.scope: Final[CandidateScope] = candidate_scope(context, whole, check)
        self._selection: Final = VictimSelection(
            context, whole, check, self.scope, protects_min=protects_min
        )
        self._is_gang = len(pending_pods) > 1
        self._places = JointPlacement(
            context, pending_pods, after_termination=context.expects_termination
        )

    @property
    def can_never_fit(self) -> bool:
        """Whether some pod fits on no node, even if all were empty."""
        return self._places.can_never_fit

    @property
    def is_exhaustive(self) -> bool:
        """Whether the candidates are so few that every set of them is examined."""
        return len(self._order) <= EXHAUSTIVE_LIMIT

    def solve(self) -> CrossNodeOutcome | None:
        """Return the least disruptive outcome within the bounds; None: none is found."""
        if self.can_never_fit:
            return None
        nodes = self._feasible(())
        if nodes is not None:
            return CrossNodeOutcome(self.scope, nodes, ())
        if self._selection.violates_quota_without(self._order):
            return None
        return self._exhaustive() if self.is_exhaustive else self._bounded()

    def cost(self, victims: Sequence[RunningPod]) -> DisruptionCost:
        """Return the cost by which sets of *victims* are compared; there is at least one."""
        protected = self._context.budgets.protected(sorted(victims))
        return (
            len(protected),
            max([each.priority for each in victims]),
            sum([each.priority + PRIORITY_OFFSET for each in victims]),
            len(victims),
            sum(map(self._lost_work, victims)),
        )

    def is_better(self, one: CrossNodeOutcome, other: CrossNodeOutcome) -> bool:
        """Return whether *one* keeps mins that the *other* does not, or costs less."""
        if not one.victims or not other.victims:
            return len(one.victims) < len(other.victims)
        self._context.time_dependent = True
        ranks = [
            (not self._keeps_mins(each.victims), self.cost(each.victims)) for each in (one, other)
        ]
        return ranks[0] < ranks[1]

    def _exhaustive(self) -> CrossNodeOutcome | None:
        # A pod with affinity may fit only if not all candidates are evicted.
        if not self._places.needs_others and self._feasible(self._order) is None:
            return None
        sets = [
            tuple([each for at, each in enumerate(self._order) if mask >> at & 1])
            for mask in range(1, 1 << len(self._order))
        ]
        by_harm = sorted([(self.cost(them), at) for at, them in enumerate(sets)])
        for _, at in by_harm:
            victims = sets[at]
            if self._may_lose_together(victims):
                nodes = self._feasible(victims)
                if nodes is not None:
                    self._context.time_dependent = True  # lost work grows with time
                    return CrossNodeOutcome(self.scope, nodes, tuple(sorted(victims)))
        return None  # whichever set is tried first

    def _bounded(self) -> CrossNodeOutcome | None:
        for candidates in self._candidate_lists():
            nodes = self._feasible(candidates)
            if nodes is not None:
                found = self._shortest(candidates, nodes)
                if self._may_lose_together(found.victims):
                    return found
        return None

    def _shortest(self, candidates: Sequence[RunningPod], nodes: NodeNames) -> CrossNodeOutcome:
        """Return an outcome for the shortest prefix; *nodes* are a solution if all are evicted."""
        low, high = 1, len(candidates)
        while low < high:
            middle = (low + high) // 2
            found = self._feasible(candidates[:middle])
            if found is None:
                low = middle + 1
            else:
                high, nodes = middle, found
        victims = self.reprieve(candidates[:high], nodes)
        return CrossNodeOutcome(self.scope, nodes, tuple(sorted(victims)))

    def holds(self, nodes: NodeNames, removed: Sequence[RunningPod]) -> bool:
        """Return whether quota and other pods allow the pods on *nodes* once *removed* are gone.

        Free capacity is not checked.
        """
        is_violated = self._selection.violates_quota_without(removed)
        return not is_violated and self._places.are_allowed(nodes, removed)

    def reprieve(self, victims: Iterable[RunningPod], nodes: NodeNames) -> list[RunningPod]:
        """Return *victims* without those that are not needed for the pods on *nodes*.

        Pods that a budget protects are reprieved first, then by priority, highest first.
        """
        least_important_first = sorted(victims, reverse=True)
        protected = self._context.budgets.protected(reversed(least_important_first))
        order = sorted(least_important_first, key=lambda each: each in protected)
        trial = UsageTrial(self._selection.check.use, order)

        def is_needed(candidate: RunningPod) -> bool:
            trial.restore(candidate)
            is_violated = self._selection.violates_quota(trial)
            if is_violated:
                trial.remove(candidate)
            return is_violated

        return self._places.reprieve(nodes, order, is_needed)

    def _feasible(self, removed: Sequence[RunningPod]) -> NodeNames | None:
        """Return nodes for all pods once *removed* are gone; None if quota or room forbids it."""
        return (
            None if self._selection.violates_quota_without(removed) else self._places.find(removed)
        )

    @cached_property
    def _order(self) -> list[RunningPod]:
        """All candidates: lowest priority first, and those that a budget protects last."""
        found = [
            candidate
            for node in self._nodes()
            for candidate in self._context.running.on(node)
            if self._selection.is_candidate(candidate)
        ]
        found.sort(reverse=True)
        protected = self._context.budgets.protected(reversed(found))
        return sorted(found, key=lambda each: each in protected)

    def _nodes(self) -> Iterator[str]:
        if self.scope == "borrowers":
            for _, _, node in self._context.running.by_lowest_priority():
                yield node
        else:
            yield from self._context.running.nodes_of(self._selection.pending.queue)

    def _candidate_lists(self) -> Iterator[list[RunningPod]]:
        """Yield lists of evictable pods: in order of cost, then with blocking pods first."""
        candidates = self._evictable(self._order)
        yield candidates
        if len(candidates) == len(self._order):
            return  # in any order all of them are evicted
        firsts = self._blocking_per_node()
        if self._is_gang:
            firsts = iter([list(chain.from_iterable(firsts))])
        for first in islice(firsts, NODE_LIMIT):
            yield self._evictable(dict.fromkeys([*first, *self._order]))

    def _blocking_per_node(self) -> Iterator[list[RunningPod]]:
        """Yield for each node the pods to evict so that a pod fits, cheapest node first.

        The cheapest node is the one that needs the shortest prefix of the order.
        """
        on_node: dict[str, list[RunningPod]] = {}
        done: set[str] = set()
        for candidate in self._order:
            node = self._places.node_of(candidate)
            if node in done:
                continue
            before = on_node.get(node, [])
            them = on_node[node] = self._evictable([*before, candidate])
            if len(them) > len(before) and self._places.has_room_for_hardest(node, them):
                done.add(node)
                yield them

    def _evictable(self, order: Iterable[RunningPod]) -> list[RunningPod]:
        """Return the pods of *order* that may be evicted together."""
        trial = UsageTrial(self._selection.check.use)
        found = []
        for candidate in order:
            if self._selection.is_candidate(candidate, trial):
                trial.remove(candidate)
                found.append(candidate)
        return found

    def _may_lose_together(self, victims: Sequence[RunningPod]) -> bool:
        """Return whether each quota may lose its *victims*, lowest priority first.

        It loses each while it is over its min; with protection, all of them together must not take
        it below its min on an axis where it was not below before.
        """
        if self.scope != "borrowers":
            return True
        if self._selection.protects_min and not self._keeps_mins(victims):
            return False
        trial = UsageTrial(self._selection.check.use)
        for victim in sorted(victims, reverse=True):
            used = self._selection.usage_behind(victim, trial)
            if not self._selection.borrows(victim, used):
                return False
            trial.remove(victim)
        return True

    def _keeps_mins(self, victims: Sequence[RunningPod]) -> bool:
        """Return whether no other namespace falls below its min by losing *victims*."""
        if self.scope != "borrowers":
            return True
        used = self._selection.check.use.used
        return all(
            self._selection.keeps_min(queue, used[queue], _total(them))
            for queue, them in _by_queue(victims).items()
        )

    def _lost_work(self, candidate: RunningPod) -> int:
        """Return the lost work: the pod's largest part of the cluster, times its run time."""
        capacity = self._context.state.capacity
        parts = [
            10**6 * need // there
            for need, there in zip(candidate.requests, capacity, strict=True)
            if there > 0
        ]
        return max(parts, default=0) * max(0, self._context.now_ms - candidate.started_ms)


def _by_queue(victims: Iterable[RunningPod]) -> dict[QueueName, list[RunningPod]]:
    found: dict[QueueName, list[RunningPod]] = {}
    for each in victims:
        if each.queue is not None:
            found.setdefault(each.queue, []).append(each)
    return found


def _total(victims: Iterable[RunningPod]) -> list[int]:
    return [sum(amounts) for amounts in zip(*[each.charge for each in victims], strict=True)]
