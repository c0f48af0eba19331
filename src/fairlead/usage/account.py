"""What one queue is charged with, and the users inside it."""

from collections.abc import Set

from fairlead.model.axes import Amounts, Limits
from fairlead.usage.entries import Granted
from fairlead.usage.lanes import Lanes
from fairlead.usage.queue_use import above_guarantee
from fairlead.usage.running_sum import RunningSum
from fairlead.usage.timeline import Moment


class Account:
    """All use of a queue, its use above the guarantee of the moment, and each user's use.

    Until something is guaranteed, all use is above that, and both are the same sum. Only users who
    are named have their own sums; usage without a user is charged to the queue alone.
    """

    guarantee: Limits | None  # None: no entry says what it is

    def __init__(self, sums: RunningSum, count: int) -> None:
        """An account that has used *sums*; so far nothing is held."""
        self.sums = self.above = sums
        self.users: dict[str, RunningSum] = {}
        self.is_removed = False
        self.held: dict[str, Amounts] = {}
        self.guarantee = None
        self.grants: Set[Granted] = frozenset()  # those of the last moment of a grant
        self._nothing: Amounts = (0,) * count

    def copy(self) -> "Account":
        """Return an independent account that answers, and continues, as this one."""
        copy = Account(self.sums.copy(), len(self._nothing))
        if self.above is not self.sums:
            copy.above = self.above.copy()
        copy.users = {user: sums.copy() for user, sums in self.users.items()}
        copy.is_removed, copy.held = self.is_removed, self.held.copy()
        copy.guarantee, copy.grants = self.guarantee, self.grants
        return copy

    @property
    def guaranteed(self) -> Set[int]:
        """The places of resources with a guarantee; all if an entry says that there is none.

        An entry has an amount of every resource, and 0 beside others may mean that none was set.
        """
        if self.guarantee is None:
            return frozenset()
        some = {place for place, amount in enumerate(self.guarantee) if amount != 0}
        return some or set(range(len(self.guarantee)))

    def hold(self, moment: Moment, lanes: Lanes, user: str, amounts: Amounts) -> None:
        """From *moment* on *user* holds *amounts*."""
        self.is_removed = False
        if any(amounts):
            self.held[user] = amounts
        else:
            self.held.pop(user, None)
        self._set_levels(moment, lanes)
        if user:
            self._sums_of(moment, lanes, user).set_levels(moment, lanes.packed(amounts))

    def set_guarantee(self, moment: Moment, lanes: Lanes, amounts: Limits) -> None:
        """From *moment* on *amounts* are guaranteed."""
        self.guarantee = amounts
        if self.above is self.sums and amounts != self._nothing:
            self.above = self.sums.copy()
        self._set_levels(moment, lanes)

    def grant(self, moment: Moment, lanes: Lanes, entry: Granted, weighted: Amounts) -> None:
        """Charge what an administrator said, to both sums and to the user; once if said twice.

        *weighted* is what *entry* weighs at that moment.
        """
        if entry in self.grants:
            return
        self.grants = {each for each in self.grants if each.at_ms == entry.at_ms} | {entry}
        granted = lanes.packed(weighted)
        for sums in self._queue_sums():
            sums.add(moment, granted)
        if entry.user:
            self._sums_of(moment, lanes, entry.user).add(moment, granted)

    def forgive(self, moment: Moment) -> None:
        """Let all use before *moment* be as if never."""
        for sums in self.all_sums():
            sums.forget(moment)

    def remove(self, moment: Moment) -> None:
        """From *moment* on nothing is held any more, and nothing is guaranteed."""
        self.is_removed = True
        self.held.clear()
        self.guarantee = None
        for sums in self.all_sums():
            sums.set_levels(moment, 0)

    def skip(self, since: Moment, until: Moment) -> None:
        """Count nothing between two moments; afterwards all is held as before."""
        for sums in self.all_sums():
            levels = sums.levels
            sums.set_levels(since, 0)
            sums.set_levels(until, levels)

    def all_sums(self) -> list[RunningSum]:
        """The sums of the queue and of its users."""
        return [*self._queue_sums(), *self.users.values()]

    def _queue_sums(self) -> list[RunningSum]:
        return [self.sums] if self.above is self.sums else [self.sums, self.above]

    def _set_levels(self, moment: Moment, lanes: Lanes) -> None:
        if len(self.held) == 1:
            (held,) = self.held.values()
        else:
            held = tuple(map(sum, zip(*self.held.values(), strict=True))) or self._nothing
        self.sums.set_levels(moment, lanes.packed(held))
        if self.above is not self.sums:
            guarantee = self._nothing if self.guarantee is None else self.guarantee
            above = tuple(map(above_guarantee, held, guarantee))
            self.above.set_levels(moment, lanes.packed(above))

    def _sums_of(self, moment: Moment, lanes: Lanes, user: str) -> RunningSum:
        sums = self.users.get(user)
        if sums is None:
            sums = self.users[user] = RunningSum(moment, lanes)
        return sums
