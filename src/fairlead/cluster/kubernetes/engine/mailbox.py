"""Where the network's thread leaves facts and outcomes for the engine's thread."""

import time
from collections.abc import Callable
from threading import Condition
from typing import Final, TypeAlias

from fairlead.cluster.kubernetes.acting.acts import Outcome
from fairlead.cluster.kubernetes.watching.facts import ObjectFact

Mail: TypeAlias = ObjectFact | Outcome

_CALM_S: Final = 0.001  # facts come in bursts: a plan for half of one would be made twice
_LONGEST_BURST_S: Final = 0.02
_MANY: Final = 1000
_LONGEST_FLOOD_S: Final = 0.1


class Mailbox:
    """Mail in the order in which it came; any thread puts in, one takes out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin empty. *clock* is monotonic, in seconds."""
        self._clock = clock
        self._changed = Condition()
        self._mail: list[Mail] = []
        self._is_woken = False

    def put(self, mail: Mail) -> None:
        """Leave something; the engine's thread wakes up."""
        with self._changed:
            self._mail.append(mail)
            if len(self._mail) == 1:
                self._changed.notify()

    def wake(self) -> None:
        """Let the engine's thread look around although there is no mail."""
        with self._changed:
            self._is_woken = True
            self._changed.notify()

    def take(self) -> list[Mail]:
        """Return what is there now, perhaps nothing."""
        with self._changed:
            mail, self._mail = self._mail, []
            return mail

    def wait(self, at_most_s: float) -> None:
        """Wait until there is mail and no more comes at once, or *at_most_s* have passed."""
        with self._changed:
            if not self._mail and not self._is_woken:
                self._changed.wait(at_most_s)
            self._is_woken = False
            if not self._mail:
                return
            began_s = self._clock()
            known = 0
            while known < len(self._mail) and self._clock() < began_s + self._patience_s():
                known = len(self._mail)
                self._changed.wait(_CALM_S)

    def _patience_s(self) -> float:
        return _LONGEST_FLOOD_S if len(self._mail) > _MANY else _LONGEST_BURST_S
