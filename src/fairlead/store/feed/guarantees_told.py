"""Whether a file can tell what was above a guarantee: only if it tells of guarantees at all.

Where none is told, all use would count as above it, and nobody would learn that it was not asked
what was guaranteed. So that is refused, as it is where a server has no series of it.
"""

from itertools import takewhile

from fairlead.store.file.store_problem import problem
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Guarantee


class GuaranteesTold:
    """What was found out about one file: once told is told, and nothing is looked through twice."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._is_told = False
        self._looked_until_ms: int | None = None

    def check(self, store: UsageStore, until_ms: int) -> None:
        """Raise StoreError if *store* tells of no queue what was guaranteed to it by *until_ms*.

        Cost: what was written before the first guarantee, which a scheduler tells when it begins;
        asked again, what was written since.
        """
        if not self._is_told:
            self._is_told = _tells_any(store, self._looked_until_ms, until_ms)
            self._looked_until_ms = until_ms
        if not self._is_told:
            raise problem(
                store.path,
                "it tells of no queue what was guaranteed to it, and charge: over-quota needs that",
                "import entries of the type guarantee, let a scheduler record them, or use "
                "charge: all, which counts the same where nothing is guaranteed",
            )


def _tells_any(store: UsageStore, since_ms: int | None, until_ms: int) -> bool:
    until = takewhile(lambda entry: entry.at_ms <= until_ms, store.entries(since_ms))
    return any(isinstance(entry, Guarantee) for entry in until)
