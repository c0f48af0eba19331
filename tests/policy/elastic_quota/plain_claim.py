"""Who gives way to the incoming pod on one node, and on which node, straight after the text.

Who is there is a list of pods; to remove one is to write the list without it.
"""

from collections.abc import Sequence
from math import inf

from tests.conformance.elastic_answers import ClaimAnswer, NodeAnswer
from tests.policy.elastic_quota.plain_case import Amounts, PlainCase, PlainPod, total
from tests.policy.elastic_quota.plain_quota import (
    asked,
    broken_rule,
    goes_first,
    is_incoming_over_min,
    is_over_min,
    nominated_all,
    nominated_in_quota,
    present_pods,
    refusal,
    used,
)

Pods = Sequence[PlainPod]


def claim(case: PlainCase) -> ClaimAnswer:
    """Return whom the incoming pod drives out, where; None of it if it may not try."""
    why = why_not_eligible(case)
    if why is not None:
        return ClaimAnswer(why_not_eligible=why, code="Unschedulable")
    nodes = [node for node in case.nodes if not is_hopeless(case, node)]
    protects_min = case.settings.protect_min or not case.settings.quirks.below_min
    judged = {node: judge(case, node, protects_min=protects_min) for node in nodes}
    if protects_min and not case.settings.protect_min and not _choices(case, judged):
        judged = {node: judge(case, node, protects_min=False) for node in nodes}
    choices = _choices(case, judged)
    if not choices:
        erred = any(_erred(answer) for answer in judged.values())
        return ClaimAnswer(nodes=judged, code="Error" if erred else "Unschedulable")
    leaving = {pod.full_name for pod in case.pods if pod.is_leaving}
    chosen = min(choices, key=lambda node: _harm(case, node, judged[node]))
    return ClaimAnswer(
        nodes=judged,
        code="Success",
        chosen=chosen,
        deleted=tuple(name for name in judged[chosen].victims if name not in leaving),
        cleared=tuple(
            sorted(
                pod.full_name
                for pod in case.nominated
                if pod.node == chosen
                and pod.priority < case.incoming.priority
                and not goes_first(case, pod)
            )
        ),
    )


def why_not_eligible(case: PlainCase) -> str | None:
    """Return why the incoming pod may not take a place from others, or None if it may."""
    incoming = case.incoming
    if incoming.never_preempts:
        return "preemption-policy-never"
    if incoming.node not in case.nodes or is_hopeless(case, incoming.node):
        return None
    if case.settings.quirks.leaving_counts:
        is_waiting = any(
            pod.is_leaving and pod.node == incoming.node and _could_have_taken(case, pod)
            for pod in case.pods
        )
    else:
        answer = judge(case, incoming.node, protects_min=False)
        is_waiting = answer.outcome == "no-victim-needed"
    return "terminating-pod-on-nominated-node" if is_waiting else None


def is_hopeless(case: PlainCase, node: str) -> bool:
    """Return whether no eviction can help there; not known if the pod was not even admitted."""
    allocatable = case.nodes[node]
    asks = case.incoming.node_charge.items()
    return refusal(case) is None and any(
        amount > allocatable.get(resource, 0) for resource, amount in asks if amount
    )


def fits(case: PlainCase, node: str, pods: Pods) -> bool:
    """Return whether a node has room, beside those that go first and are nominated to it."""
    incoming = case.incoming
    there = [pod for pod in pods if pod.node == node]
    there += [pod for pod in case.nominated if pod.node == node and goes_first(case, pod)]
    allocatable = case.nodes[node]
    sums = total([*(pod.node_charge for pod in there), incoming.node_charge])
    has_room = all(
        sums[resource] <= allocatable.get(resource, 0)
        for resource, amount in incoming.node_charge.items()
        if amount
    )
    return has_room and len(there) + 1 <= allocatable.get("pods", 0)


def judge(case: PlainCase, node: str, *, protects_min: bool) -> NodeAnswer:
    """Return what comes of a node, if no quota falls below min or if nobody looks at that."""
    quirks = case.settings.quirks
    present = present_pods(case)
    if (
        not quirks.leaving_counts
        and fits(case, node, present)
        and _rules_hold(case, present, with_nominated=True)
    ):
        return NodeAnswer(outcome="no-victim-needed")
    candidates = _candidates(case, node, protects_min=protects_min)
    if not candidates:
        return NodeAnswer(outcome="no-victims")
    rest = [pod for pod in present if pod not in candidates]
    if not fits(case, node, rest):
        return NodeAnswer(outcome="does-not-fit")
    if not _rules_hold(case, rest, with_nominated=not quirks.bare_first_check):
        return NodeAnswer(outcome="quota")
    return _put_back(case, node, rest, candidates)


def _put_back(case: PlainCase, node: str, rest: Pods, candidates: Pods) -> NodeAnswer:
    """Let those stay who may, the protected ones first; *rest* is who is there anyway."""
    quirks = case.settings.quirks
    protected = _protected(case, candidates)
    others = [pod for pod in candidates if pod not in protected]
    victims = []
    violations = 0
    for pod in [*_most_important_first(protected), *_most_important_first(others)]:
        does_fit = fits(case, node, [*rest, pod])
        if does_fit and _rules_hold(case, [*rest, pod], with_nominated=True):
            rest = [*rest, pod]
            continue
        is_broken_without = not _rules_hold(case, rest, with_nominated=True)
        if quirks.double_remove and not does_fit and is_broken_without:
            return NodeAnswer(outcome="error")
        victims.append(pod)
        if pod in protected and not (does_fit and quirks.pdb_undercount):
            violations += 1
    names = tuple(pod.full_name for pod in _most_important_first(victims))
    outcome = NodeAnswer(outcome="victims", victims=names, violations=violations)
    return outcome if victims else NodeAnswer(outcome="no-victim-needed")


