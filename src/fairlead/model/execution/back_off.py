"""For how long something is not tried again after it failed.

A bind that failed is tried on other nodes at once, and on the same node after a pause that doubles
with each failure. A workload that failed on several nodes waits as a whole: the fault may be its
own. So does one that was refused whatever the node, at once: its next claim would evict pods for
room that it does not get either. A pod whose eviction was refused is left alone for a while, so
that a claim looks for other victims, and longer each time: where a budget allows none, every claim
would otherwise ask for all of its pods again and again. A success ends the pause of its node, and
that of the whole workload. A failure counts for ten minutes after its pause, so that one failure a
day does not add up.
"""

from collections.abc import Collection, Container
from typing import Final

import msgspec

from fairlead.model.axes import WorkloadName
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.workload import PodKey

FIRST_PAUSE_MS: Final = 1_000
LONGEST_PAUSE_MS: Final = 300_000
FORGOTTEN_AFTER_MS: Final = 600_000
LEAST_VICTIM_PAUSE_MS: Final = 10_000
MOST_NODES: Final = 5
"""That a workload may fail on before it waits as a whole."""


class _Pause(msgspec.Struct):
    """How often something failed in a row, and when it may be tried again."""

    failures: int
    until_ms: int


class BackOff:
    """The pauses that stand. Cost: each call, the pauses of the workload that it is about."""

    def __init__(self) -> None:
        """Begin without a pause."""
        self._nodes: dict[WorkloadName, dict[str, _Pause]] = {}
        self._workloads: dict[WorkloadName, _Pause] = {}
        self._victims: dict[PodKey, _Pause] = {}

    def bind_failed(
        self,
        workload: WorkloadName,
        nodes: Collection[str | None],
        now_ms: int,
        *,
        is_on_any_node: bool = False,
    ) -> None:
        """Pause *workload* on *nodes*, on which one order failed; altogether if these are many.

        None among *nodes*: it has no node there, as where quota is granted. *is_on_any_node*: it
        would have failed on others, too. Should that be wrong, another node is the next: the
        pauses of *nodes* begin when the workload's ends.
        """
        known = self._nodes.setdefault(workload, {})
        is_altogether = is_on_any_node or None in nodes
        if is_altogether or len({*known, *nodes}) >= MOST_NODES:
            self._workloads[workload] = pause = _next(self._workloads.get(workload), now_ms)
            now_ms = pause.until_ms if is_on_any_node else now_ms
        for node in nodes:
            if node is not None:
                known[node] = _next(known.get(node), now_ms)

    def bind_succeeded(self, workload: WorkloadName, nodes: Collection[str | None]) -> None:
        """End the pauses of *workload* on *nodes*, and altogether: the fault is not its own."""
        known = self._nodes.get(workload, {})
        for node in nodes:
            known.pop(node or "", None)
        if not known:
            self._nodes.pop(workload, None)
        self._workloads.pop(workload, None)

    def eviction_failed(self, victim: PodKey, now_ms: int, retry_after_ms: int) -> None:
        """Leave *victim* alone for as long as the cluster said, and for a while at least."""
        pause = _next(self._victims.get(victim), now_ms, LEAST_VICTIM_PAUSE_MS)
        pause.until_ms = max(pause.until_ms, now_ms + retry_after_ms)
        self._victims[victim] = pause

    def forget_gone(self, known: Container[WorkloadName]) -> None:
        """End the pauses of workloads that are not *known* any more. Cost: each pause."""
        for name in [*self._nodes, *self._workloads]:
            if name not in known:
                self._nodes.pop(name, None)
                self._workloads.pop(name, None)
        for key in [key for key in self._victims if key[0] not in known]:
            del self._victims[key]

    def holds(self, now_ms: int) -> Holds:
        """Return what is not to be tried at *now_ms*, and forget what is long over.

        Cost: each pause.
        """
        self._forget_old(now_ms)
        if not self._nodes and not self._workloads and not self._victims:
            return NOTHING_HELD
        return Holds(
            workloads=frozenset(
                [name for name, pause in self._workloads.items() if pause.until_ms > now_ms]
            ),
            nodes=frozenset(
                [
                    (name, node)
                    for name, nodes in self._nodes.items()
                    for node, pause in nodes.items()
                    if pause.until_ms > now_ms
                ]
            ),
            victims=frozenset(
                [key for key, pause in self._victims.items() if pause.until_ms > now_ms]
            ),
        )

    def _forget_old(self, now_ms: int) -> None:
        since_ms = now_ms - FORGOTTEN_AFTER_MS
        for name, nodes in list(self._nodes.items()):
            left = {node: pause for node, pause in nodes.items() if pause.until_ms > since_ms}
            if left:
                self._nodes[name] = left
            else:
                del self._nodes[name]
        for name in [name for name, each in self._workloads.items() if each.until_ms <= since_ms]:
            del self._workloads[name]
        for key in [key for key, each in self._victims.items() if each.until_ms <= since_ms]:
            del self._victims[key]

    def next_ms(self, now_ms: int) -> int | None:
        """Return when the next pause ends; None: no pause stands."""
        ends = [
            *[pause.until_ms for pause in self._victims.values()],
            *[pause.until_ms for pause in self._workloads.values()],
            *[pause.until_ms for nodes in self._nodes.values() for pause in nodes.values()],
        ]
        return min([at for at in ends if at > now_ms], default=None)


def _next(before: _Pause | None, now_ms: int, first_ms: int = FIRST_PAUSE_MS) -> _Pause:
    failures = before.failures + 1 if before is not None else 1
    pause_ms = min(first_ms << min(failures - 1, 16), LONGEST_PAUSE_MS)
    return _Pause(failures, now_ms + pause_ms)
