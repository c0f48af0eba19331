"""A scheduler and its API server, between which anything may be late, repeated or lost.

Watches lag behind, each kind on its own. Answers are lost before or after what was asked for took
effect. Users, kubelets, another scheduler and administrators change the cluster meanwhile, and the
scheduler is killed and started anew. After each step

- the sums of the state are what its facts say,
- no pod was bound twice, and no node holds more than it offers, by what the API server shows,
- no namespace uses more than its max,
- what is evicted for another namespace belongs to one that is over its min.

When nothing more happens the scheduler comes to rest: its state is the one that the objects say,
it assumes nothing, and neither it nor a scheduler that starts then would do anything.

Pods of the other scheduler are bound when ours knows all there is: a race for the last room of a
node is lost by both, which no scheduler can help.
"""

from collections import Counter
from collections.abc import Iterable
from operator import ge
from typing import TypeAlias

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fairlead.cluster.kubernetes.acting.acts import Bind, Evict, Look
from fairlead.cluster.kubernetes.engine.engine import Engine
from fairlead.cluster.kubernetes.engine.mailbox import Mail
from fairlead.cluster.kubernetes.watching.facts import Listed
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Evict as EvictDecision
from fairlead.model.plan import Plan, Start
from tests.cluster.kubernetes.engine.acts_server import FATES, ActsServer, Fate
from tests.cluster.kubernetes.engine.led_engine import (
    GROUP,
    QUOTA,
    fact_of,
    group,
    has_ended,
    listed,
    new_engine,
    node,
    node_key,
    pod,
    quota,
)
from tests.manifest.translate.api_server import (
    NODE,
    POD,
    ApiServer,
    Key,
    KindKey,
    Object,
    WatchEvent,
    is_bound,
    is_terminating,
)
from tests.manifest.translate.history import compare_states
from tests.model.invariants import check_invariants
from tests.scale_examples import scale_examples

KINDS = (NODE, POD, QUOTA, GROUP)
NODES = {"n1": 2, "n2": 3, "n3": 4}
QUOTAS = {"a": (4, 6), "b": (1, 5), "c": (2, 4)}  # min and max in CPUs, which stay as they are
TOGGLED = "d"  # its quota comes and goes
FREE = "x"  # has none
NAMES = ("p", "q", "r", "s", "t")
MANY_CYCLES = 60
Taking: TypeAlias = tuple[QueueName, WorkloadName]
"""The namespace that victims are taken of, and the workload for which."""


NEW_PODS = st.lists(
    st.tuples(
        st.sampled_from([*QUOTAS, *QUOTAS, TOGGLED, FREE]),
        st.sampled_from(NAMES),
        st.sampled_from([0, 1, 1, 2, 2, 3]),  # CPUs
        st.sampled_from([0, 0, 10]),  # priority
        st.sampled_from(["", "", "", "g"]),  # group
    ),
    min_size=1,
    max_size=8,
)


