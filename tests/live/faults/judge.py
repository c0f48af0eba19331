"""Finds in the history of a cluster what no scheduler may do, whatever fails around it.

The rules look at objects of the API server only. Each one returns sentences about what is wrong; an
honest history has none. A rule about one fact sees the cluster as it was just before it.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from tests.live.api import Object
from tests.live.faults.admin import AGENT
from tests.live.faults.amounts import (
    Amounts,
    amounts,
    exceeding,
    has_room,
    is_leaving,
    node_of,
    sum_of,
)
from tests.live.faults.history import GANGS, NODES, PODS, QUOTAS, Fact, History, Picture
from tests.live.faults.writes import without_run

SCHEDULER: Final = "fairlead"
GROUP: Final = "test.fairlead/group"  # a label: pods of one group are alike
GANG: Final = "scheduling.x-k8s.io/pod-group"
# Who may change what is not the scheduler's: the tests, and what plays the rest of the cluster.
_OTHERS: Final = frozenset({AGENT, "kwok", "kube-controller-manager", "kube-apiserver"})

Outcome = Counter[tuple[str, str, str]]
"""How many pods of which namespace and group run, wait or are leaving."""


def violations(history: History, scheduler: str = SCHEDULER) -> list[str]:
    """Return all that is wrong in a history."""
    found: list[str] = []
    picture = Picture()
    for fact in history.in_order():
        for rule in _AT_EACH_FACT:
            found += rule(picture, fact, scheduler)
        picture.take(fact)
        found += overcommitted(picture, fact)
    for at_the_end in (half_started_gangs, wrong_status):
        found += at_the_end(picture)
    return list(dict.fromkeys(found))


def outcome(picture: Picture, scheduler: str = SCHEDULER) -> Outcome:
    """Return what came of the pods of *scheduler*."""
    found: Outcome = Counter()
    for pod in picture.of(PODS):
        if pod["spec"].get("schedulerName") == scheduler:
            group = pod["metadata"].get("labels", {}).get(GROUP, "")
            found[without_run(pod["metadata"]["namespace"]), group, _state(pod)] += 1
    return found


def moved(before: Picture, fact: Fact, scheduler: str) -> list[str]:
    """A pod that has a node keeps it."""
    was = before.before(fact)
    if fact.kind != PODS or was is None or node_of(was) in {"", node_of(fact.object)}:
        return []
    return [f"{_name(was)} was on {node_of(was)}, then on {node_of(fact.object) or 'none'}"]


def overcommitted(picture: Picture, fact: Fact) -> list[str]:
    """The pods of a node ask together for no more than it has."""
    if fact.kind != PODS or not node_of(fact.object):
        return []
    name = node_of(fact.object)
    node = next((each for each in picture.of(NODES) if each["metadata"]["name"] == name), None)
    if node is None:
        return [f"{_name(fact.object)} is on {name}, which does not exist"]
    pods = [each for each in picture.of(PODS) if node_of(each) == name and has_room(each)]
    used = sum_of(pods)
    used["pods"] = 1000 * len(pods)
    over = exceeding(used, amounts(node["status"]["allocatable"]))
    return [f"{name} is overcommitted at {fact.version}: {over}"] if over else []


def guarantee_broken(before: Picture, fact: Fact, scheduler: str) -> list[str]:
    """A namespace within its guarantee loses a pod to a more important one of its own only."""
    victim = before.before(fact)
    if victim is None or not _begins_to_leave(victim, fact) or not has_room(victim):
        return []
    namespace = victim["metadata"]["namespace"]
    quota = _quota(before, namespace)
    if quota is None or exceeding(_used(before, namespace), amounts(quota["spec"].get("min", {}))):
        return []
    if any(_priority(each) > _priority(victim) for each in _waiting(before, namespace, scheduler)):
        return []
    return [f"{_name(victim)} was evicted, although {namespace} was within its guarantee"]


def evicted_while_waiting(before: Picture, fact: Fact, scheduler: str) -> list[str]:
    """A pod without a node is in no one's way."""
    victim = before.before(fact)
    if victim is None or not _begins_to_leave(victim, fact) or node_of(victim):
        return []
    return [f"{_name(victim)} was deleted, although it had no node"]


