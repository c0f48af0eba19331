"""Fairlead, which checks its own state while it works, and whose wall clock can be set back.

    python -m tests.live.faults.checked run --policy elastic-quota ...

It is the real program. After each step the engine recomputes every sum of its state. Once a second,
when no outcome is awaited, it compares the state with one that is made of the objects alone. What
does not agree ends the engine, and by it the process. SIGUSR1 sets the wall clock back by an hour.
"""

import datetime
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final, Self

from fairlead.cli.main import main
from fairlead.cluster.kubernetes.acting.acts import Act
from fairlead.cluster.kubernetes.client.discovery import GroupKind
from fairlead.cluster.kubernetes.engine.engine import Carried, Engine
from fairlead.cluster.kubernetes.engine.mailbox import Mail
from fairlead.cluster.kubernetes.loop import live_scheduler
from fairlead.cluster.kubernetes.watching.facts import Gone, Listed, Seen
from fairlead.manifest.text.documents import Document, cluster_document
from fairlead.manifest.text.values import Mapping
from fairlead.manifest.translate.translator import Translator
from fairlead.model.plan import Plan
from fairlead.policy.contract import PolicyName
from tests.manifest.translate.by_name import differences, state_by_name
from tests.model.invariants import check_invariants

_BACK_S: Final = 3600


class CheckedEngine(Engine):
    """An engine that checks its state after each step."""

    def __init__(self, policy: PolicyName, given: Iterable[Document] = ()) -> None:
        """Begin with nothing seen."""
        self._rules = policy
        self._settings_given = list(given)
        self._objects: dict[str, Mapping] = {}  # by uid
        self._differed: list[str] = []
        super().__init__(policy, self._settings_given)

    def take(self, mail: Sequence[Mail], now_ms: int) -> None:
        """Do as always, and remember each object in its newest version."""
        super().take(mail, now_ms)
        check_invariants(self.state)
        for each in mail:
            match each:
                case Seen(value):
                    self._remember(value)
                case Gone(value):
                    self._objects.pop(_uid(value), None)
                case Listed(kind, values):
                    self._forget(kind, {_uid(value) for value in values})
                    for value in values:
                        self._remember(value)

    def carry_out(self, plan: Plan, now_ms: int) -> Carried:
        """Do as always."""
        carried = super().carry_out(plan, now_ms)
        check_invariants(self.state)
        return carried

    def overdue(self, now_ms: int) -> list[list[Act]]:
        """Do as always, once a second, and compare the state with the objects.

        What the cluster has done and no watch has shown yet may differ, but not for a second.
        """
        looks = super().overdue(now_ms)
        before, self._differed = self._differed, []
        if not self.executor._awaited:
            self._differed = self._differences()
            assert not self._differed or self._differed != before, "\n".join(self._differed)
        return looks

    def _differences(self) -> list[str]:
        fresh = Translator(self._rules)
        for document in (*self._settings_given, *map(cluster_document, self._objects.values())):
            fresh.changed(document)
        fresh.settle()
        used = frozenset(fresh.state.axes.axes)
        return differences(state_by_name(self.state, used), state_by_name(fresh.state, used))

    def _forget(self, kind: GroupKind, but: set[str]) -> None:
        """Forget the objects of one kind that are not in a list of all of them."""
        for uid, value in list(self._objects.items()):
            if _kind(value) == kind and uid not in but:
                del self._objects[uid]

    def _remember(self, value: Mapping) -> None:
        known = self._objects.get(_uid(value))
        if known is None or _version(known) <= _version(value):
            self._objects[_uid(value)] = value


def _uid(value: Mapping) -> str:
    return str(_metadata(value)["uid"])


def _version(value: Mapping) -> int:
    return int(_metadata(value)["resourceVersion"])


def _metadata(value: Mapping) -> dict[str, Any]:
    metadata = value["metadata"]
    assert isinstance(metadata, dict)
    return metadata


def _kind(value: Mapping) -> GroupKind:
    group, _, _ = str(value["apiVersion"]).rpartition("/")
    return group, str(value["kind"])


def set_clock_back(*_: object) -> None:
    """Let the wall clock be an hour behind from now on; the monotonic clock goes on."""
    now_s, now_ns, plain = time.time, time.time_ns, datetime.datetime
    time.time = lambda: now_s() - _BACK_S
    time.time_ns = lambda: now_ns() - _BACK_S * 10**9
    for module in list(sys.modules.values()):
        if getattr(module, "datetime", None) is plain:
            module.datetime = EarlierDatetime  # type: ignore[attr-defined]


class EarlierDatetime(datetime.datetime):
    """A datetime whose now is an hour ago."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Self:
        """Return the time of the clock that was set back."""
        return cls.fromtimestamp(time.time(), tz)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, set_clock_back)
    live_scheduler.Engine = CheckedEngine  # type: ignore[attr-defined, assignment]
    main(prog_name="fairlead")
