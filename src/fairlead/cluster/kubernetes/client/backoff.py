"""How long to pause before the next attempt, so that a server that comes back is not flooded."""

from collections.abc import Callable
from typing import Final

_MAX_DOUBLINGS: Final = 30


class Backoff:
    """Pauses that double from one failure to the next, each with a random part."""

    def __init__(
        self, random: Callable[[], float], *, first_s: float = 0.2, most_s: float = 30.0
    ) -> None:
        """Draw the random part from *random*, which returns numbers from 0 to below 1."""
        self.random = random
        self._first_s = first_s
        self._most_s = most_s
        self._failures = 0

    def next_s(self, at_least_s: float = 0.0) -> float:
        """Return the pause after one more failure, never below what the server asked for.

        The n-th is between half of and the whole of first * 2^(n-1), at most *most_s*. A time that
        the server named is lengthened by up to a tenth, so that not all return at one instant.
        """
        whole_s = min(self._most_s, self._first_s * (1 << self._failures))
        self._failures = min(self._failures + 1, _MAX_DOUBLINGS)
        drawn = self.random()
        return max(whole_s * (1 + drawn) / 2, at_least_s * (1 + drawn / 10))

    def reset(self) -> None:
        """Begin with the first pause again, after a success."""
        self._failures = 0
