"""What an API server does with bindings and evictions, and what a lane makes of its answers.

As measured on a real one: a bind of a pod that is bound, leaving, gated or another one is a
conflict, and a node is not looked at. An eviction of what was evicted is done again, a pod without
a node is gone at once, and a budget refuses only pods that run.
"""

from typing import Literal, TypeAlias

from fairlead.cluster.kubernetes.acting.acts import Act, Bind, Evict, Outcome, PodName
from fairlead.cluster.kubernetes.acting.outcomes import is_conflict, judge, judge_conflict, refusal
from fairlead.cluster.kubernetes.client.errors import ApiError
from fairlead.cluster.kubernetes.engine.mailbox import Mail
from fairlead.cluster.kubernetes.watching.facts import Gone, Seen
from tests.cluster.kubernetes.acting.scripted_session import error, late
from tests.cluster.kubernetes.engine.led_engine import has_ended
from tests.manifest.translate.api_server import (
    POD,
    ApiServer,
    Key,
    Object,
    is_bound,
    is_terminating,
)

Fate: TypeAlias = Literal["carried out", "refused", "lost before", "lost after"]
FATES: list[Fate] = ["carried out", "carried out", "refused", "lost before", "lost after"]


class ActsServer:
    """Carries acts out on an API server in memory."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.protected: set[str] = set()  # namespaces of which a budget lets no pod go
        self.bound: list[str] = []  # the uids of pods that were bound for us

    def send(self, act: Bind | Evict, fate: Fate) -> list[Mail] | None:
        """Let a request meet its fate; return what the lane reports, None: the answer is lost."""
        if fate == "lost before":
            return None
        problem = error(403) if fate == "refused" else self._carry_out(act)
        if fate == "lost after":
            return None
        if problem is None:
            return [Outcome(act=act, result="done")]
        if not is_conflict(problem):
            return [refusal(act, problem)]
        found = self.read(act.target)
        return [*self.show(act), judge_conflict(act, found, problem)]

    def find_out(self, act: Bind | Evict) -> list[Mail]:
        """Return what the lane reports of an act whose answer was lost."""
        outcome = judge(act, self.read(act.target), str(late()))
        nothing = Outcome(act=act, result="refused", why="it had no effect")
        return [*self.show(act), outcome if outcome is not None else nothing]

    def show(self, act: Act) -> list[Mail]:
        """Return the pod of an act as a lane reports it."""
        found = self.read(act.target)
        if found is not None:
            return [Seen(found)]
        metadata = {
            "namespace": act.target.namespace,
            "name": act.target.name,
            "uid": act.target.uid,
        }
        return [Gone({"apiVersion": "v1", "kind": "Pod", "metadata": dict(metadata)})]

    def read(self, target: PodName) -> Object | None:
        """Return a pod, if it is still the same."""
        found = self.server.objects.get(Key(POD, target.namespace, target.name))
        return found if found is not None and found["metadata"]["uid"] == target.uid else None

    def _carry_out(self, act: Bind | Evict) -> ApiError | None:
        key = Key(POD, act.target.namespace, act.target.name)
        found = self.server.objects.get(key)
        if found is None:
            return error(404)
        if found["metadata"]["uid"] != act.target.uid:
            return error(409)
        if isinstance(act, Evict):
            return self._evict(act, key, found)
        if is_bound(found) or is_terminating(found) or found["spec"].get("schedulingGates"):
            return error(409)
        assert self.server.bind(act.target.uid, act.node, lambda _: None) is not None
        self.bound.append(act.target.uid)
        return None

    def _evict(self, act: Evict, key: Key, found: Object) -> ApiError | None:
        if found["metadata"]["resourceVersion"] != act.resource_version:
            return error(409)
        is_running = is_bound(found) and not has_ended(found)
        if is_running and act.target.namespace in self.protected and not is_terminating(found):
            return error(429, retry_after_s=10, cause="DisruptionBudget")
        self.server.delete(key)
        return None
