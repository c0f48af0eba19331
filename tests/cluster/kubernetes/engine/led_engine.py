"""An engine without threads and network, led step by step against an API server in memory.

A test decides when a watch delivers, when a plan is made, what comes between a plan and what is
carried out of it, and what becomes of each act.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairlead.cluster.kubernetes.acting.acts import Act, Bind, Evict, Look, Outcome, Result
from fairlead.cluster.kubernetes.engine.engine import Carried, Engine
from fairlead.cluster.kubernetes.engine.mailbox import Mail
from fairlead.cluster.kubernetes.watching.facts import Gone, Listed, Seen
from fairlead.manifest.text.documents import cluster_document
from fairlead.model.plan import Plan
from fairlead.model.state import ClusterState
from tests.manifest.translate.api_server import (
    FINISHED,
    NODE,
    POD,
    ApiServer,
    Key,
    KindKey,
    Object,
    WatchEvent,
    is_bound,
    key_of,
)
from tests.model.invariants import check_invariants

QUOTA = KindKey("scheduling.x-k8s.io", "ElasticQuota")
GROUP = KindKey("scheduling.x-k8s.io", "PodGroup")
BUDGET = KindKey("policy", "PodDisruptionBudget")
SCHEDULER = "fairlead"
SETTINGS: Object = {
    "apiVersion": "fairlead/v1",
    "kind": "Settings",
    "metadata": {"name": "settings"},
    "spec": {"elasticQuota": {"schedulerNames": [SCHEDULER]}},
}


class LedEngine:
    """An engine, its API server, and what was delivered so far."""

    def __init__(self, *objects: Object) -> None:
        self.server = ApiServer()
        self.engine = new_engine()
        self.acts: list[Act] = []  # of all plans, in their order
        self._positions: dict[KindKey, int] = {}
        for each in objects:
            self.server.create(each)
        self.deliver()

    @property
    def state(self) -> ClusterState:
        """What the engine knows."""
        return self.engine.state

    # What happens on the server.

    def create(self, *objects: Object) -> None:
        """Let objects come."""
        for each in objects:
            assert self.server.create(each) is not None

    def remove(self, key: Key) -> None:
        """Let an object be gone at once."""
        self.server.remove(key)

    def delete(self, name: str) -> None:
        """Let a user delete a pod."""
        self.server.delete(pod_key(name))

    def leave(self, name: str) -> None:
        """Let a pod that was told to leave be gone."""
        self.server.remove(pod_key(name))

    def bind(self, name: str, node: str) -> None:
        """Let the server bind a pod, for us or for another scheduler."""
        uid = self.server.objects[pod_key(name)]["metadata"]["uid"]
        assert self.server.bind(uid, node, lambda _: None) is not None

    def change(self, key: Key, **spec: Any) -> None:
        """Let a field of a spec change."""
        self.server.update(key, lambda value: value["spec"].update(spec))

    # What the engine is told.

    def deliver(self, *kinds: KindKey) -> None:
        """Let the watches of some kinds, or of all, deliver what they have."""
        self.take(*self.late(*kinds))

    def late(self, *kinds: KindKey) -> list[Mail]:
        """Return what watches have to deliver, as delivered."""
        found: list[Mail] = []
        for kind in kinds or tuple(self.server.log):
            events = self.server.log.get(kind, [])
            found += map(fact_of, events[self._positions.get(kind, 0) :])
            self._positions[kind] = len(events)
        return found

    def relist(self, kind: KindKey) -> None:
        """Replace the watch of a kind by a list."""
        log = self.server.log.get(kind, [])
        self._positions[kind] = len(log)
        version = log[-1].value["metadata"]["resourceVersion"] if log else "1"
        self.take(Listed((kind.group, kind.kind), listed(self.server, kind), version))

    def take(self, *mail: Mail) -> None:
        """Let mail come."""
        self.engine.take(mail, self.server.now_ms)
        check_invariants(self.state)

    def pass_time(self, ms: int) -> None:
        """Let the clock go on."""
        self.server.now_ms += ms

    # What the engine decides.

    def plan(self, *, at_most_starts: int | None = None, explain: bool = False) -> Plan:
        """Return a plan that is not carried out."""
        plan = self.engine.plan(self.server.now_ms, at_most_starts=at_most_starts, explain=explain)
        check_invariants(self.state)
        return plan

    def carry_out(self, plan: Plan) -> Carried:
        """Return what is to be done of a plan."""
        carried = self.engine.carry_out(plan, self.server.now_ms)
        check_invariants(self.state)
        self.acts += [act for batch in carried.batches for act in batch]
        return carried

    def decide(self) -> list[str]:
        """Plan, and return what is to be done, a line for each act."""
        carried = self.carry_out(self.plan())
        return [words(act) for batch in carried.batches for act in batch]

    def batches(self) -> list[list[str]]:
        """Plan, and return what is to be done, by orders."""
        return [[words(act) for act in batch] for batch in self.carry_out(self.plan()).batches]

    def overdue(self) -> list[str]:
        """Return which pods are to be looked at."""
        looks = [act for batch in self.engine.overdue(self.server.now_ms) for act in batch]
        return [words(act) for act in looks]

    # What becomes of acts.

    def act(self, name: str) -> Bind | Evict:
        """Return the last act about a pod."""
        found = [act for act in self.acts if str(act.target) == name and not isinstance(act, Look)]
        last = found[-1]
        assert not isinstance(last, Look)
        return last

    def end(
        self, name: str, result: Result, *, retry_after_ms: int = 0, is_on_any_node: bool = False
    ) -> None:
        """Tell what became of the last act about a pod."""
        outcome = self.outcome(name, result, retry_after_ms=retry_after_ms)
        self.take(msgspec.structs.replace(outcome, is_on_any_node=is_on_any_node))

    def outcome(self, name: str, result: Result, *, retry_after_ms: int = 0) -> Outcome:
        """Return what became of the last act about a pod."""
        return Outcome(act=self.act(name), result=result, retry_after_ms=retry_after_ms)

    # What the engine knows.

    def places(self) -> dict[str, str]:
        """Return the node of each pod that has one, and whether that is assumed."""
        found = {}
        for name, run in self.state.runs.items():
            workload = self.state.workloads[name]
            for pod, placed in run.pods.items():
                where = f"{workload.namespace}/{workload.pod_name(pod)}"
                found[where] = f"{placed.node} {placed.phase}"
        return dict(sorted(found.items()))


def new_engine() -> Engine:
    """Return an engine that knows nothing but its settings."""
    return Engine("elastic-quota", [cluster_document(SETTINGS)])


def words(act: Act) -> str:
    """Return an act as a line."""
    match act:
        case Bind():
            return f"bind {act.target} to {act.node}"
        case Evict():
            return f"evict {act.target}"
        case Look():
            return f"look at {act.target}"


def fact_of(event: WatchEvent) -> Seen | Gone:
    """Return what the watch of a kind says of an event: pods that have ended are gone."""
    is_gone = event.is_deleted or (key_of(event.value).of == POD and has_ended(event.value))
    return Gone(event.value) if is_gone else Seen(event.value)


def listed(server: ApiServer, kind: KindKey) -> list[Object]:
    """Return what a list of a kind shows: pods that have ended are left out."""
    return [each for each in server.every(kind) if kind != POD or not has_ended(each)]


def has_ended(pod: Object) -> bool:
    """Return whether a pod has run to its end."""
    return pod["status"].get("phase") in FINISHED


def pod_key(name: str) -> Key:
    """Return the key of a pod, given as namespace/name."""
    return Key(POD, *name.split("/"))


def node_key(name: str) -> Key:
    """Return the key of a node."""
    return Key(NODE, "", name)


def quota_key(namespace: str) -> Key:
    """Return the key of the quota of a namespace."""
    return Key(QUOTA, namespace, "quota")


def node(name: str, cpu: int = 4, *, pods: int = 20) -> Object:
    """Return a node that is ready."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {},
        "status": {
            "allocatable": {"cpu": str(cpu), "pods": str(pods)},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(
    name: str,
    cpu: int = 1,
    *,
    group: str = "",
    priority: int = 0,
    scheduler: str = SCHEDULER,
    labels: Mapping[str, str] | None = None,
    **requests: str,
) -> Object:
    """Return a pod that waits; its name is given as namespace/name."""
    namespace, _, own = name.partition("/")
    grouped = {"scheduling.x-k8s.io/pod-group": group} if group else {}
    asked = {"cpu": str(cpu), **{key.replace("_", "/"): each for key, each in requests.items()}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": own, "labels": {**grouped, **(labels or {})}},
        "spec": {
            "schedulerName": scheduler,
            "priority": priority,
            "containers": [{"name": "c", "resources": {"requests": asked}}],
        },
        "status": {"phase": "Pending"},
    }


def quota(namespace: str, least: int, most: int, *, name: str = "quota", **more: str) -> Object:
    """Return a quota with a min and a max of CPUs."""
    more = {key.replace("_", "/"): each for key, each in more.items()}
    spec = {"min": {"cpu": str(least), **more}, "max": {"cpu": str(most), **more}}
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
    }


def group(name: str, least: int) -> Object:
    """Return a pod group; its name is given as namespace/name."""
    namespace, _, own = name.partition("/")
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"namespace": namespace, "name": own},
        "spec": {"minMember": least},
    }


def started(led: LedEngine, names: Sequence[str]) -> None:
    """Bind pods as they are planned, and let everything be seen."""
    assert {line.split()[1] for line in led.decide()} == set(names)
    for name in names:
        act = led.act(name)
        assert isinstance(act, Bind)
        led.bind(name, act.node)
        led.end(name, "done")
    led.deliver()
    assert all(led.places()[name].endswith("running") for name in names)


def bound_pods(server: ApiServer) -> dict[str, str]:
    """Return the node of each pod that the server shows on one."""
    pods = server.every(POD)
    return {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": each["spec"]["nodeName"]
        for each in pods
        if is_bound(each)
    }
