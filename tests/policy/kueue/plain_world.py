"""A world on trial as the rules speak of it: every figure is computed anew from who is there."""

from collections.abc import Iterable

from fairlead.fairness.dominant_share import DominantShare
from fairlead.policy.kueue.workloads import AdmittedWorkload
from tests.fairness.reference_quota_tree import ReferenceTree
from tests.policy.kueue.target_world import TargetWorld


class PlainWorld:
    def __init__(self, world: TargetWorld) -> None:
        self.world = world
        self.parents = {node.name: node.parent for node in world.nodes}
        self.gone: list[AdmittedWorkload] = []
        self.request = dict(world.usage)
        self.path = self.upward(world.queue)
        self.need = {
            axis
            for axis, amount in world.usage
            if amount > max(0, self.tree().available(world.queue, axis))
        }
        self.borrowers = {
            queue for queue in world.rules if queue != world.queue and self.over_need(queue)
        }

    def tree(self, *, with_claimant: bool = False) -> ReferenceTree:
        used = {name: [0] * len(self.world.axis_resources) for name in self.world.rules}
        for admitted in self.world.admitted:
            if admitted not in self.gone:
                for axis, amount in admitted.usage:
                    used[admitted.queue][axis] += amount
        if with_claimant:
            for axis, amount in self.world.usage:
                used[self.world.queue][axis] += amount
        usage = {str(name): row for name, row in used.items()}
        return ReferenceTree(self.world.axis_resources, self.world.nodes, usage)

    def share(self, name: str) -> DominantShare:
        """The share of a node, with the preemptor."""
        return self.tree(with_claimant=True).dominant_share(name)

    def fits(self) -> bool:
        tree, queue = self.tree(), self.world.queue
        return all(amount <= max(0, tree.available(queue, a)) for a, amount in self.request.items())

    def over_need(self, name: str, *, with_claimant: bool = False) -> bool:
        """Whether a node uses more than its quota of something that is needed."""
        tree = self.tree(with_claimant=with_claimant)
        return any(tree.usage(name, axis) > tree.subtree(name, axis) for axis in self.need)

    def upward(self, name: str) -> list[str]:
        parent = self.parents[name]
        return [name] if parent is None else [name, *self.upward(parent)]

    def in_order(self, admitted: Iterable[AdmittedWorkload]) -> list[AdmittedWorkload]:
        return sorted(
            admitted,
            key=lambda z: (
                not z.is_evicted,
                z.queue == self.world.queue,
                z.priority,
                z.size,
                -z.reserved_ms,
                z.name,
            ),
        )

    def candidates(self) -> list[AdmittedWorkload]:
        """All who may be asked, in their order: the filters, one after the other."""
        world = self.world
        rules = world.rules[world.queue]
        found = []
        for admitted in world.admitted:
            is_own = admitted.queue == world.queue
            policy = rules.within_cluster_queue if is_own else rules.reclaim_within_cohort
            if self.upward(admitted.queue)[-1] != self.path[-1]:
                continue  # another tree
            if not is_own and admitted.queue not in self.borrowers:
                continue
            if not any(axis in self.need for axis, _ in admitted.usage):
                continue
            is_lower = world.priority > admitted.priority
            is_newer = world.priority == admitted.priority and world.queued_ms < admitted.queued_ms
            if (
                policy == "Any"
                or (policy == "LowerPriority" and is_lower)
                or (policy == "LowerOrNewerEqualPriority" and (is_lower or is_newer))
            ):
                found.append(admitted)
        return self.in_order(found)
