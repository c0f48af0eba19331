"""The search without fair sharing as its rules are told."""

from fairlead.policy.kueue.workloads import AdmittedWorkload
from tests.fairness.reference_quota_tree import ReferenceTree
from tests.policy.kueue.plain_world import PlainWorld
from tests.policy.kueue.target_world import TargetWorld

Answer = list[tuple[str, str]]


def plain_classical_targets(world: TargetWorld) -> Answer:
    """Names and reasons, in the order of choosing."""
    return PlainClassicalSearch(world).run()


class PlainClassicalSearch:
    def __init__(self, world: TargetWorld) -> None:
        self.world = world
        self.plain = PlainWorld(world)
        self.rules = world.rules[world.queue].borrow_within_cohort
        self.meeting: dict[str, str] = {}  # of each candidate elsewhere: the common cohort
        self.lists: dict[str, list[AdmittedWorkload]] = {
            "hierarchical": [],
            "priority": [],
            "same": [],
        }
        self.collect()

    def collect(self) -> None:
        """File every candidate: climb, and look at what lies below each ancestor."""
        advantage = self.has_advantage()
        within_nominal = self.is_within(self.plain.tree())
        spared = self.world.spared_within_nominal if within_nominal else self.world.spared
        for admitted in self.plain.candidates():
            if admitted.queue == self.world.queue:
                self.lists["same"].append(admitted)
                continue
            if admitted.name in spared:
                continue
            upward = self.plain.upward(admitted.queue)
            meeting = next(name for name in upward if name in self.plain.path)
            between = upward[: upward.index(meeting)]
            if all(self.plain.over_need(name) for name in between):
                self.meeting[admitted.name] = meeting
                kind = "hierarchical" if advantage[meeting] else "priority"
                self.lists[kind].append(admitted)

    def has_advantage(self) -> dict[str, bool]:
        """Whether the request fits the quota of a node passed before, for each ancestor."""
        tree = self.plain.tree()
        remaining = dict(self.plain.request)
        found: dict[str, bool] = {}
        fits = False
        for name in self.plain.path:
            found[name] = fits
            if all(tree.usage(name, a) + v <= tree.subtree(name, a) for a, v in remaining.items()):
                fits = True
            for axis, amount in remaining.items():
                unused = max(0, tree.retained(name, axis) - tree.usage(name, axis))
                remaining[axis] = max(0, amount - unused)
        return found

    def sequence(self) -> list[AdmittedWorkload]:
        kinds = ("hierarchical", "priority", "same")
        leaving = [z for kind in kinds for z in self.lists[kind] if z.is_evicted]
        return leaving + [z for kind in kinds for z in self.lists[kind] if not z.is_evicted]

    def may_borrow_from(self, admitted: AdmittedWorkload) -> bool:
        if self.rules.policy == "Never" or admitted.priority >= self.world.priority:
            return False
        limit = self.rules.max_priority_threshold
        return limit is None or admitted.priority <= limit

    def attempts(self) -> list[bool]:
        tree, queue = self.plain.tree(), self.world.queue
        is_forbidden = self.rules.policy == "Never"
        is_under = all(tree.usage(queue, a) < tree.subtree(queue, a) for a in self.plain.need)
        is_alone = not self.lists["hierarchical"] and not self.lists["priority"]
        if is_alone or (is_forbidden and not is_under):
            return [True]
        if is_forbidden and not self.lists["hierarchical"]:
            return [False, True]
        return [True, False]

    def fits(self, borrow: bool) -> bool:
        return self.plain.fits() and (borrow or self.is_within(self.plain.tree()))

    def is_within(self, tree: ReferenceTree) -> bool:
        """Whether the preemptor's queue has quota for the whole request."""
        queue = self.world.queue
        return all(
            tree.usage(queue, axis) + amount <= tree.subtree(queue, axis)
            for axis, amount in self.plain.request.items()
        )

    def run(self) -> Answer:
        for borrow in self.attempts():
            self.plain.gone = []
            taken: list[AdmittedWorkload] = []
            for admitted in self.sequence():
                if not self.is_valid(admitted, borrow):
                    continue
                self.plain.gone.append(admitted)
                taken.append(admitted)
                if self.fits(borrow):
                    return self.filled_back(taken, borrow)
        return []

    def is_valid(self, admitted: AdmittedWorkload, borrow: bool) -> bool:
        if admitted in self.lists["same"]:
            return True
        if borrow and admitted in self.lists["priority"] and not self.may_borrow_from(admitted):
            return False
        upward = self.plain.upward(admitted.queue)
        between = upward[: upward.index(self.meeting[admitted.name])]
        return all(self.plain.over_need(name) for name in between)

    def filled_back(self, taken: list[AdmittedWorkload], borrow: bool) -> Answer:
        for admitted in reversed(taken[:-1]):
            self.plain.gone.remove(admitted)
            if not self.fits(borrow):
                self.plain.gone.append(admitted)
        return [(z.name, self.reason(z)) for z in taken if z in self.plain.gone]

    def reason(self, admitted: AdmittedWorkload) -> str:
        if admitted in self.lists["same"]:
            return "InClusterQueue"
        if admitted in self.lists["priority"] and self.may_borrow_from(admitted):
            return "InCohortReclaimWhileBorrowing"
        return "InCohortReclamation"
