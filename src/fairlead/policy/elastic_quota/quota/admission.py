"""May a pod be admitted: the two rules of a quota, with the numbers that decide.

A pod must leave its namespace under its max, and all namespaces together within the sum of all
mins. Pods of a namespace without a quota pass, and count nowhere.
"""

from operator import sub
from typing import Final, Literal, NamedTuple, TypeAlias

from fairlead.fairness.elastic_pool import Excess, exceeds, excesses, first_excess
from fairlead.model.axes import Amounts
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.quota.nominations import Nominated, Nominations
from fairlead.policy.elastic_quota.quota.pending_pod import Asker
from fairlead.policy.elastic_quota.quota.usage import CORE, QuotaBooks, QuotaUse
from fairlead.policy.elastic_quota.settings import PluginQuirks

Rule: TypeAlias = Literal["OverMax", "PoolExhausted"]
OVER_MAX: Final = "OverMax"
POOL_EXHAUSTED: Final = "PoolExhausted"


class Refusal(NamedTuple):
    """Which rule a pod would break, and by which numbers."""

    rule: Rule
    excess: Excess
    later: bool = False  # only once those have left who are leaving, and others got their room


class Standing(NamedTuple):
    """How a pod stands to its quota and to the pool at one time, others' claims included."""

    use: QuotaUse
    nominated: Nominated  # others that count before it
    in_quota: Amounts  # those of its quota, and the pod
    everywhere: Amounts  # those of all quotas, and the pod
    own_axes: tuple[int, ...]  # on which it is held against the min and max of its quota
    pool_axes: tuple[int, ...]  # on which everybody is held against the pool


class Admission:
    """Judges pods of one state by its quotas, as they are when it is asked."""

    def __init__(
        self,
        state: ClusterState,
        books: QuotaBooks,
        nominations: Nominations,
        quirks: PluginQuirks,
    ) -> None:
        """Judge by *books* and *nominations*, with the plugin's quirks or without."""
        self._books: Final = books
        self._nominations: Final = nominations
        self._quirks: Final = quirks
        # Who borrows does that where promises are kept, and where there is a later.
        self._leaves_room = not (quirks.promise_taken or quirks.leaving_counts)
        self._all_axes = tuple(range(len(state.axes)))
        self._core = frozenset(
            [at for at, axis in enumerate(state.axes.axes) if axis.resource in CORE]
        )

    def standing(self, asker: Asker, *, later: bool) -> Standing:
        """Return how *asker* stands now, or once everybody has left who is leaving.

        Later, what those leave counts as free, so who waits for it counts beyond its min, too: as
        far as it goes, and all of it for a pod that would be over its own min.
        Cost: the axes, the quotas with nominated pods, and those of the pod's own.
        """
        books = self._books
        use = books.later if later else books.now
        found = self._nominations.counted(asker, use)
        asked = tuple([axis for axis, amount in enumerate(asker.charge) if amount > 0])
        own_axes = asked
        if self._quirks.scalar_if_asked:
            own_axes = tuple(sorted(self._core | asker.named | found.named))
        standing = Standing(
            use=use,
            nominated=found,
            in_quota=_plus(found.in_quota, asker.charge),
            everywhere=_plus(found.everywhere, asker.charge),
            own_axes=own_axes,
            pool_axes=self._all_axes if self._quirks.pool_all else asked,
        )
        return self._with_waiting(asker, standing) if later else standing

    def refusal(self, asker: Asker) -> Refusal | None:
        """Return which rule *asker* would break if it started now; None: it may be admitted.

        Who would be over its min must leave enough for those, too, who wait for others to leave.
        """
        now = self.standing(asker, later=False)
        found = self.broken_rule(asker, now)
        if found is not None or not self._leaves_room or not any(now.nominated.beyond_mins):
            return found
        later = self.standing(asker, later=True)
        found = self.broken_rule(asker, later) if self.is_over_min(asker, later) else None
        return None if found is None else found._replace(later=True)

    def broken_rule(self, asker: Asker, standing: Standing) -> Refusal | None:
        """Return which rule *asker* would break first, as it stands; None: none."""
        queue = asker.queue
        if queue is None:
            return None
        found = first_excess(
            standing.use.used[queue],
            standing.nominated.in_quota,
            asker.charge,
            self._books.ceiling[queue],
            standing.own_axes,
        )
        if found is not None:
            return Refusal(OVER_MAX, found)
        found = first_excess(
            standing.use.pool,
            standing.nominated.everywhere,
            asker.charge,
            self._books.pool,
            standing.pool_axes,
        )
        return None if found is None else Refusal(POOL_EXHAUSTED, found)

    def excesses(self, asker: Asker, standing: Standing, rule: Rule) -> list[Excess]:
        """Return everything in which *asker* would break a rule."""
        queue, use, others = asker.queue, standing.use, standing.nominated
        if queue is None:
            return []
        if rule == OVER_MAX:
            sums = (use.used[queue], others.in_quota, asker.charge)
            return list(excesses(*sums, self._books.ceiling[queue], standing.own_axes))
        sums = (use.pool, others.everywhere, asker.charge)
        return list(excesses(*sums, self._books.pool, standing.pool_axes))

    def beyond_min(self, asker: Asker, standing: Standing) -> list[Excess]:
        """Return everything in which *asker* would take its quota over its min."""
        queue = asker.queue
        if queue is None:
            return []
        sums = (standing.use.used[queue], standing.nominated.in_quota, asker.charge)
        return list(excesses(*sums, self._books.guaranteed[queue], standing.own_axes))

    def _with_waiting(self, asker: Asker, standing: Standing) -> Standing:
        """Return how *asker* stands if those count who wait beyond their mins."""
        more = standing.nominated.beyond_mins
        if not self._leaves_room or not self.is_over_min(asker, standing):
            leaving = map(sub, self._books.now.pool, self._books.later.pool)
            more = tuple(map(min, more, leaving))
        found = standing.nominated
        return standing._replace(
            nominated=found._replace(
                everywhere=_plus(found.everywhere, more),
                beyond_mins=tuple(map(sub, found.beyond_mins, more)),
            ),
            everywhere=_plus(standing.everywhere, more),
        )

    def is_over_min(self, asker: Asker, standing: Standing) -> bool:
        """Return whether *asker* would take its quota over its min."""
        queue = asker.queue
        return queue is not None and exceeds(
            standing.use.used[queue],
            standing.in_quota,
            self._books.guaranteed[queue],
            standing.own_axes,
        )


def _plus(one: Amounts, other: Amounts) -> Amounts:
    return tuple([a + b for a, b in zip(one, other, strict=True)])
