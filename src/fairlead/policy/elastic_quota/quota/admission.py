"""Whether a quota admits a pod: its two rules, with the numbers that decide.

With the pod, its namespace must stay within its max, and all namespaces together within the pool,
which is the sum of all mins. Pods of a namespace without a quota are admitted and counted nowhere.
"""

from operator import sub
from typing import Final, Literal, NamedTuple, TypeAlias

from fairlead.fairness.elastic_pool import Excess, exceeds, excesses, first_excess
from fairlead.model.axes import Amounts
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.quota.nominations import NominatedRequests, Nominations
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod
from fairlead.policy.elastic_quota.quota.usage import CORE, QuotaUsage, UsageTotals
from fairlead.policy.elastic_quota.settings import PluginQuirks

Rule: TypeAlias = Literal["OverMax", "PoolExhausted"]
OVER_MAX: Final = "OverMax"
POOL_EXHAUSTED: Final = "PoolExhausted"


class QuotaViolation(NamedTuple):
    """The rule that a pod would break, and the numbers that show it."""

    rule: Rule
    excess: Excess
    # Broken only once nominated pods have taken what terminating pods will free.
    after_termination: bool = False


class QuotaCheck(NamedTuple):
    """The numbers of one admission check: usage, nominated pods and the pod itself, at one time."""

    use: UsageTotals
    nominated: NominatedRequests  # pods that are counted before this one
    in_quota: Amounts  # requests of those in the same quota, plus the pod's own
    in_pool: Amounts  # requests of those in all quotas, plus the pod's own
    own_axes: tuple[int, ...]  # axes on which the min and max of the quota are checked
    pool_axes: tuple[int, ...]  # axes on which the pool is checked


class Admission:
    """Checks pods of one state against its quotas, as they are at the time of the call."""

    def __init__(
        self,
        state: ClusterState,
        quotas: QuotaUsage,
        nominations: Nominations,
        quirks: PluginQuirks,
    ) -> None:
        """Check against *quotas* and *nominations*, with the plugin's quirks or without."""
        self._quotas: Final = quotas
        self._nominations: Final = nominations
        self._quirks: Final = quirks
        # A borrower leaves room for pods that wait for termination, unless a quirk says otherwise.
        self._reserves_for_nominated = not (quirks.promise_taken or quirks.leaving_counts)
        self._all_axes = tuple(range(len(state.axes)))
        self._core = frozenset(
            [at for at, axis in enumerate(state.axes.axes) if axis.resource in CORE]
        )

    def check(self, pending: PendingPod, *, after_termination: bool) -> QuotaCheck:
        """Return the numbers for *pending* now, or *after_termination* of the terminating pods.

        After termination the capacity that they free is counted as available. Therefore nominated
        pods that wait for it are counted beyond their min as well: up to what is freed, or in full
        against a pod that would take its own namespace over its min.

        Cost: the axes, the quotas with nominated pods, and the nominated pods of the pod's own
        quota.
        """
        quotas = self._quotas
        use = quotas.after_termination if after_termination else quotas.now
        found = self._nominations.counted_before(pending, use)
        requested = tuple([axis for axis, amount in enumerate(pending.charge) if amount > 0])
        own_axes = requested
        if self._quirks.scalar_if_asked:
            own_axes = tuple(sorted(self._core | pending.named | found.named))
        check = QuotaCheck(
            use=use,
            nominated=found,
            in_quota=_plus(found.in_quota, pending.charge),
            in_pool=_plus(found.in_pool, pending.charge),
            own_axes=own_axes,
            pool_axes=self._all_axes if self._quirks.pool_all else requested,
        )
        return self._with_nominated(pending, check) if after_termination else check

    def violation(self, pending: PendingPod) -> QuotaViolation | None:
        """Return the rule that *pending* would break if it started now; None: it is admitted.

        A pod that would take its namespace over its min must also leave enough for nominated pods
        that wait for terminating ones.
        """
        now = self.check(pending, after_termination=False)
        found = self.first_violation(pending, now)
        if (
            found is not None
            or not self._reserves_for_nominated
            or not any(now.nominated.beyond_mins)
        ):
            return found
        then = self.check(pending, after_termination=True)
        found = self.first_violation(pending, then) if self.is_over_min(pending, then) else None
        return None if found is None else found._replace(after_termination=True)

    def first_violation(self, pending: PendingPod, check: QuotaCheck) -> QuotaViolation | None:
        """Return the first rule that *pending* breaks by the numbers of *check*; None: none."""
        queue = pending.queue
        if queue is None:
            return None
        found = first_excess(
            check.use.used[queue],
            check.nominated.in_quota,
            pending.charge,
            self._quotas.ceiling[queue],
            check.own_axes,
        )
        if found is not None:
            return QuotaViolation(OVER_MAX, found)
        found = first_excess(
            check.use.pool,
            check.nominated.in_pool,
            pending.charge,
            self._quotas.pool,
            check.pool_axes,
        )
        return None if found is None else QuotaViolation(POOL_EXHAUSTED, found)

    def excesses(self, pending: PendingPod, check: QuotaCheck, rule: Rule) -> list[Excess]:
        """Return every axis on which *pending* would break *rule*."""
        queue, use, others = pending.queue, check.use, check.nominated
        if queue is None:
            return []
        if rule == OVER_MAX:
            sums = (use.used[queue], others.in_quota, pending.charge)
            return list(excesses(*sums, self._quotas.ceiling[queue], check.own_axes))
        sums = (use.pool, others.in_pool, pending.charge)
        return list(excesses(*sums, self._quotas.pool, check.pool_axes))

    def beyond_min(self, pending: PendingPod, check: QuotaCheck) -> list[Excess]:
        """Return every axis on which *pending* would take its quota over its min."""
        queue = pending.queue
        if queue is None:
            return []
        sums = (check.use.used[queue], check.nominated.in_quota, pending.charge)
        return list(excesses(*sums, self._quotas.guaranteed[queue], check.own_axes))

    def _with_nominated(self, pending: PendingPod, check: QuotaCheck) -> QuotaCheck:
        """Return *check* with nominated pods counted beyond their mins."""
        more = check.nominated.beyond_mins
        if not self._reserves_for_nominated or not self.is_over_min(pending, check):
            leaving = map(sub, self._quotas.now.pool, self._quotas.after_termination.pool)
            more = tuple(map(min, more, leaving))
        found = check.nominated
        return check._replace(
            nominated=found._replace(
                in_pool=_plus(found.in_pool, more),
                beyond_mins=tuple(map(sub, found.beyond_mins, more)),
            ),
            in_pool=_plus(check.in_pool, more),
        )

    def is_over_min(self, pending: PendingPod, check: QuotaCheck) -> bool:
        """Return whether *pending* would take its quota over its min."""
        queue = pending.queue
        return queue is not None and exceeds(
            check.use.used[queue],
            check.in_quota,
            self._quotas.guaranteed[queue],
            check.own_axes,
        )


def _plus(one: Amounts, other: Amounts) -> Amounts:
    return tuple([a + b for a, b in zip(one, other, strict=True)])
