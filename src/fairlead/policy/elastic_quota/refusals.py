"""Refusals that cannot have changed, so that a pod is not tried again in vain.

Pods that ask for the same are refused for the same reason, as long as nothing happened that the
reason depends on. There are three kinds. Who is over the max of its namespace with nobody less
important there depends on that quota alone. Who finds the pool exhausted, with nobody less
important in its namespace, depends on the sums of all quotas. For both, whatever happens on nodes
is of no help. Everybody else depends on the nodes and on who holds them, too; so does whom a rule
refuses only until those have left who are leaving.
"""

from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

from fairlead.model.plan import FailedClaim, Reason
from fairlead.model.workload import ElasticPods
from fairlead.policy.elastic_quota.admission import Refusal, Standing
from fairlead.policy.elastic_quota.asker import Asker
from fairlead.policy.elastic_quota.desk import Desk

Answer: TypeAlias = tuple[Reason, tuple[FailedClaim, ...]]


class _Known(NamedTuple):
    facts: object
    answer: Answer


class Refusals:
    """What was refused in earlier turns, of this plan and of the one before."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._known: dict[Hashable, _Known] = {}
        self._before: dict[Hashable, _Known] = {}
        self._just_now: dict[Hashable, tuple[int, Answer]] = {}  # after how many changes

    def next_plan(self) -> None:
        """Keep what the last plan met, and forget what was known longer."""
        self._before, self._known = self._known, {}
        self._just_now = {}

    def just_now(self, desk: Desk, asker: Asker) -> Answer | None:
        """Return why one like *asker* was refused in this plan, if nothing happened since."""
        answer = self._just_now.get(_kind(asker))
        is_fresh = answer is not None and answer[0] == desk.changes
        if not is_fresh or desk.nominations.node_of(asker.key) is not None:
            return None
        return answer[1] if answer else None

    def known(self, desk: Desk, asker: Asker, refusal: Refusal | None) -> Answer | None:
        """Return why *asker* is refused, if that is known and cannot have changed.

        Law: what is returned is what asking again would give.
        """
        if desk.nominations.node_of(asker.key) is not None:
            return None
        kind = _kind(asker)
        known = self._known.get(kind) or self._before.get(kind)
        if known is None or known.facts != _facts(desk, asker, refusal):
            return None
        self._known[kind] = known
        self._just_now[kind] = (desk.changes, known.answer)
        return known.answer

    def remember(self, desk: Desk, asker: Asker, refusal: Refusal | None, answer: Answer) -> None:
        """Note why *asker* was refused just now."""
        if desk.nominations.node_of(asker.key) is None:
            kind = _kind(asker)
            self._known[kind] = _Known(_facts(desk, asker, refusal), answer)
            self._just_now[kind] = (desk.changes, answer)


def _kind(asker: Asker) -> Hashable:
    """Return all about a pod that decides whether it is refused."""
    own = asker.workload.extension
    policy = own.preemption_policy if isinstance(own, ElasticPods) else None
    wanted = asker.pod_set
    asked = (asker.requests, asker.charge, asker.named, wanted.constraints, wanted.labels)
    return (asker.queue, asker.workload.namespace, asker.priority, policy, asked)


def _facts(desk: Desk, asker: Asker, refusal: Refusal | None) -> object:
    """Return what the refusal depends on, by the kind that it is of."""
    queue = asker.queue
    if refusal is not None and queue is not None:
        standing = desk.admission.standing(asker, later=desk.looks_later)
        later = desk.admission.refusal(asker, standing)
        if later is not None and _takes_from_nobody(desk, asker, standing):
            if refusal.rule == later.rule == "OverMax":
                return (refusal, desk.quota_facts(queue))
            return (refusal, desk.all_quota_facts())
    return (refusal, desk.all_quota_facts(), desk.node_facts())


def _takes_from_nobody(desk: Desk, asker: Asker, standing: Standing) -> bool:
    """Return whether a pod may take from its own namespace only, where nobody is less important."""
    lowest = desk.holders.lowest_priority(asker.queue)
    is_lowest = lowest is None or lowest >= asker.priority
    return is_lowest and desk.admission.is_over_min(asker, standing)
