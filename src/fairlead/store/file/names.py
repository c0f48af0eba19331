"""The names of holders and resources, each written once and told by its number after that.

Nearly every entry leans on a name, so one checksum, among the facts of a store, is of all names in
their order: none can be changed, lost or swapped without being noticed.
"""

import sqlite3
from collections.abc import Iterable
from typing import TypeAlias

from fairlead.model.axes import QueueName
from fairlead.store.file.facts import fact, set_fact
from fairlead.store.file.row_seal import DamagedRowError, seal_of

Holder: TypeAlias = tuple[QueueName, str]  # a queue, and a user in it or ""


class Names:
    """All names that are known, by number and back."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Know none yet."""
        self._connection = connection
        self.resources: tuple[str, ...] = ()
        self.holders: dict[int, Holder] = {}
        self._numbers: dict[Holder, int] = {}
        self._seal = 0
        self._resources_seal = 0

    def forget(self) -> None:
        """Know none again, because some were added in a transaction that failed."""
        self.resources = ()
        self.holders.clear()
        self._numbers.clear()
        self._seal = self._resources_seal = 0

    def learn(self) -> None:
        """Take in names that were added, by this or by another program. Cost: those added.

        Raises DamagedRowError for names that are not as they were written.
        """
        if self._resources_seal != (fact(self._connection, "resources_seal") or 0):
            self._learn_resources()
        if self._seal != (fact(self._connection, "names_seal") or 0):
            self._learn_holders()

    def add_resources(self, names: Iterable[str]) -> None:
        """Count these, too."""
        for name in names:
            if name not in self.resources:
                place = len(self.resources)
                self._connection.execute(
                    "INSERT INTO sealed_resources VALUES (?, ?)", (place, name)
                )
                self.resources += (name,)
        self._resources_seal = resources_seal(self.resources)
        set_fact(self._connection, "resources_seal", self._resources_seal)

    def number(self, holder: Holder) -> int:
        """The number of a holder, which gets one if it has none; then `seal` must follow."""
        number = self._numbers.get(holder)
        if number is None:
            number = len(self.holders) + 1
            self._connection.execute(
                "INSERT INTO sealed_holders VALUES (?, ?, ?)", (number, *holder)
            )
            self._take(number, holder)
        return number

    def seal(self) -> None:
        """Write down the checksum of all names. Cost: O(1)."""
        if self._seal != (fact(self._connection, "names_seal") or 0):
            set_fact(self._connection, "names_seal", self._seal)

    def _learn_resources(self) -> None:
        rows = self._connection.execute(
            "SELECT name FROM sealed_resources ORDER BY place"
        ).fetchall()
        self.resources = tuple(name for (name,) in rows)
        self._resources_seal = resources_seal(self.resources)
        if self._resources_seal != fact(self._connection, "resources_seal"):
            raise DamagedRowError("the names of resources are not as they were written")

    def _learn_holders(self) -> None:
        rows = self._connection.execute(
            "SELECT id, queue, user FROM sealed_holders WHERE id > ? ORDER BY id",
            (len(self.holders),),
        ).fetchall()
        for number, queue, user in rows:
            self._take(number, (queue, user))
        if self._seal != fact(self._connection, "names_seal"):
            self.forget()
            raise DamagedRowError("the names of queues and users are not as they were written")

    def _take(self, number: int, holder: Holder) -> None:
        self.holders[number] = holder
        self._numbers[holder] = number
        self._seal = holders_seal(self._seal, number, holder)


def resources_seal(resources: tuple[str, ...]) -> int:
    """The checksum of all *resources*; 0 if there are none."""
    return seal_of(*resources)


def holders_seal(before: int, number: int, holder: Holder) -> int:
    """The checksum of all holders up to *number*, where *before* is of all that come earlier."""
    return seal_of(before, number, *holder)