class LiveMachine(RuleBasedStateMachine):
    """A scheduler of ElasticQuotas and all that happens around it."""

    server: ApiServer
    acting: ActsServer
    engine: Engine
    unsent: list[Bind | Evict]
    lost: list[Bind | Evict]
    mail: list[Mail]
    told: list[WatchEvent]
    positions: dict[KindKey, int]

    @initialize(pods=NEW_PODS)
    def begin(self, pods: list[tuple[str, str, int, int, str]]) -> None:
        """Let there be nodes, quotas and pods that run, and a scheduler that knows them."""
        self.server = ApiServer()
        self.acting = ActsServer(self.server)
        for name, cpu in NODES.items():
            self.server.create(node(name, cpu))
        for name, (least, most) in QUOTAS.items():
            self.server.create(quota(name, least, most))
        self.restart()
        self.add_pods(pods)
        self.one_calm_cycle()
        self.one_calm_cycle()

    # The cluster changes.

    @rule(pods=NEW_PODS)
    def add_pods(self, pods: list[tuple[str, str, int, int, str]]) -> None:
        """Pods come, of gangs some of them."""
        for namespace, name, cpu, priority, member in pods:
            self.server.create(pod(f"{namespace}/{name}", cpu, priority=priority, group=member))

    @rule(data=st.data(), is_left=st.booleans())
    def end_pod(self, data: st.DataObject, is_left: bool) -> None:
        """A user deletes a pod, or one that was told to leave has left."""
        if is_left:
            self.each_of(data, self.leaving(), self.server.remove)
        else:
            self.each_of(data, self.server.keys(POD), self.server.delete)

    @rule(data=st.data(), number=st.integers(0, 5), is_ordered=st.booleans())
    def label_pod(self, data: st.DataObject, number: int, is_ordered: bool) -> None:
        """Something of no matter changes about a pod, of which an act is on its way perhaps.

        That is seen before the act is carried out.
        """

        def labelled(pod: Object) -> None:
            pod["metadata"]["labels"] = {**pod["metadata"]["labels"], "number": str(number)}

        targets = {Key(POD, act.target.namespace, act.target.name) for act in self.unsent}
        keys = [key for key in self.server.keys(POD) if not is_ordered or key in targets]
        self.each_of(data, keys, lambda key: self.server.update(key, labelled))
        if is_ordered:
            self.deliver(POD, 100)
            self.take()

    @rule(data=st.data(), phase=st.sampled_from(["Running", "Succeeded", "Failed"]))
    def report_pod(self, data: st.DataObject, phase: str) -> None:
        """A kubelet writes the status of a pod."""
        objects = self.server.objects
        self.each_of(
            data,
            [key for key in self.server.keys(POD) if holds_room(objects[key])],
            lambda key: self.server.update(key, lambda pod: pod["status"].update(phase=phase)),
        )

    @rule(
        what=st.sampled_from(["node", "cordon", "quota", "group", "budget"]),
        name=st.sampled_from(list(NODES)),
        namespace=st.sampled_from(list(QUOTAS)),
        least=st.integers(0, 2),
    )
    def administer(self, what: str, name: str, namespace: str, least: int) -> None:
        """A node, a quota or a group comes or goes; a node is cordoned; a budget forbids all."""
        if what == "node":
            self.toggle(node(name, NODES[name]), node_key(name))
        elif what == "quota":
            self.toggle(quota(TOGGLED, least, 4), Key(QUOTA, TOGGLED, "quota"))
        elif what == "group":
            self.toggle(group(f"{namespace}/g", least + 1), Key(GROUP, namespace, "g"))
        elif what == "budget":
            self.acting.protected ^= {namespace}
        elif node_key(name) in self.server.objects:
            spec = {"unschedulable": least > 0}
            self.server.update(node_key(name), lambda value: value["spec"].update(spec))

    @precondition(lambda self: not self.unsent and not self.lost)
    @rule(name=st.sampled_from(list(NODES)), cpu=st.integers(1, 2))
    def bind_elsewhere(self, name: str, cpu: int) -> None:
        """Another scheduler binds a pod of its own to a node with room."""
        self.deliver_all()
        self.take()
        if node_key(name) not in self.server.objects or self.free(name) < cpu:
            return
        key = self.server.create(pod(f"{FREE}/other-{name}", cpu, scheduler="other"))
        if key is not None:
            self.server.bind(self.server.objects[key]["metadata"]["uid"], name, lambda _: None)
            self.deliver_all()
            self.take()

    @rule(ms=st.sampled_from([1, 500, 2_000, 31_000]))
    def pass_time(self, ms: int) -> None:
        """The clock goes on."""
        self.server.now_ms += ms

    # What reaches the scheduler.

    @rule(kind=st.sampled_from(KINDS), count=st.integers(1, 4))
    def deliver(self, kind: KindKey, count: int) -> None:
        """The watch of a kind delivers some of what it has."""
        events = self.server.log.get(kind, [])
        start = self.positions[kind]
        for event in events[start : start + count]:
            self.positions[kind] += 1
            self.told.append(event)
            self.mail.append(fact_of(event))

    @rule()
    def deliver_all(self) -> None:
        """All watches catch up."""
        for kind in KINDS:
            self.deliver(kind, len(self.server.log.get(kind, [])))

    @rule(kind=st.sampled_from(KINDS))
    def relist(self, kind: KindKey) -> None:
        """The watch of a kind breaks, and a list takes its place."""
        self.positions[kind] = len(self.server.log.get(kind, []))
        version = str(max([self.version(each.value) for each in self.events()], default=1))
        self.mail.append(Listed((kind.group, kind.kind), listed(self.server, kind), version))

    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        """Something that was told is told again, as after a watch that broke."""
        if self.told:
            self.mail.append(fact_of(data.draw(st.sampled_from(self.told))))

    @rule()
    def take(self) -> None:
        """The scheduler reads its mail."""
        mail, self.mail = self.mail, []
        self.engine.take(mail, self.server.now_ms)

    # What the scheduler does.

    @rule(data=st.data(), at_most=st.sampled_from([None, None, 1, 2]))
    def plan(self, data: st.DataObject, at_most: int | None) -> None:
        """The scheduler plans; what is delivered meanwhile comes before its plan is carried out."""
        if data.draw(st.booleans()):
            self.deliver_all()
        self.take()
        plan = self.engine.plan(self.server.now_ms, at_most_starts=at_most, explain=False)
        self.check_evictions(plan)
        if data.draw(st.booleans()):
            self.end_pod(data, is_left=False)
        if data.draw(st.booleans()):
            name = data.draw(st.sampled_from(list(NODES)))
            self.administer(data.draw(st.sampled_from(["node", "cordon"])), name, "a", 1)
        for kind in data.draw(st.lists(st.sampled_from(KINDS), max_size=3, unique=True)):
            self.deliver(kind, 100)
        self.take()
        self.carry_out(plan)

    @rule(data=st.data())
    def work(self, data: st.DataObject) -> None:
        """The scheduler does what it does when nothing is late: all it decided is sent."""
        self.deliver_all()
        self.plan(data, None)
        while self.unsent:
            self.request(self.unsent.pop(0), data.draw(st.sampled_from(FATES)))

    @precondition(lambda self: self.unsent)
    @rule(data=st.data(), fate=st.sampled_from(FATES))
    def send(self, data: st.DataObject, fate: Fate) -> None:
        """A request is sent."""
        self.request(self.unsent.pop(data.draw(st.integers(0, len(self.unsent) - 1))), fate)

    @precondition(lambda self: self.lost)
    @rule(data=st.data())
    def find_out(self, data: st.DataObject) -> None:
        """The pod of a request without an answer is read."""
        act = self.lost.pop(data.draw(st.integers(0, len(self.lost) - 1)))
        self.mail += self.acting.find_out(act)

    @rule()
    def look(self) -> None:
        """The scheduler looks at what is overdue."""
        for [act] in self.engine.overdue(self.server.now_ms):
            self.mail += self.acting.show(act)

    @rule()
    def restart(self) -> None:
        """The scheduler is killed, and starts from what the API server shows."""
        self.engine = new_engine()
        self.unsent, self.lost, self.mail, self.told = [], [], [], []
        self.positions = dict.fromkeys(KINDS, 0)
        for kind in KINDS:
            self.relist(kind)
        self.take()

    # What must be so.

    @invariant()
    def nothing_is_wrong(self) -> None:
        """Compare the sums of the state with its facts, and add up what the server shows."""
        check_invariants(self.engine.state)
        assert not [uid for uid, count in Counter(self.acting.bound).items() if count > 1]
        state = self.engine.state
        for name in NODES:
            assert self.free(name) >= 0, f"{name} holds more than it offers"
            if name in state.nodes:
                offered, held = state.books.offered(state.nodes[name]), state.books.held(name)
                assert all(map(ge, offered, held)), f"{name} is to hold more than it offers"
        for act in (*self.unsent, *self.lost):
            assert self.is_assumed(act), f"{act.target} is not where it was ordered to be"
        for name, (_, most) in QUOTAS.items():
            assert self.used(namespace=name) <= most, f"{name} uses more than its max"

    def teardown(self) -> None:
        """Let nothing more happen, and see the scheduler come to rest."""
        if not hasattr(self, "server"):
            return
        self.acting.protected.clear()
        for _ in range(MANY_CYCLES):
            if not self.one_calm_cycle():
                break
        else:
            raise AssertionError("the scheduler does not come to rest")
        fresh = new_engine()
        for kind in KINDS:
            found = Listed((kind.group, kind.kind), listed(self.server, kind), "")
            fresh.take([found], self.server.now_ms)
        compare_states(self.engine.state, fresh.state)
        assert self.assumed() == []
        assert self.engine.overdue(10**15) == []
        again = fresh.plan(self.server.now_ms, at_most_starts=None, explain=False)
        assert not any(isinstance(each, Start | EvictDecision) for each in again.decisions)

    def one_calm_cycle(self) -> bool:
        """Do all that is to be done at once; return whether anything was."""
        while self.unsent:
            self.request(self.unsent.pop(0), "carried out")
        while self.lost:
            self.mail += self.acting.find_out(self.lost.pop(0))
        leaving = self.leaving()
        for key in leaving:
            self.server.remove(key)
        self.deliver_all()
        self.take()
        self.server.now_ms += 700_000  # every pause is over
        self.look()
        plan = self.engine.plan(self.server.now_ms, at_most_starts=None, explain=False)
        self.check_evictions(plan)
        self.carry_out(plan)
        self.nothing_is_wrong()
        return bool(leaving or self.unsent or self.mail)

    def carry_out(self, plan: Plan) -> None:
        """Take the acts of a plan, which suit what is known by then."""
        batches = self.engine.carry_out(plan, self.server.now_ms).batches
        state = self.engine.state
        for act in (act for batch in batches for act in batch):
            assert act.pod in state.runs[act.order.workload].pods
            if isinstance(act, Bind):
                assert not state.nodes[act.node].cordoned
            assert not isinstance(act, Look)
            self.unsent.append(act)

    def check_evictions(self, plan: Plan) -> None:
        """Assert that what is taken for another namespace is taken of one that is over its min.

        The plan itself may have started pods there before. Of the pods that are taken together the
        last one may push its namespace below its min, which we take to be the largest.
        """
        state = self.engine.state
        axes = [axis.resource for axis in state.axes.axes]
        used = Counter({name: cpus(axes, sums.allocated) for name, sums in state.sums.items()})
        before: dict[Taking, int] = {}  # what the namespace used
        taken: dict[Taking, list[int]] = {}
        for each in plan.decisions:
            workload = state.workloads[each.workload]
            asked = {
                one: cpus(state.resources, workload.pod_sets.of(one).requests)
                for one in workload.pods()
            }
            if isinstance(each, Start):
                used[workload.queue] += sum(asked[place.pod] for place in each.placements)
            if isinstance(each, EvictDecision):
                assert each.beneficiary is not None
                claimant = state.workloads[each.beneficiary]
                is_free = workload.queue not in state.queues
                if workload.queue == claimant.queue or is_free:
                    assert workload.priority < claimant.priority
                    assert is_free == (claimant.queue not in state.queues)
                else:
                    key = workload.queue, each.beneficiary
                    before.setdefault(key, used[workload.queue])
                    taken.setdefault(key, []).extend(asked[one] for one in each.pods)
                used[workload.queue] -= sum(asked[one] for one in each.pods)
        for key, amounts in taken.items():
            least = cpus(axes, state.queues[key[0]].guaranteed)
            assert before[key] - sum(amounts) + max(amounts) > least, f"{key[0]} is within its min"

    def request(self, act: Bind | Evict, fate: Fate) -> None:
        """Send a request."""
        reports = self.acting.send(act, fate)
        if reports is None:
            self.lost.append(act)
        else:
            self.mail += reports

    def free(self, name: str) -> int:
        """Return how many CPUs of a node no pod on the server holds."""
        return NODES[name] - self.used(node=name)

    def used(self, *, node: str = "", namespace: str = "") -> int:
        """Return how many CPUs the pods of a node, or of a namespace, hold on the server."""
        total = 0
        for each in self.server.every(POD):
            where = each["spec"].get("nodeName", "")
            is_meant = where == node if node else each["metadata"]["namespace"] == namespace
            if is_meant and holds_room(each):
                requests = each["spec"]["containers"][0]["resources"]["requests"]
                total += int(requests["cpu"])
        return total

    def leaving(self) -> list[Key]:
        """Return the pods that were told to leave."""
        return [key for key in self.server.keys(POD) if is_terminating(self.server.objects[key])]

    def is_assumed(self, act: Bind | Evict) -> bool:
        """Return whether the state counts on an act without an outcome, if its pod is there."""
        state, name = self.engine.state, act.order.workload
        if name not in state.workloads or not state.workloads[name].has_pod(act.pod):
            return True
        run = state.runs.get(name)
        placed = run.pods.get(act.pod) if run is not None else None
        if isinstance(act, Evict):
            return placed is None or placed.phase == "leaving"
        return placed is not None and placed.node == act.node

    def assumed(self) -> list[str]:
        """Return the pods whose place is assumed, and those said to leave that do not."""
        shown = {each["metadata"]["uid"]: each for each in self.server.every(POD)}
        return [
            str(pod_id)
            for run in self.engine.state.runs.values()
            for pod_id, placed in run.pods.items()
            if placed.phase == "binding"
            or (placed.phase == "leaving" and not is_terminating(shown[pod_id]))
        ]

    def toggle(self, value: Object, key: Key) -> None:
        """Let an object come, or go if it is there."""
        if key in self.server.objects:
            self.server.remove(key)
        else:
            self.server.create(value)

    def events(self) -> Iterable[WatchEvent]:
        """Return all that ever happened."""
        return (event for log in self.server.log.values() for event in log)

    @staticmethod
    def version(value: Object) -> int:
        """Return the version of an object."""
        return int(value["metadata"]["resourceVersion"])

    @staticmethod
    def each_of(data: st.DataObject, keys: list[Key], happens: object) -> None:
        """Let something happen to one of *keys*, if there are any."""
        if keys:
            happens(data.draw(st.sampled_from(keys)))  # type: ignore[operator]


def cpus(names: Iterable[str], amounts: Iterable[int | None]) -> int:
    """Return the thousandths of CPUs among amounts of what has these *names*."""
    return dict(zip(names, amounts, strict=True)).get("cpu") or 0


def holds_room(pod: Object) -> bool:
    """Return whether a pod has a node and has not ended."""
    return is_bound(pod) and not has_ended(pod)


def test_the_scheduler_and_its_api_server_agree_whatever_is_late_or_lost() -> None:
    run_state_machine_as_test(
        LiveMachine,
        settings=settings(max_examples=scale_examples(120), stateful_step_count=50, deadline=None),
    )
