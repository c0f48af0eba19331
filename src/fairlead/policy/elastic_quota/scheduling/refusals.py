"""Refusals that cannot have changed, so that a pod is not tried again in vain.

Pods that ask for the same are refused for the same reason, as long as nothing happened that the
reason depends on. There are three kinds. Who is over the max of its namespace with nobody less
important there depends on that quota alone. Who finds the pool exhausted, with nobody less
important in its namespace, depends on the sums of all quotas. For both, whatever happens on nodes
is of no help. Everybody else depends on the nodes and on who holds them, too; so does whom a rule
refuses only until those have left who are leaving.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

from fairlead.model.plan import FailedClaim, Reason
from fairlead.model.workload import ElasticPods
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.quota.admission import OVER_MAX, Refusal, Standing
from fairlead.policy.elastic_quota.quota.pending_pod import Asker

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

    def just_now(self, desk: Desk, askers: Sequence[Asker]) -> Answer | None:
        """Return why such *askers* were refused in this plan, if nothing happened since.

        They are one pod, or all that a gang needs.
        """
        answer = self._just_now.get(_kind(desk, askers))
        is_fresh = answer is not None and answer[0] == desk.changes
        if not is_fresh or _is_nominated(desk, askers):
            return None
        return answer[1] if answer else None

    def known(self, desk: Desk, askers: Sequence[Asker], refusal: Refusal | None) -> Answer | None:
        """Return why *askers* are refused, if that is known and cannot have changed.

        Law: what is returned is what asking again would give.
        """
        if _is_nominated(desk, askers):
            return None
        kind = _kind(desk, askers)
        known = self._known.get(kind) or self._before.get(kind)
        if known is None or known.facts != _facts(desk, askers, refusal):
            return None
        self._known[kind] = known
        self._just_now[kind] = (desk.changes, known.answer)
        return known.answer

    def remember(
        self, desk: Desk, askers: Sequence[Asker], refusal: Refusal | None, answer: Answer
    ) -> None:
        """Note why *askers* were refused just now."""
        if not _is_nominated(desk, askers):
            kind = _kind(desk, askers)
            self._known[kind] = _Known(_facts(desk, askers, refusal), answer)
            self._just_now[kind] = (desk.changes, answer)


def _is_nominated(desk: Desk, askers: Sequence[Asker]) -> bool:
    return any(desk.nominations.node_of(each.key) is not None for each in askers)


def _kind(desk: Desk, askers: Sequence[Asker]) -> Hashable:
    """Return all about pods that decides whether they are refused."""
    first = askers[0]
    own = first.workload.extension
    whole: Hashable = None
    if isinstance(own, ElasticPods):
        whole = (own.preemption_policy, own.min_resources, own.schedule_timeout_s)
    return (
        first.queue,
        first.workload.namespace,
        first.priority,
        whole,
        tuple([_pod_kind(desk, each) for each in askers]),
    )


def _pod_kind(desk: Desk, asker: Asker) -> Hashable:
    """Return what matters of a pod; labels and its turn only where others look at them."""
    wanted = asker.pod_set
    around = (wanted.labels, asker.turn) if desk.places.neighbours_matter(asker) else ()
    return (asker.requests, asker.charge, asker.named, wanted.constraints, around)


def _facts(desk: Desk, askers: Sequence[Asker], refusal: Refusal | None) -> object:
    """Return what the refusal depends on, by the kind that it is of."""
    asker = askers[0]
    queue = asker.queue
    if refusal is not None and queue is not None and len(askers) == 1:
        standing = desk.admission.standing(asker, later=desk.looks_later)
        later = desk.admission.broken_rule(asker, standing)
        if later is not None and _takes_from_nobody(desk, asker, standing):
            if refusal.rule == later.rule == OVER_MAX:
                return (refusal, desk.quota_facts(queue))
            return (refusal, desk.all_quota_facts())
    return (refusal, desk.all_quota_facts(), desk.node_facts())


def _takes_from_nobody(desk: Desk, asker: Asker, standing: Standing) -> bool:
    """Return whether a pod may take from its own namespace only, where nobody is less important."""
    lowest = desk.holders.lowest_priority(asker.queue)
    is_lowest = lowest is None or lowest >= asker.priority
    return is_lowest and desk.admission.is_over_min(asker, standing)
