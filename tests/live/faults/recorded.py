"""Histories for the tests of the judge, written fact by fact."""

from tests.live.api import Object
from tests.live.faults.history import GANGS, NODES, PODS, QUOTAS, Change, Fact, History
from tests.live.faults.judge import GANG, GROUP, SCHEDULER


class Recorded:
    """A history in which each fact is one revision later than the one before."""

    def __init__(self) -> None:
        self.history = History()

    def fact(self, kind: str, change: Change, found: Object) -> None:
        version = str(100 + len(self.history.facts))
        found["metadata"]["resourceVersion"] = version
        self.history.facts.append(Fact(kind, change, found))

    def node(self, name: str, cpu: str = "2", pods: str = "10") -> None:
        """A node is there."""
        room = {"cpu": cpu, "memory": "8Gi", "pods": pods}
        self.fact(NODES, "added", {**_named("", name), "status": {"allocatable": room}})

    def quota(self, namespace: str, least: str, used: str, manager: str = "fault-tests") -> None:
        """A quota is there, or is changed, and says how much is used."""
        found = _named(namespace, "quota")
        found["spec"] = {"min": {"cpu": least}}
        found["status"] = {"used": {"cpu": used}, "scheduled": {"cpu": used}}
        found["metadata"]["managedFields"] = [{"manager": manager}]
        self.fact(QUOTAS, "modified", found)

    def gang(self, namespace: str, name: str, least: int) -> None:
        """A gang is there."""
        self.fact(GANGS, "added", {**_named(namespace, name), "spec": {"minMember": least}})

    def pod(
        self,
        name: str,
        node: str = "",
        *,
        change: Change = "modified",
        cpu: str = "1",
        priority: int = 0,
        phase: str = "Running",
        gang: str = "",
        scheduler: str = SCHEDULER,
        manager: str = "fault-tests",
        is_leaving: bool = False,
    ) -> None:
        """A pod is in one state; *name* is namespace/name."""
        found = _named(*name.split("/"))
        asked = {"resources": {"requests": {"cpu": cpu}}}
        found["spec"] = {
            "schedulerName": scheduler,
            "priority": priority,
            "containers": [asked],
            **({"nodeName": node} if node else {}),
        }
        found["status"] = {"phase": phase if node else "Pending"}
        found["metadata"]["labels"] = {GROUP: "g", **({GANG: gang} if gang else {})}
        found["metadata"]["managedFields"] = [{"manager": manager}]
        if is_leaving:
            found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self.fact(PODS, change, found)


def _named(namespace: str, name: str) -> Object:
    metadata = {"name": name, "uid": f"uid of {namespace}/{name}"}
    if namespace:
        metadata["namespace"] = namespace
    return {"metadata": metadata, "spec": {}}