def foreign_changed(before: Picture, fact: Fact, scheduler: str) -> list[str]:
    """What belongs to others stays as it is."""
    was, now = before.before(fact), fact.object
    if fact.kind == PODS and now["spec"].get("schedulerName") == scheduler:
        return []
    if was is None:
        return []
    if fact.change == "deleted":
        return [f"{_name(was)} is not the scheduler's, and was deleted"]
    found = _strange_managers(fact)
    if was["spec"] != now["spec"] and found:
        return [f"the spec of {_name(was)} was changed by {found}"]
    if fact.kind == PODS and was["spec"] != now["spec"]:
        return [f"{_name(was)} is not the scheduler's, and its spec was changed"]
    return [f"{_name(was)} was changed by {found}"] if found else []


def half_started_gangs(picture: Picture) -> list[str]:
    """In the end, of a gang at least the least number of its pods runs, or none."""
    found = []
    for gang in picture.of(GANGS):
        name, namespace = gang["metadata"]["name"], gang["metadata"]["namespace"]
        pods = [
            each
            for each in _pods_of(picture, namespace)
            if each["metadata"].get("labels", {}).get(GANG) == name
        ]
        running = sum(has_room(each) for each in pods)
        if 0 < running < gang["spec"].get("minMember", 1):
            found.append(f"of the gang {_name(gang)}, {running} of {len(pods)} pods run")
    return found


def wrong_status(picture: Picture) -> list[str]:
    """In the end, each quota says what its pods use that run, and those that have a node."""
    found = []
    for quota in picture.of(QUOTAS):
        pods = [
            each for each in _pods_of(picture, quota["metadata"]["namespace"]) if has_room(each)
        ]
        is_running = [each for each in pods if each["status"].get("phase") == "Running"]
        for field, counted in (("used", is_running), ("scheduled", pods)):
            told, true = amounts(quota.get("status", {}).get(field, {})), sum_of(counted)
            names = set(quota["spec"].get("min", {})) | set(quota["spec"].get("max", {}))
            wrong = {name: (told[name], true[name]) for name in names if told[name] != true[name]}
            if wrong:
                found.append(f"{_name(quota)} has a wrong status, {field}: {wrong}")
    return found


Rule = Callable[[Picture, Fact, str], list[str]]
_AT_EACH_FACT: Final[tuple[Rule, ...]] = (
    moved,
    guarantee_broken,
    evicted_while_waiting,
    foreign_changed,
)


def _state(pod: Object) -> str:
    if is_leaving(pod):
        return "leaving"
    return "running" if has_room(pod) else "waiting"


def _begins_to_leave(was: Object, fact: Fact) -> bool:
    """Return whether a pod is evicted by this fact."""
    is_going = fact.change == "deleted" or is_leaving(fact.object)
    return fact.kind == PODS and is_going and not is_leaving(was)


def _pods_of(picture: Picture, namespace: str) -> list[Object]:
    return [each for each in picture.of(PODS) if each["metadata"]["namespace"] == namespace]


def _used(picture: Picture, namespace: str) -> Amounts:
    """Return what a namespace uses, without what is leaving."""
    pods = _pods_of(picture, namespace)
    return sum_of(each for each in pods if has_room(each) and not is_leaving(each))


def _waiting(picture: Picture, namespace: str, scheduler: str) -> Iterable[Object]:
    for pod in _pods_of(picture, namespace):
        if pod["spec"].get("schedulerName") == scheduler and not node_of(pod):
            yield pod


def _quota(picture: Picture, namespace: str) -> Object | None:
    for quota in picture.of(QUOTAS):
        if quota["metadata"]["namespace"] == namespace:
            return quota
    return None


def _priority(pod: Object) -> int:
    return int(pod["spec"].get("priority") or 0)


def _strange_managers(fact: Fact) -> list[str]:
    """Return the managers of fields of an object which have no business there."""
    entries = fact.object["metadata"].get("managedFields", ())
    is_status_ours = fact.kind in {QUOTAS, GANGS}
    return sorted(
        {
            each["manager"]
            for each in entries
            if each["manager"] not in _OTHERS
            and not (is_status_ours and each.get("subresource") == "status")
        }
    )


def _name(found: Object) -> str:
    metadata = found["metadata"]
    return "/".join(metadata[key] for key in ("namespace", "name") if key in metadata)
