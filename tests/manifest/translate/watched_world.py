"""A translator that is told facts one by one, and looked at after each of them."""

from collections.abc import Iterable
from typing import Any

from fairlead.manifest.translate.family import OF_A_CLUSTER, AssemblyRules
from fairlead.manifest.translate.translator import Translator
from fairlead.model.axes import QueueName
from fairlead.model.plan import Wait
from fairlead.policy.contract import PolicyName, make_policy
from tests.manifest.translate.cluster_objects import (
    Value,
    cluster_queue,
    document,
    elastic_group,
    elastic_quota,
    kai_group,
    kai_queue,
    local_queue,
    node,
    pod,
)
from tests.model.invariants import check_invariants

NOW_MS = 1_793_500_000_000
A = QueueName("a")
NODE = node("n")
QUEUES: dict[PolicyName, list[Value]] = {
    "kai": [kai_queue("a")],
    "elastic-quota": [elastic_quota()],
    "kueue": [cluster_queue(), local_queue()],
}


class World:
    """A translator that is told facts, and looked at after each of them."""

    def __init__(
        self, policy: PolicyName, *values: Value, rules: AssemblyRules = OF_A_CLUSTER
    ) -> None:
        self.translator = Translator(policy, rules)
        self.see(NODE, *QUEUES[policy], *values)

    def see(self, *values: Value) -> bool:
        for value in values:
            self.translator.changed(document(value))
        return self.settle()

    def lose(self, *values: Value) -> bool:
        for value in values:
            self.translator.removed(document(value))
        return self.settle()

    def relist(self, group: str, kind: str, values: Iterable[Value], version: str = "") -> bool:
        self.translator.listed(group, kind, map(document, values), version)
        return self.settle()

    def settle(self) -> bool:
        is_new = self.translator.settle()
        check_invariants(self.translator.state)
        return is_new

    def pods(self) -> dict[str, list[str]]:
        """Return the pods of each workload, each with its node."""
        state = self.translator.state
        found = {}
        for name, each in state.workloads.items():
            run = state.runs.get(name)
            places = run.pods if run else {}
            found[str(name)] = sorted(
                each.pod_name(one) + (f"@{places[one].node}" if one in places else "")
                for one in each.pods()
            )
        return found

    def waits(self) -> dict[str, str]:
        """Return why each workload waits."""
        plan = make_policy(self.translator.settings).plan(self.translator.state, NOW_MS)
        waits = [each for each in plan.decisions if isinstance(each, Wait)]
        return {str(each.workload): each.reason.code for each in waits}

    def told(self) -> list[str]:
        return [each.code for each in self.translator.findings()]


FAMILIES: list[PolicyName] = ["kai", "elastic-quota"]
LONE = {"kai": "lab/pod/p", "elastic-quota": "lab/p"}
GROUPED = {"kai": "lab/g", "elastic-quota": "lab/podgroup/g"}
GROUP = {"kai": kai_group, "elastic-quota": elastic_group}
SCHEDULER = {"kai": "kai-scheduler", "elastic-quota": "default-scheduler"}


def pod_of(policy: PolicyName, name: str = "p", **more: Any) -> Value:
    return pod(name, scheduler=SCHEDULER[policy], **more)
