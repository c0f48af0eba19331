"""What one queue is charged with, and the users inside it."""

from collections.abc import Mapping, Set
from typing import NamedTuple

from fairlead.model.axes import Amounts, Limits
from fairlead.usage.entries import Granted
from fairlead.usage.lanes import Lanes
from fairlead.usage.queue_use import above_guarantee
from fairlead.usage.running_sum import RunningSum, SumState
from fairlead.usage.timeline import Moment


class AccountState(NamedTuple):
    """All that an account knows, for it to be written down and taken up again."""

    sums: SumState
    above: SumState | None  # None: the same
    users: Mapping[str, SumState]
    is_removed: bool
    held: Mapping[str, Amounts]
    guarantee: Limits | None  # None: no entry says what it is
    grants: Set[Granted]


class Account:
    """All use of a queue, its use above the guarantee of the moment, and each user's use.

    Until something is guaranteed, all use is above that, and both are the same sum. Only users who
    are named have their own sums; usage without a user is charged to the queue alone.
    """

    guarantee: Limits | None  # None: no entry says what it is

    def __init__(self, moment: Moment, count: int) -> None:
        """An account in which nothing has been held before *moment*."""
        self.sums = self.above = RunningSum(moment)
        self.users: dict[str, RunningSum] = {}
        self.is_removed = False
        self.held: dict[str, Amounts] = {}
        self._nothing: Amounts = (0,) * count
        self.guarantee = None
        self._grants: set[Granted] = set()  # those of the last moment of a grant

    @classmethod
    def resumed(cls, state: AccountState, count: int) -> "Account":
        """An account that goes on from *state*, and answers as the one that it was taken from."""
        resumed = cls.__new__(cls)
        resumed.resume(state, count)
        return resumed

    def resume(self, state: AccountState, count: int) -> None:
        """Forget everything and go on from *state*."""
        self.sums = self.above = RunningSum.resumed(state.sums)
        if state.above is not None:
            self.above = RunningSum.resumed(state.above)
        self.users = {user: RunningSum.resumed(sums) for user, sums in state.users.items()}
        self.is_removed = state.is_removed
        self.held = dict(state.held)
        self._nothing = (0,) * count
        self.guarantee = state.guarantee
        self._grants = set(state.grants)

    def state(self) -> AccountState:
        """All that is known now; good until the next change."""
        return AccountState(
            sums=self.sums.state(),
            above=None if self.above is self.sums else self.above.state(),
            users={user: sums.state() for user, sums in self.users.items()},
            is_removed=self.is_removed,
            held=self.held,
            guarantee=self.guarantee,
            grants=self._grants,
        )

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
            self._sums_of(moment, user).set_levels(moment, lanes.packed(amounts))

    def set_guarantee(self, moment: Moment, lanes: Lanes, amounts: Limits) -> None:
        """From *moment* on *amounts* are guaranteed."""
        self.guarantee = amounts
        if self.above is self.sums and amounts != self._nothing:
            self.above = RunningSum.resumed(self.sums.state())
        self._set_levels(moment, lanes)

    def grant(self, moment: Moment, lanes: Lanes, entry: Granted, weighted: Amounts) -> None:
        """Charge what an administrator said, to both sums and to the user; once if said twice.

        *weighted* is what *entry* weighs at that moment.
        """
        if entry in self._grants:
            return
        self._grants = {each for each in self._grants if each.at_ms == entry.at_ms} | {entry}
        granted = lanes.packed(weighted)
        for sums in self._queue_sums():
            sums.add(moment, granted)
        if entry.user:
            self._sums_of(moment, entry.user).add(moment, granted)

    def forgive(self, moment: Moment) -> None:
        """Let all use before *moment* be as if never."""
        for sums in self.all_sums():
            sums.forget(moment)

    def remove(self, moment: Moment) -> None:
        """From *moment* on nothing is held by anybody, and nothing is guaranteed."""
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

    def _sums_of(self, moment: Moment, user: str) -> RunningSum:
        sums = self.users.get(user)
        if sums is None:
            sums = self.users[user] = RunningSum(moment)
        return sums
