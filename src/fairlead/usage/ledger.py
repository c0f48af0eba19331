"""What each queue and user used over a window, from the entries that were written down.

What happens to odd entries is part of the promise:

* **Order.** The entries of one queue (its users and its guarantee included), and those of the
  capacity, come in the order of time; one that is older than the last is refused, and nothing is
  changed. Different queues need not be in step. An entry about all queues (a gap, forgiving all)
  must not be older than any other, nor may a gap begin before the last entry.
* **A clock that jumps back.** `newest_ms` is the last moment that is known. A caller writes the
  later of that and its clock: until the clock has caught up, time stands still and nobody is
  charged. A jump forward looks like a long time without changes and is charged, unless a gap is
  written.
* **Twice the same** has no effect. Two equal grants in one millisecond, by the same person with the
  same reason, are one.
* **A queue appears** with its first entry; before that it used nothing. **Renamed**, it takes its
  past along; to the name of another queue that is known, it is refused. **Removed**, it holds
  nothing, and its past counts until it has faded; if it returns, it goes on. A queue that **moves**
  takes its past along, because inner queues are sums of what is below them when they are asked for.
* **No guarantee** was ever told: all use is above it.
* **Capacity** that changes counts for as long as it was there. If there was none in the whole
  window, use is 0 of it, and the resource is listed as unknown.
* **A gap**: neither use nor capacity counts. Afterwards all is held as before.
* **A grant** of more than was used makes a credit: sums may be negative. As a part of the capacity
  a credit is 0. Grants fade, and leave the window, as use does; they count in both sums.
* **Forgiven**: past use and grants are as if never; the capacity that was there still counts.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal, NamedTuple, Self

from fairlead.errors import UsageError
from fairlead.model.axes import Amounts, Limits, QueueName
from fairlead.usage.account import Account
from fairlead.usage.entries import (
    Capacity,
    Entry,
    Forgiven,
    Gap,
    Granted,
    Guarantee,
    Held,
    Removed,
    Renamed,
)
from fairlead.usage.lanes import MOST_DIGITS, TOO_MUCH, Lanes
from fairlead.usage.queue_use import (
    Charge,
    QueueUse,
    Sums,
    Usage,
    billionths_by_column,
    lanes_with_inner_queues,
)
from fairlead.usage.running_sum import RunningSum, SumState
from fairlead.usage.settings import MINUTE_MS, UsageRules
from fairlead.usage.timeline import Moment, Span, Timeline
from fairlead.usage.window import Window

_TOO_LARGE: Final = (
    f"expected at most {MOST_DIGITS} digits; amounts are millicores, bytes and thousandths of a "
    "GPU, those of grants times milliseconds"
)


class LedgerState(NamedTuple):
    """All that a ledger knows, for it to be written down and taken up again."""

    newest_ms: int | None
    base: int
    last_gap: Gap | None
    guaranteed_until_ms: Mapping[int, int]
    capacity: SumState | None
    accounts: Mapping[QueueName, Account]


class Ledger:
    """Takes entries and says what every queue used; between calls nothing is done."""

    def __init__(
        self,
        resources: tuple[str, ...],
        window: Window,
        *,
        half_life_ms: int | None = None,
        way: Literal["exact", "sampled"] = "exact",
        resolution_ms: int = MINUTE_MS,
    ) -> None:
        """Fix what is counted and how; *resolution_ms* is only for the sampled way.

        Raises UsageError for a window, a half-life or a resolution that is not possible.
        """
        self.resources = resources
        self.newest_ms: int | None = None  # None: nothing was taken yet
        self._timeline = Timeline(window, half_life_ms, resolution_ms if way == "sampled" else None)
        self._lanes = Lanes(len(resources))
        self._capacity: RunningSum | None = None
        self._accounts: dict[QueueName, Account] = {}
        self._last_gap: Gap | None = None
        # By the place of a resource: the last end of a guarantee of it.
        self._guaranteed_until_ms: dict[int, int] = {}

    @classmethod
    def by(cls, resources: tuple[str, ...], rules: UsageRules) -> Self:
        """A ledger that counts *resources* as *rules* say; charge and staleness are for its users.

        Raises UsageError as the constructor does.
        """
        return cls(
            resources,
            rules.window,
            half_life_ms=rules.half_life_ms,
            way=rules.way,
            resolution_ms=rules.resolution_ms,
        )

    @property
    def counts_by(self) -> str:
        """What is counted and how, as a text that is the same for the same settings only."""
        return f"{self.resources!r}, {self._timeline.settings!r}"

    def guaranteed(self, since_ms: int) -> tuple[str, ...]:
        """Return the resources of which any queue had a guarantee after *since_ms*, if only of 0.

        Cost: O(queues).
        """
        now = {place for account in self._accounts.values() for place in account.guaranteed}
        return tuple(
            name
            for place, name in enumerate(self.resources)
            if place in now or self._guaranteed_until_ms.get(place, since_ms) > since_ms
        )

    def levels(self, at_ms: int) -> list[Held | Guarantee | Capacity]:
        """Return what holds after all entries taken, as entries of *at_ms*, by name.

        A queue that holds nothing has an entry, too. Cost: O(queues and users).
        """
        levels: list[Held | Guarantee | Capacity] = []
        if self._capacity is not None:
            amounts = self._lanes.values(self._capacity.levels)
            levels.append(Capacity(at_ms=at_ms, amounts=amounts))
        for queue, account in sorted(self._accounts.items()):
            if account.guarantee is not None:
                levels.append(Guarantee(at_ms=at_ms, queue=queue, amounts=account.guarantee))
        nothing = {"": (0,) * len(self.resources)}
        for queue, account in sorted(self._accounts.items()):
            for user, amounts in sorted((account.held or nothing).items()):
                levels.append(Held(at_ms=at_ms, queue=queue, user=user, amounts=amounts))
        return levels

    def copy(self) -> "Ledger":
        """Return an independent ledger that answers, and continues, as this one."""
        window, half_life_ms, resolution_ms = self._timeline.settings
        copy = Ledger(
            self.resources,
            window,
            half_life_ms=half_life_ms,
            way="exact" if resolution_ms is None else "sampled",
            resolution_ms=MINUTE_MS if resolution_ms is None else resolution_ms,
        )
        copy.resume(self.state())
        return copy

    def state(self) -> LedgerState:
        """All that is known now; good until the next entry is taken."""
        return LedgerState(
            newest_ms=self.newest_ms,
            base=self._timeline.base,
            last_gap=self._last_gap,
            guaranteed_until_ms=self._guaranteed_until_ms,
            capacity=None if self._capacity is None else self._capacity.state(),
            accounts=self._accounts,
        )

    def resume(self, state: LedgerState) -> None:
        """Forget everything and go on from the state of a ledger with the same settings."""
        self.newest_ms = state.newest_ms
        self._timeline.halve(state.base - self._timeline.base)
        self._last_gap = state.last_gap
        self._guaranteed_until_ms = dict(state.guaranteed_until_ms)
        self._capacity = (
            None if state.capacity is None else RunningSum.resumed(state.capacity, self._lanes)
        )
        self._accounts = {name: account.copy() for name, account in state.accounts.items()}

    def take(self, entry: Entry) -> None:
        """Write one entry down, or raise UsageError and change nothing.

        Cost: O(1) per entry, amortised; gaps, and forgiving all queues, cost O(queues).
        """
        match entry:
            case Held():
                check_amounts(entry.amounts, self.resources)
                account, moment = self._charged(entry.queue, entry.at_ms)
                account.hold(moment, self._lanes, entry.user, entry.amounts)
            case Guarantee():
                check_amounts(entry.amounts, self.resources)
                account, moment = self._charged(entry.queue, entry.at_ms)
                self._end_guarantee(account, entry.at_ms)
                account.set_guarantee(moment, self._lanes, entry.amounts)
            case Granted():
                check_grant(entry, self.resources)
                account, moment = self._charged(entry.queue, entry.at_ms)
                account.grant(moment, self._lanes, entry, self._weighted(entry))
            case Capacity():
                check_amounts(entry.amounts, self.resources)
                self._take_capacity(entry)
            case _:
                self._check_rare(entry)
                self._take_rare(entry, self._moment(entry.at_ms))

    def usage(self, now_ms: int) -> Usage:
        """What every charged queue used over the window that ends at *now_ms*, and the capacity.

        Raises UsageError if entries later than that were taken.
        """
        later = self._later(now_ms)
        if later is not None:
            return later.usage(now_ms)
        span = self._timeline.span(now_ms)

        def resource_time(sums: RunningSum) -> tuple[int, ...]:
            weighted = self._lanes.values(sums.over(span))
            return tuple([self._timeline.resource_time(each, now_ms) for each in weighted])

        queues = {}
        users = {}
        for name, account in self._accounts.items():
            used = resource_time(account.sums)
            above = used if account.above is account.sums else resource_time(account.above)
            queues[name] = QueueUse(all=used, above_guarantee=above)
            for user, sums in account.users.items():
                users[name, user] = resource_time(sums)
        nothing = (0,) * len(self.resources)
        capacity = nothing if self._capacity is None else resource_time(self._capacity)
        return Usage(
            now_ms=now_ms,
            queues=queues,
            users=users,
            capacity=capacity,
            unknown=self._without(self._capacity_over(span)),
        )

    def normalised(
        self,
        now_ms: int,
        *,
        charge: Charge = "all",
        parents: Mapping[QueueName, QueueName | None] | None = None,
    ) -> dict[QueueName, Sums]:
        """What every queue used, in billionths of the cluster's capacity over the same window.

        With *parents*, inner queues are there too, each the sum of what is below it. To the nearest
        billionth; a credit is 0, and so is any part of nothing.

        Raises UsageError if entries later than *now_ms* were taken, and where parents run in a
        circle.
        """
        later = self._later(now_ms)
        if later is not None:
            return later.normalised(now_ms, charge=charge, parents=parents)
        span = self._timeline.span(now_ms)
        accounts = self._accounts.items()
        if charge == "all":
            used = {name: account.sums.over(span) for name, account in accounts}
        else:
            used = {name: account.above.over(span) for name, account in accounts}
        if parents is not None:
            used = lanes_with_inner_queues(used, parents)
        columns = self._lanes.columns(used.values())
        return billionths_by_column(used, columns, self._capacity_over(span))

    def unknown(self, now_ms: int) -> tuple[str, ...]:
        """The resources of which there was no capacity in the window that ends at *now_ms*."""
        later = self._later(now_ms)
        if later is not None:
            return later.unknown(now_ms)
        return self._without(self._capacity_over(self._timeline.span(now_ms)))

    def move_base(self, at_ms: int) -> None:
        """Make sums smaller, if marks of *at_ms* would be longer than a lane holds."""
        times = self._timeline.halvings_due(at_ms)
        if times:
            mark_of = lru_cache(maxsize=None)(self._timeline.mark)  # many changed at once
            for sums in self._all_sums():
                sums.halve(times, mark_of)
            self._timeline.halve(times)

    def drop_faded(self, now_ms: int) -> list[QueueName]:
        """Forget removed queues of which nothing is left at *now_ms*; return their names."""
        usage = self.usage(now_ms)
        faded = [
            name
            for name, use in usage.queues.items()
            if self._accounts[name].is_removed and not any(use.all) and not any(use.above_guarantee)
        ]
        for name in faded:
            del self._accounts[name]
        return faded

    def _take_rare(self, entry: Forgiven | Renamed | Removed | Gap, moment: Moment) -> None:
        match entry:
            case Forgiven(queue=None):
                for account in self._accounts.values():
                    account.forgive(moment)
            case Forgiven(queue=str(queue)) if queue in self._accounts:
                self._accounts[queue].forgive(moment)
            case Renamed() if entry.queue in self._accounts and entry.queue != entry.name:
                self._accounts[entry.name] = self._accounts.pop(entry.queue)
            case Removed() if entry.queue in self._accounts:
                self._end_guarantee(self._accounts[entry.queue], entry.at_ms)
                self._accounts[entry.queue].remove(moment)
            case Gap() if entry != self._last_gap:
                since = self._timeline.moment(entry.since_ms)
                for account in self._accounts.values():
                    account.skip(since, moment)
                if self._capacity is not None:
                    levels = self._capacity.levels
                    self._capacity.set_levels(since, 0)
                    self._capacity.set_levels(moment, levels)
                self._last_gap = entry

    def _charged(self, queue: QueueName, at_ms: int) -> tuple[Account, Moment]:
        """The account of *queue*, opened if there is none, and the moment of an entry in it."""
        account = self._accounts.get(queue)
        if account is None:
            moment = self._moment(at_ms)
            sums = RunningSum(moment, self._lanes)
            account = self._accounts[queue] = Account(sums, len(self.resources))
            return account, moment
        if at_ms < account.sums.at_ms:
            _check_order(at_ms, account.sums.at_ms)
        return account, self._moment(at_ms)

    def _end_guarantee(self, account: Account, at_ms: int) -> None:
        for place in account.guaranteed:
            until_ms = self._guaranteed_until_ms.get(place, at_ms)
            self._guaranteed_until_ms[place] = max(until_ms, at_ms)

    def _take_capacity(self, entry: Capacity) -> None:
        if self._capacity is None:
            self._capacity = RunningSum(self._moment(entry.at_ms), self._lanes)
        _check_order(entry.at_ms, self._capacity.at_ms)
        self._capacity.set_levels(self._moment(entry.at_ms), self._lanes.packed(entry.amounts))

    def _moment(self, at_ms: int) -> Moment:
        """The moment of an entry that is taken for sure, since time may move on with it."""
        if self.newest_ms is None or at_ms > self.newest_ms:
            self.move_base(at_ms)
            self.newest_ms = at_ms
        return self._timeline.moment(at_ms)

    def _check_rare(self, entry: Forgiven | Renamed | Removed | Gap) -> None:
        """Raise UsageError for what cannot be written down."""
        match entry:
            case Renamed() if entry.queue in self._accounts and entry.queue != entry.name:
                if entry.name in self._accounts:
                    raise UsageError(
                        f"queue {entry.queue} cannot be renamed to {entry.name}: "
                        "a queue of that name has entries"
                    )
            case Gap() if entry != self._last_gap:
                self._check_gap(entry)
        if isinstance(entry, Gap) or entry.queue is None:
            _check_order(entry.at_ms, self.newest_ms)
        elif entry.queue in self._accounts:
            _check_order(entry.at_ms, self._accounts[entry.queue].sums.at_ms)

    def _check_gap(self, gap: Gap) -> None:
        if gap.since_ms > gap.at_ms:
            raise UsageError(f"a gap begins at {gap.since_ms} ms, after its end at {gap.at_ms} ms")
        if self.newest_ms is not None and gap.since_ms < self.newest_ms:
            raise UsageError(
                f"a gap begins at {gap.since_ms} ms, but there is an entry of {self.newest_ms} ms"
            )

    def _weighted(self, entry: Granted) -> tuple[int, ...]:
        """Return what a grant weighs at its moment."""
        return tuple(self._timeline.weighted(each, entry.at_ms) for each in entry.resource_time)

    def _all_sums(self) -> Iterator[RunningSum]:
        for account in self._accounts.values():
            yield from account.all_sums()
        if self._capacity is not None:
            yield self._capacity

    def _later(self, now_ms: int) -> "Ledger | None":
        """Return a copy to ask about *now_ms* if that is many half-lives after the last entry.

        Marks of such a moment are longer than a lane holds, so the copy has a later base. Raises
        UsageError if entries later than *now_ms* were taken.
        """
        if self.newest_ms is not None and now_ms < self.newest_ms:
            raise UsageError(
                f"usage as of {now_ms} ms is not known any more: "
                f"entries up to {self.newest_ms} ms were taken"
            )
        if not self._timeline.halvings_due(now_ms):
            return None
        later = self.copy()
        later.move_base(now_ms)
        return later

    def _without(self, capacity: Amounts) -> tuple[str, ...]:
        return tuple(
            name for name, total in zip(self.resources, capacity, strict=True) if total <= 0
        )

    def _capacity_over(self, span: Span) -> Amounts:
        if self._capacity is None:
            return (0,) * len(self.resources)
        return self._lanes.values(self._capacity.over(span))


def check_amounts(amounts: Limits, resources: tuple[str, ...], *, may_lack: bool = False) -> None:
    """Raise UsageError for amounts that no ledger of *resources* takes, or that are too few."""
    if len(amounts) != len(resources):
        _check_count(len(amounts), resources, may_lack=may_lack)
    for amount in amounts:
        if amount is None or 0 <= amount < TOO_MUCH:
            continue
        if amount < 0:
            raise UsageError(f"the amount {amount} of a resource is negative")
        raise UsageError(f"the amount {amount} of a resource is too large, {_TOO_LARGE}")


def check_grant(entry: Granted, resources: tuple[str, ...], *, may_lack: bool = False) -> None:
    """Raise UsageError for a grant that no ledger of *resources* takes, or of too few."""
    _check_count(len(entry.resource_time), resources, may_lack=may_lack)
    for each in entry.resource_time:
        if abs(each) >= TOO_MUCH:
            raise UsageError(
                f"the grant of {each} to queue {entry.queue} is too large, {_TOO_LARGE}"
            )


def _check_count(count: int, resources: tuple[str, ...], *, may_lack: bool) -> None:
    if count > len(resources) or (count < len(resources) and not may_lack):
        raise UsageError(
            f"an entry has {count} amounts, but there are {len(resources)} resources: "
            f"{', '.join(resources)}"
        )


def _check_order(at_ms: int, last_ms: int | None) -> None:
    """Raise UsageError for an entry that is older than the last about the same."""
    if last_ms is not None and at_ms < last_ms:
        raise UsageError(
            f"an entry of {at_ms} ms came after one of {last_ms} ms; the order must be that of time"
        )
