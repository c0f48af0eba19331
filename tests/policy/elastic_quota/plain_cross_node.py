"""The least harmful way to make room for a gang, by trying every set of victims and all places.

One resource, no constraints. Shares nothing with the engine but the order in which cost counts.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

from tests.policy.elastic_quota.plan_world import NOW_MS

Cost: TypeAlias = tuple[int, int, int, int, int]


class Pod(NamedTuple):
    """A pod that has a node."""

    name: str
    of: str
    asks: int
    node: str
    priority: int
    since: int
    is_covered: bool  # by the budget of its namespace


class World(NamedTuple):
    """All that matters to one gang of namespace ``a``."""

    least: dict[str, int]
    most: int  # that a may have
    nodes: dict[str, int]
    pods: tuple[Pod, ...]
    gang: tuple[int, ...]
    priority: int
    allowed: int  # by the budget of each namespace

    @property
    def quotas(self) -> str:
        """The table of quotas."""
        rows = [
            f"{of} {least} {self.most if of == 'a' else '-'}" for of, least in self.least.items()
        ]
        return "\n".join(["of min max", *rows])

    @property
    def budgets(self) -> str:
        """The table of budgets."""
        return "\n".join(["of app allowed", *[f"{of} x {self.allowed}" for of in self.least]])

    @property
    def table(self) -> str:
        """The table of pods."""
        rows = [
            f"{pod.name} {pod.of} {pod.asks} 1 {pod.node} {pod.priority} {pod.since} "
            f"{'x' if pod.is_covered else '-'}"
            for pod in self.pods
        ]
        asks = "+".join([f"1x{size}" for size in self.gang])
        claimant = f"g a {asks} {len(self.gang)} - {self.priority} - -"
        return "\n".join(["name of asks needs on priority since app", *rows, claimant])


class PlainCrossNode:
    """The rules for one world, each as it is written."""

    def __init__(self, world: World) -> None:
        """Work out who uses what, and who may be asked."""
        self.world = world
        self.used = dict.fromkeys(world.least, 0)
        for pod in world.pods:
            self.used[pod.of] += pod.asks
        self.total = sum(world.gang)
        self.takes_back = self.used["a"] + self.total <= world.least["a"]
        self.asked = [pod for pod in world.pods if self._may_be_asked(pod)]

    def best(self, *, protect_min: bool) -> Cost | None:
        """Return the least cost by which the gang gets its places; None: there is no way.

        Nobody falls below its min if that can be avoided; else each namespace gives while it is
        over its min.
        """
        found = [each for each in self._ways() if self.keeps_mins(each)]
        if not found and not protect_min:
            found = [each for each in self._ways() if self._may_give(each)]
        return min(map(self.cost, found), default=None)

    def is_enough(self, victims: Sequence[Pod]) -> bool:
        """Return whether no rule is broken and all find room once *victims* are gone."""
        gone = sum(pod.asks for pod in victims)
        own = sum(pod.asks for pod in victims if pod.of == "a")
        if self.used["a"] - own + self.total > self.world.most:
            return False
        if sum(self.used.values()) - gone + self.total > sum(self.world.least.values()):
            return False
        return any(
            self.have_room(nodes, victims)
            for nodes in product(self.world.nodes, repeat=len(self.world.gang))
        )

    def have_room(self, nodes: Sequence[str], victims: Sequence[Pod]) -> bool:
        """Return whether the gang fits *nodes*, in the order of its pods."""
        free = dict(self.world.nodes)
        for pod in self.world.pods:
            if pod not in victims:
                free[pod.node] -= pod.asks
        for node, size in zip(nodes, self.world.gang, strict=True):
            free[node] -= size
        return all(free[node] >= 0 for node in nodes)

    def cost(self, victims: Sequence[Pod]) -> Cost:
        """Return violations, top priority, sum of priorities, count, and lost work."""
        if not victims:
            return (0, -(2**31), 0, 0, 0)
        covered = [(pod.of) for pod in victims if pod.is_covered]
        violations = sum(max(0, covered.count(of) - self.world.allowed) for of in set(covered))
        capacity = sum(self.world.nodes.values())
        return (
            violations,
            max(pod.priority for pod in victims),
            sum(pod.priority + 2**31 for pod in victims),
            len(victims),
            sum(10**6 * pod.asks // capacity * (NOW_MS - pod.since) for pod in victims),
        )

    def keeps_mins(self, victims: Sequence[Pod]) -> bool:
        """Return whether nobody falls below its min for somebody else."""
        return not self.takes_back or all(
            self.used[of] - _sum(victims, of) >= self.world.least[of]
            for of in {pod.of for pod in victims}
        )

    def _may_be_asked(self, pod: Pod) -> bool:
        if self.takes_back:
            return pod.of != "a" and self.used[pod.of] > self.world.least[pod.of]
        return pod.of == "a" and pod.priority < self.world.priority

    def _ways(self) -> Iterator[tuple[Pod, ...]]:
        for count in range(len(self.asked) + 1):
            for victims in combinations(self.asked, count):
                if self.is_enough(victims):
                    yield victims

    def _may_give(self, victims: Sequence[Pod]) -> bool:
        """Return whether each gives while over its min, the least important pods first."""
        used = dict(self.used)
        for pod in sorted(victims, key=_importance, reverse=True):
            if self.takes_back and used[pod.of] <= self.world.least[pod.of]:
                return False
            used[pod.of] -= pod.asks
        return True


def _sum(pods: Sequence[Pod], of: str) -> int:
    return sum(pod.asks for pod in pods if pod.of == of)


def _importance(pod: Pod) -> tuple[int, int, str]:
    return (-pod.priority, pod.since, f"{pod.of}/{pod.name}-0")
