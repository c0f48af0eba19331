"""The search with fair sharing as its rules are told: restart at the root, look at everything."""

from fairlead.policy.kueue.workloads import AdmittedWorkload
from tests.fairness.reference_quota_tree import compare
from tests.policy.kueue.plain_world import PlainWorld
from tests.policy.kueue.target_world import GATE, TargetWorld

Answer = list[tuple[str, str]]


def plain_fair_targets(world: TargetWorld) -> Answer:
    """Names and reasons, in the order of choosing."""
    return PlainFairSearch(world).run()


class PlainOrder:
    """Which queue is next; pruning is never undone."""

    def __init__(self, plain: PlainWorld, candidates: list[AdmittedWorkload]) -> None:
        self.plain = plain
        self.queue = plain.world.queue
        self.lists: dict[str, list[AdmittedWorkload]] = {}
        for admitted in candidates:
            self.lists.setdefault(admitted.queue, []).append(admitted)
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
        self.within_nominal = is_on and not self.plain.over_need(self.queue, with_claimant=True)
        self.taken: list[tuple[AdmittedWorkload, str]] = []
        self.refused: list[AdmittedWorkload] = []
        self.is_overriding = False

    def run(self) -> Answer:
        if not self.passes():
            if not self.world.settings.options.priority_override:
                return []
            self.is_overriding, self.plain.gone, self.taken, self.refused = True, [], [], []
            if not self.passes():
                return []
        saved = []
        for admitted, _ in reversed(self.taken[:-1]):
            self.plain.gone.remove(admitted)
            if self.plain.fits():
                saved.append(admitted)
            else:
                self.plain.gone.append(admitted)
        return [(admitted.name, reason) for admitted, reason in self.taken if admitted not in saved]

    def passes(self) -> bool:
        return self.first_pass() or (len(self.strategies) == 2 and self.second_pass())

    def candidates(self) -> list[AdmittedWorkload]:
        """Those whom the rules allow, without those of other queues whom an option keeps safe."""
        return [z for z in self.plain.candidates() if z.queue == self.queue or self.may_ask(z)]

    def may_ask(self, admitted: AdmittedWorkload) -> bool:
        if self.within_nominal:
            return admitted.name not in self.world.spared_within_nominal
        is_safe = admitted.is_protected and self.world.settings.options.min_run_time_ms > 0
        return (
            self.world.may_use_fair_sharing
            and not is_safe
            and admitted.name not in self.world.spared
        )

    def is_overruled(self, admitted: AdmittedWorkload) -> bool:
        rules = self.world.rules[self.queue].borrow_within_cohort
        limit = rules.max_priority_threshold
        return (
            self.is_overriding
            and rules.policy == "LowerPriority"
            and admitted.priority < self.world.priority
            and (limit is None or admitted.priority <= limit)
        )

    def take(self, admitted: AdmittedWorkload, reason: str) -> bool:
        self.taken.append((admitted, reason))
        self.plain.gone.append(admitted)
        return self.plain.fits()

    def first_pass(self) -> bool:
        order = PlainOrder(self.plain, self.candidates())
        while (queue := order.next()) is not None:
            candidates = order.lists[queue]
            if queue == self.queue:
                if self.take(candidates.pop(0), "InClusterQueue"):
                    return True
            elif self.within_nominal:
                if self.take(candidates.pop(0), "InCohortReclamation"):
                    return True
            elif self.one_victim(queue, candidates):
                return True
        return False

    def one_victim(self, queue: str, candidates: list[AdmittedWorkload]) -> bool:
        ours, theirs = self.sides(queue)
        while candidates:
            admitted = candidates.pop(0)
            before = self.plain.share(theirs)
            self.plain.gone.append(admitted)
            after = self.plain.share(theirs)
            self.plain.gone.remove(admitted)
            if self.strategies[0] == "LessThanOrEqualToFinalShare":
                passes = compare(self.plain.share(ours), after) <= 0
            else:
                passes = compare(self.plain.share(ours), before) < 0
            if passes:
                return self.take(admitted, "InCohortFairSharing")
            if self.is_overruled(admitted):
                return self.take(admitted, "InCohortReclaimWhileBorrowing")
            self.refused.append(admitted)
        return False

    def second_pass(self) -> bool:
        order = PlainOrder(self.plain, self.plain.in_order(self.refused))
        while (queue := order.next()) is not None:
            ours, theirs = self.sides(queue)
            admitted = order.lists.pop(queue)[0]
            if compare(self.plain.share(ours), self.plain.share(theirs)) < 0 and self.take(
                admitted, "InCohortFairSharing"
            ):
                return True
        return False

    def sides(self, queue: str) -> tuple[str, str]:
        """The children of the lowest common cohort on the two paths."""
        ours, theirs = self.plain.path, self.plain.upward(queue)
        while len(ours) > 1 and len(theirs) > 1 and ours[-2] == theirs[-2]:
            ours, theirs = ours[:-1], theirs[:-1]
        return ours[-2], theirs[-2]