def _candidates(case: PlainCase, node: str, *, protects_min: bool) -> list[PlainPod]:
    """Collect who may be driven out, the least important first."""
    present = present_pods(case)
    candidates: list[PlainPod] = []
    there = _most_important_first([pod for pod in present if pod.node == node])
    if not case.settings.quirks.below_min:
        there.reverse()
    else:  # equal pods in the order in which they are put back
        there.sort(key=lambda pod: (pod.priority, -_start(pod)))
    for pod in there:
        left = [other for other in present if other not in candidates]
        if _may_be_taken(case, pod, left) and not (
            protects_min and _takes_below_min(case, pod, left)
        ):
            candidates.append(pod)
    return candidates


def _may_be_taken(case: PlainCase, pod: PlainPod, left: Pods) -> bool:
    incoming = case.incoming
    if incoming.namespace not in case.quotas:
        return pod.namespace not in case.quotas and pod.priority < incoming.priority
    if is_incoming_over_min(case):
        return pod.namespace == incoming.namespace and pod.priority < incoming.priority
    return _gives(case, pod, left)


def _could_have_taken(case: PlainCase, pod: PlainPod) -> bool:
    """Return whether a leaving pod may have been driven out by the incoming one."""
    incoming = case.incoming
    is_lower = pod.priority < incoming.priority
    if incoming.namespace not in case.quotas:
        return pod.namespace not in case.quotas and is_lower
    if pod.namespace == incoming.namespace:
        return is_lower
    return not is_incoming_over_min(case) and _gives(case, pod, case.pods)


def _gives(case: PlainCase, pod: PlainPod, pods: Pods) -> bool:
    """Return whether it is of another's quota, and that is over its min.

    By our reading it must be so in what the incoming pod asks for, and this one has.
    """
    quota = case.quotas.get(pod.namespace)
    if quota is None or pod.namespace == case.incoming.namespace:
        return False
    use = used(case, pods, pod.namespace)
    if not case.settings.quirks.pool_all:
        has = {name for name, amount in pod.quota_charge.items() if amount > 0}
        use = {name: use[name] for name in use.keys() & has & asked(case)}
    return is_over_min(quota, use)


def _takes_below_min(case: PlainCase, pod: PlainPod, left: Pods) -> bool:
    """Return whether another's quota would fall below min in a resource that the pod has."""
    if pod.namespace not in case.quotas or pod.namespace == case.incoming.namespace:
        return False
    minimum = case.quotas[pod.namespace].min
    promised = [
        each.quota_charge
        for each in case.nominated
        if each.namespace == pod.namespace and each.node in case.nodes
    ]
    used_now = used(case, left, pod.namespace)
    return any(
        had.get(resource, 0) - amount < minimum.get(resource, 0) <= had.get(resource, 0)
        for had in (used_now, total([used_now, *promised]))
        for resource, amount in pod.quota_charge.items()
    )


def _rules_hold(case: PlainCase, pods: Pods, *, with_nominated: bool) -> bool:
    in_quota: Amounts = case.incoming.quota_charge
    in_all: Amounts = case.incoming.quota_charge
    if with_nominated:
        in_quota = nominated_in_quota(case)
        in_all = nominated_all(case, later=True)
    return broken_rule(case, pods, in_quota, in_all) is None


def _protected(case: PlainCase, candidates: Pods) -> list[PlainPod]:
    """Return those past what the budgets allow, used up in the order of importance.

    By our reading those who are leaving have used theirs up before.
    """
    allowed = [budget.allowed for budget in case.budgets]
    protected = []
    as_plugin = case.settings.quirks.leaving_counts
    leaving = [] if as_plugin else [pod for pod in case.pods if pod.is_leaving]
    leaving = [pod for pod in leaving if pod.node in case.nodes]
    for pod in [*leaving, *_most_important_first(candidates)]:
        is_protected = False
        for number, budget in enumerate(case.budgets):
            if (
                budget.namespace == pod.namespace
                and budget.selector
                and budget.selector.items() <= pod.labels.items()
                and pod.name not in budget.disrupted
            ):
                allowed[number] -= 1
                is_protected = is_protected or allowed[number] < 0
        if is_protected and pod not in leaving:
            protected.append(pod)
    return protected


def _most_important_first(pods: Pods) -> list[PlainPod]:
    return sorted(pods, key=lambda pod: (-pod.priority, _start(pod), pod.full_name))


def _start(pod: PlainPod) -> float:
    return inf if pod.start is None else pod.start


def _choices(case: PlainCase, judged: dict[str, NodeAnswer]) -> list[str]:
    wanted = {"victims"} if case.settings.quirks.leaving_counts else {"victims", "no-victim-needed"}
    return [node for node, answer in judged.items() if answer.outcome in wanted]


def _erred(answer: NodeAnswer) -> bool:
    """Return whether a node failed; that nobody had to leave is unplanned in the plugin."""
    return answer.outcome in ("error", "no-victim-needed")


def _harm(case: PlainCase, node: str, answer: NodeAnswer) -> tuple[float | str, ...]:
    """Return by what nodes are compared; one that harms nobody comes before all others."""
    victims = [pod for pod in case.pods if pod.full_name in answer.victims]
    top = max((pod.priority for pod in victims), default=-inf)
    return (
        answer.violations,
        top,
        sum(pod.priority + 2**31 for pod in victims),
        len(victims),
        -min((_start(pod) for pod in victims if pod.priority == top), default=inf),
        node,
    )
