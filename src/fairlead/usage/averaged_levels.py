"""Levels that change often, told as few: one for each bucket, the average of what there was.

An average is seldom a whole number. What rounding leaves over is carried to the next bucket, so
that the sum over many buckets is never off by more than half a base unit for one of them.
"""

from fairlead.model.axes import Amounts, Limits
from fairlead.usage.above_guarantee import above_guarantee


class AveragedLevels:
    """The levels of one holder, on several resources that change together."""

    def __init__(self, count: int) -> None:
        """Nothing is held at first."""
        self.levels: Amounts = (0,) * count
        self._totals = [0] * count  # resource-time since the bucket began
        self._carried = [0] * count  # resource-time of earlier buckets that was not told yet

    def pass_time(self, passed_ms: int) -> None:
        """Let the levels hold for so long."""
        columns = zip(self._totals, self.levels, strict=True)
        self._totals = [total + level * passed_ms for total, level in columns]

    def close_bucket(self, length_ms: int, at_most: Amounts | None = None) -> Amounts:
        """The whole levels to tell for the bucket that ends now, none of them above *at_most*."""
        told = []
        for place, total in enumerate(self._totals):
            due = total + self._carried[place]
            if at_most is None:
                # What a long bucket left over would be a peak in a short one, and what did not
                # change must stay as it is.
                least, most = total // length_ms, -(-total // length_ms)
            else:
                least, most = 0, at_most[place]
            level = min(max((2 * due + length_ms) // (2 * length_ms), least), most)
            self._carried[place] = due - level * length_ms
            told.append(level)
        self._totals = [0] * len(told)
        return tuple(told)


class AveragedQueue:
    """The levels of a queue's users, its guarantee, and what was held above it."""

    def __init__(self, count: int) -> None:
        """Nothing is held and nothing guaranteed at first."""
        self.guarantee: Limits = (0,) * count
        self._users: dict[str, AveragedLevels] = {}
        self._above = AveragedLevels(count)

    @property
    def held(self) -> dict[str, Amounts]:
        """What each user holds now."""
        return {user: averaged.levels for user, averaged in self._users.items()}

    def hold(self, user: str, amounts: Amounts) -> None:
        """From now on *user* holds *amounts*."""
        if user not in self._users:
            self._users[user] = AveragedLevels(len(amounts))
        self._users[user].levels = amounts
        self._set_above()

    def guarantee_so_much(self, amounts: Limits) -> None:
        """From now on *amounts* are guaranteed."""
        self.guarantee = amounts
        self._set_above()

    def remove(self) -> None:
        """From now on nothing is held by anybody, and nothing is guaranteed."""
        nothing = (0,) * len(self.guarantee)
        for averaged in self._users.values():
            averaged.levels = nothing
        self.guarantee_so_much(nothing)

    def pass_time(self, passed_ms: int) -> None:
        """Let everything be as it is for so long."""
        for averaged in self._users.values():
            averaged.pass_time(passed_ms)
        self._above.pass_time(passed_ms)

    def close_bucket(self, length_ms: int, told: Limits) -> tuple[dict[str, Amounts], Limits]:
        """What to tell for the bucket that ends now: each user's levels, and the guarantee.

        The average of what was above a guarantee is not what an average is above it. So the
        guarantee to tell is the one that leaves the right amount above it; *told*, which is the
        last one, or the true one are taken where they do.
        """
        users = {user: each.close_bucket(length_ms) for user, each in self._users.items()}
        held = _together(users, len(self.guarantee))
        above = self._above.close_bucket(length_ms, held)
        guarantee = tuple(
            next(
                limit
                for limit in (last, true, amount - excess)
                if above_guarantee(amount, limit) == excess
            )
            for last, true, amount, excess in zip(told, self.guarantee, held, above, strict=True)
        )
        return users, guarantee

    def _set_above(self) -> None:
        held = _together(self.held, len(self.guarantee))
        self._above.levels = tuple(map(above_guarantee, held, self.guarantee))


def _together(users: dict[str, Amounts], count: int) -> Amounts:
    return tuple(map(sum, zip(*users.values(), strict=True))) or (0,) * count
