"""One random history of a cluster, and the laws that hold after each step and at rest.

After each step the sums of the state are what its facts say, and nothing raised. At rest (every
fact told, every outcome known, no object malformed, no cycle of queues) the state is the one that a
translator builds that sees the final objects for the first time, its findings are the same, and so
are the plans for both.

What is not covered: quota objects that are not Kubernetes objects (our Settings, Kueue's
Configuration, KAI's Config), several shards that schedule at once, and what a rule set
remembers: the driver's own memories are carried over before plans are compared.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Final

import msgspec

from fairlead.cli.input.options import with_faithfulness
from fairlead.manifest.text.documents import cluster_document
from fairlead.manifest.translate.family import OF_A_CLUSTER, AssemblyRules
from fairlead.manifest.translate.translator import Translator
from fairlead.model.events import MemoryChanged
from fairlead.model.state import ClusterState
from fairlead.policy.contract import PolicyName, Settings, make_policy
from fairlead.policy.obstacles import INVALID_OBJECT
from tests.manifest.translate.acts import Acts, PodActs, WorkloadActs
from tests.manifest.translate.api_server import (
    POD,
    ApiServer,
    KindKey,
    Object,
    copied,
    is_bound,
    is_terminating,
)
from tests.manifest.translate.by_name import differences, plan_by_name, state_by_name
from tests.manifest.translate.driver import Driver
from tests.manifest.translate.elastic_world import ElasticWorld
from tests.manifest.translate.kai_world import KaiWorld
from tests.manifest.translate.kueue_world import KueueWorld
from tests.manifest.translate.watches import Watches
from tests.manifest.translate.world import World
from tests.model.invariants import check_invariants

WORLDS: Final[dict[PolicyName, type[World]]] = {
    "kai": KaiWorld,
    "kueue": KueueWorld,
    "elastic-quota": ElasticWorld,
}
RULES: Final = msgspec.structs.replace(OF_A_CLUSTER, makes_pods=True)
"""Those of a cluster, with owners besides: pods that are only made are ordered in vain."""
TICKS_S: Final = (1, 1, 5, 40, 120)


class History:
    """A server with a world that changes it, and a driver that schedules by what it is told."""

    def __init__(self, policy: PolicyName, random: Random) -> None:
        self.policy: PolicyName = policy
        self.server = ApiServer()
        translator = Translator(policy, RULES)
        self.watches = Watches(self.server, translator)
        self.world = WORLDS[policy](self.server)
        acts: Acts = PodActs(self.server)
        if policy == "kueue":
            acts = WorkloadActs(self.server, self.watches.seen)
        self.driver = Driver(self.server, self.watches, translator, acts)
        self.world.random = random
        self.world.begin()

    def step(self, random: Random) -> None:
        """Let something happen: on the server, on the way, or in the scheduler."""
        steps: list[tuple[int, Callable[[], None]]] = [
            (8, lambda: self.world.step(random)),
            (6, lambda: self.deliver(random)),
            (1, self.watches.catch_up),
            (1, lambda: self.watches.repeat(random)),
            (1, lambda: self.break_watch(random)),
            (4, self.driver.settle),
            (2, lambda: self.driver.plan(random)),
            (3, lambda: self.driver.send(random)),
            (3, lambda: self.run_a_cycle(random)),
            (2, lambda: self.driver.tell(random)),
            (1, self.driver.look_into_overdue),
            (2, lambda: self.pass_time(random)),
        ]
        happens = random.choices([each for _, each in steps], [weight for weight, _ in steps])[0]
        happens()

    def deliver(self, random: Random) -> None:
        """Tell some events of one kind, perhaps one by one with a settling after each."""
        late = self.watches.late_kinds()
        if late:
            kind = random.choice(late)
            for _ in range(random.randrange(1, 4)):
                self.watches.deliver(kind, 1)
                if random.randrange(3) == 0:
                    self.driver.settle()

    def run_a_cycle(self, random: Random) -> None:
        """Do all at once that a scheduler does when nothing disturbs it."""
        self.watches.catch_up()
        self.driver.settle()
        self.driver.plan(random)
        for _ in range(random.randrange(8)):
            self.driver.send(random)

    def break_watch(self, random: Random) -> None:
        """Replace the watch of a kind by a list, which arrives now or later."""
        kinds = sorted(self.server.log)
        if kinds:
            kind = random.choice(kinds)
            self.watches.begin_list(kind)
            if random.randrange(2):
                self.watches.end_list(kind)

    def pass_time(self, random: Random) -> None:
        """Let the clock go on."""
        self.server.now_ms += random.choice(TICKS_S) * 1000

    def come_to_rest(self, *, outcomes_first: bool) -> None:
        """Repair what is malformed, tell everything, and learn every outcome."""
        self.world.break_cycles()
        self._calm_down(outcomes_first=outcomes_first)
        self.check_malformed()
        self.world.repair_all()
        self._calm_down(outcomes_first=False)
        assert self.driver.executor.overdue(10**15) == []

    def _calm_down(self, *, outcomes_first: bool) -> None:
        if outcomes_first:
            self.driver.come_to_rest()
        self.watches.catch_up()
        self.driver.settle()
        self.driver.come_to_rest()
        self.driver.settle()

    def check_rest(self) -> None:
        """Compare with a translator that sees the same objects for the first time."""
        known = self.driver.translator
        fresh = translated(self.policy, self.server, self.server.log)
        assert known.settings == fresh.settings
        compare_states(known.state, fresh.state)
        assert found_by(known) == found_by(fresh)
        carry_memories(known.state, fresh.state)
        self.compare_plans(known.state, fresh.state, fresh.settings)

    def check_malformed(self) -> None:
        """Compare with a translator that sees each object in its last valid version.

        Where a pod is, and whether it leaves or has ended, its latest version says all the same.
        Workloads of malformed objects wait besides, so that sums are not compared. A queue that was
        never valid, or whose last valid version may be in a cycle with others, is left to repair.
        """
        valid = dict(self.watches.valid)
        if valid.keys() != self.watches.seen.keys() or self.world.has_cycle(valid.values()):
            return
        fresh = Translator(self.policy, RULES)
        for key, value in valid.items():
            counts = in_its_place(value, self.watches.seen[key]) if key.of == POD else value
            fresh.changed(cluster_document(counts))
        fresh.settle()
        used = frozenset(fresh.state.axes.axes)
        old = state_by_name(self.driver.state, used)
        new = state_by_name(fresh.state, used)
        for name, workload in old["workloads"].items():
            if workload["obstacle"] is not None and workload["obstacle"].code == INVALID_OBJECT:
                waiting = {"active": False, "obstacle": workload["obstacle"]}
                new["workloads"].get(name, {}).update(waiting)
                # An order about it may have had its effect on a version that is not valid.
                old["runs"].pop(name, None)
                new["runs"].pop(name, None)
        del old["sums"]
        found = differences(old, new)
        assert not found, "\n".join(found)

    def compare_plans(self, old: ClusterState, new: ClusterState, settings: Settings) -> None:
        """Plan for both in each mode, and with the policy that has planned all along."""
        used = frozenset(new.axes.axes)
        now_ms = self.server.now_ms
        for faithful in (False, True):
            chosen = with_faithfulness(settings, faithful=faithful)
            plan = make_policy(chosen).plan(old, now_ms)
            again = make_policy(chosen).plan(new, now_ms)
            assert plan_by_name(plan, used) == plan_by_name(again, used), f"{faithful=}"
            if chosen == settings:
                assert self.driver.policy.plan(old, now_ms) == plan


def translated(
    policy: PolicyName,
    server: ApiServer,
    kinds: Iterable[KindKey],
    rules: AssemblyRules = RULES,
) -> Translator:
    """Return a translator that was given complete lists of all that is on the server."""
    translator = Translator(policy, rules)
    for kind in kinds:
        documents = [cluster_document(value) for value in server.every(kind)]
        translator.listed(kind.group, kind.kind, documents)
    translator.settle()
    check_invariants(translator.state)
    return translator


def compare_states(old: ClusterState, new: ClusterState) -> None:
    """Assert that two states know the same, be it that the old one has more axes."""
    used = frozenset(new.axes.axes)
    assert used <= {*old.axes.axes}
    assert {*new.resources} <= {*old.resources}
    found = differences(state_by_name(old, used), state_by_name(new, used))
    assert not found, "\n".join(found)


def carry_memories(old: ClusterState, new: ClusterState) -> None:
    """Let *new* remember what *old* does."""
    for name in sorted(new.workloads):
        memory = old.memories.get(name)
        if memory != new.memories.get(name):
            new.apply(MemoryChanged(name, memory))
    check_invariants(new)


def found_by(translator: Translator) -> list[str]:
    """Return what a translator found, in an order of its own."""
    return sorted(map(str, translator.findings()))


def in_its_place(pod: Object, latest: Object) -> Object:
    """Return a version of a pod, but where and in which phase it is as of the *latest*."""
    moved: Object = copied(pod)
    moved["status"] = latest["status"]
    if is_bound(latest):
        moved["spec"]["nodeName"] = latest["spec"]["nodeName"]
    if is_terminating(latest):
        moved["metadata"]["deletionTimestamp"] = latest["metadata"]["deletionTimestamp"]
    return moved


def objects_of(server: ApiServer) -> list[Object]:
    """Return all objects that are on the server."""
    return [value for _, value in sorted(server.objects.items())]
