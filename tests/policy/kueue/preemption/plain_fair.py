"""The search with fair sharing as its rules are told: restart at the root, look at everything."""

from fairlead.policy.kueue.workloads import Holder
from tests.fairness.reference_quota_tree import compare
from tests.policy.kueue.plain_world import PlainWorld
from tests.policy.kueue.target_world import GATE, TargetWorld

Answer = list[tuple[str, str]]


def plain_fair_targets(world: TargetWorld) -> Answer:
    """Names and reasons, in the order of choosing."""
    return PlainFairSearch(world).run()


class PlainOrder:
    """Which queue is next; pruning is never undone."""

    def __init__(self, plain: PlainWorld, candidates: list[Holder]) -> None:
        self.plain = plain
        self.queue = plain.world.queue
        self.lists: dict[str, list[Holder]] = {}
        for holder in candidates:
            self.lists.setdefault(holder.queue, []).append(holder)
        self.pruned: set[str] = set()

    def next(self) -> str | None:
        root = self.plain.path[-1]
        if root == self.queue:
            return self.queue if self.lists.get(self.queue) else None
        while root not in self.pruned:
            found = self.descend(root)
            if found is not None:
                return found
        return None

    def descend(self, cohort: str) -> str | None:
        """The queue to ask below a cohort; None if something was pruned: start again."""
        children = [c for c, parent in self.plain.parents.items() if parent == cohort]
        queues = [c for c in children if c in self.plain.world.rules and self.is_open_queue(c)]
        cohorts = [c for c in children if c not in self.plain.world.rules and self.is_open(c)]
        best_queue = self.best(queues, [self.first_place(queue) for queue in queues])
        best_cohort = self.best(cohorts, cohorts)
        if best_cohort is not None and (
            best_queue is None
            or compare(self.plain.share(best_cohort), self.plain.share(best_queue)) >= 0
        ):
            return self.descend(best_cohort)
        if best_queue is None:
            self.pruned.add(cohort)
        return best_queue

    def is_open_queue(self, queue: str) -> bool:
        if not self.lists.get(queue):
            self.pruned.add(queue)
        return self.is_open(queue)

    def is_open(self, name: str) -> bool:
        if name not in self.plain.path and not self.plain.share(name).borrowing:
            self.pruned.add(name)
        return name not in self.pruned

    def first_place(self, queue: str) -> int:
        """Where the first candidate of a queue stands among all first candidates."""
        firsts = self.plain.in_order(each[0] for each in self.lists.values() if each)
        return firsts.index(self.lists[queue][0])

    def best(self, names: list[str], ties: list[str] | list[int]) -> str | None:
        """The one with the largest share, and of equal ones that of the least tie."""
        best: str | None = None
        for _, name in sorted(zip(ties, names, strict=True)):
            if best is None or compare(self.plain.share(name), self.plain.share(best)) > 0:
                best = name
        return best


class PlainFairSearch:
    def __init__(self, world: TargetWorld) -> None:
        self.world = world
        self.plain = PlainWorld(world)
        self.queue = world.queue
        self.strategies = world.settings.strategies
        is_on = dict(world.settings.feature_gates).get(GATE, True)
        self.is_owed = is_on and not self.plain.over_need(self.queue, with_claimant=True)
        self.taken: list[tuple[Holder, str]] = []
        self.refused: list[Holder] = []
        self.is_overriding = False

    def run(self) -> Answer:
        if not self.passes():
            if not self.world.settings.options.priority_override:
                return []
            self.is_overriding, self.plain.gone, self.taken, self.refused = True, [], [], []
            if not self.passes():
                return []
        saved = []
        for holder, _ in reversed(self.taken[:-1]):
            self.plain.gone.remove(holder)
            if self.plain.fits():
                saved.append(holder)
            else:
                self.plain.gone.append(holder)
        return [(holder.name, reason) for holder, reason in self.taken if holder not in saved]

    def passes(self) -> bool:
        return self.first_pass() or (len(self.strategies) == 2 and self.second_pass())

    def candidates(self) -> list[Holder]:
        """Those whom the rules allow, without those of other queues whom an option keeps safe."""
        return [z for z in self.plain.candidates() if z.queue == self.queue or self.may_ask(z)]

    def may_ask(self, holder: Holder) -> bool:
        if self.is_owed:
            return holder.name not in self.world.spared_if_owed
        is_safe = holder.is_protected and self.world.settings.options.min_run_time_ms > 0
        return self.world.may_share and not is_safe and holder.name not in self.world.spared

    def is_overruled(self, holder: Holder) -> bool:
        rules = self.world.rules[self.queue].borrow_within_cohort
        limit = rules.max_priority_threshold
        return (
            self.is_overriding
            and rules.policy == "LowerPriority"
            and holder.priority < self.world.priority
            and (limit is None or holder.priority <= limit)
        )

    def take(self, holder: Holder, reason: str) -> bool:
        self.taken.append((holder, reason))
        self.plain.gone.append(holder)
        return self.plain.fits()

    def first_pass(self) -> bool:
        order = PlainOrder(self.plain, self.candidates())
        while (queue := order.next()) is not None:
            candidates = order.lists[queue]
            if queue == self.queue:
                if self.take(candidates.pop(0), "InClusterQueue"):
                    return True
            elif self.is_owed:
                if self.take(candidates.pop(0), "InCohortReclamation"):
                    return True
            elif self.one_victim(queue, candidates):
                return True
        return False

    def one_victim(self, queue: str, candidates: list[Holder]) -> bool:
        ours, theirs = self.sides(queue)
        while candidates:
            holder = candidates.pop(0)
            before = self.plain.share(theirs)
            self.plain.gone.append(holder)
            after = self.plain.share(theirs)
            self.plain.gone.remove(holder)
            if self.strategies[0] == "LessThanOrEqualToFinalShare":
                passes = compare(self.plain.share(ours), after) <= 0
            else:
                passes = compare(self.plain.share(ours), before) < 0
            if passes:
                return self.take(holder, "InCohortFairSharing")
            if self.is_overruled(holder):
                return self.take(holder, "InCohortReclaimWhileBorrowing")
            self.refused.append(holder)
        return False

    def second_pass(self) -> bool:
        order = PlainOrder(self.plain, self.plain.in_order(self.refused))
        while (queue := order.next()) is not None:
            ours, theirs = self.sides(queue)
            holder = order.lists.pop(queue)[0]
            if compare(self.plain.share(ours), self.plain.share(theirs)) < 0 and self.take(
                holder, "InCohortFairSharing"
            ):
                return True
        return False

    def sides(self, queue: str) -> tuple[str, str]:
        """The children of the lowest common cohort on the two paths."""
        ours, theirs = self.plain.path, self.plain.upward(queue)
        while len(ours) > 1 and len(theirs) > 1 and ours[-2] == theirs[-2]:
            ours, theirs = ours[:-1], theirs[:-1]
        return ours[-2], theirs[-2]
