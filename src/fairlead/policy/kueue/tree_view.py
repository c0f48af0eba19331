"""One tree of quota as a policy remembers it from plan to plan.

What a plan decides is done here at once, as if it were carried out. If it was not, the next reading
of the state puts it right: whoever was decided about is read again.
"""

from typing import NamedTuple, TypeAlias

from fairlead.model.axes import QueueName, QuotaAxes, WorkloadName
from fairlead.policy.kueue.flavor_assignment import Waiting
from fairlead.policy.kueue.holder import Holder
from fairlead.policy.kueue.kind import Kind
from fairlead.policy.kueue.nomination import Nomination
from fairlead.policy.kueue.pending_line import shape_of
from fairlead.policy.kueue.queue_line import QueueLine
from fairlead.policy.kueue.quick_nomination import QuickNominator
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.sleepers import Sleepers
from fairlead.policy.kueue.snapshot import Snapshot


class InLine(NamedTuple):
    """One who waits; ``is_preempting``: others give way to it already."""

    waiting: Waiting
    is_preempting: bool


Known: TypeAlias = Holder | InLine


class TreeView:
    """Who has quota in one tree, who waits, and of whom it is known that it waits on."""

    def __init__(self, snapshot: Snapshot, axes: QuotaAxes, settings: KueueSettings) -> None:
        """Begin with *snapshot*, in which nobody has quota."""
        self.snapshot = snapshot
        self.nominator = QuickNominator(snapshot, axes, settings)
        self.lines = {name: QueueLine(name) for name in snapshot.rules}
        self.waited_for: dict[QueueName, QueueLine] = {}  # those in which somebody waits
        self.preempting: dict[QueueName, QueueLine] = {}  # in which somebody stays the head
        self.tops = {name: snapshot.path(name)[-2:][0] for name in snapshot.rules}  # below the root
        self.sleepers = Sleepers(snapshot, self.nominator.refuse_again)
        self.decided: set[WorkloadName] = set()  # about whom a plan said something
        self._known: dict[WorkloadName, Known] = {}
        self._kinds: dict[WorkloadName, Kind] = {}  # of those who wait

    def read(self, name: WorkloadName, now: Known | None) -> None:
        """Take in what *name* is now; None: of no matter here. Cost: what that changes."""
        before = self._known.get(name)
        if before == now:
            return
        if isinstance(before, Holder) and isinstance(now, Holder) and before.uses_the_same(now):
            self._known[name] = now
            self.snapshot.see_anew(before, now)
            self.sleepers.changed(now.queue, now.priority, is_less=False)
            return
        if isinstance(before, Holder):
            self.snapshot.let_leave(before)
            self.sleepers.changed(before.queue, before.priority, is_less=True)
        elif before is not None:
            self._drop(before.waiting)
        self._known.pop(name, None)
        if isinstance(now, Holder):
            self._known[name] = now
            self.snapshot.admit(now)
            self.sleepers.changed(now.queue, now.priority, is_less=False)
        elif now is not None:
            self._add(now)

    def is_at_rest(self) -> bool:
        """Return whether nobody can be admitted, or claim anything, as things stand."""
        return not (self.preempting or self.sleepers.hopeful())

    def kind_of(self, waiting: Waiting) -> Kind:
        """Return the kind of one who waits."""
        return self._kinds[waiting.name]

    def nominate(self, waiting: Waiting) -> Nomination:
        """Nominate one who waits, and let its kind sleep if it is refused."""
        kind = self.kind_of(waiting)
        if self.sleepers.is_asleep(kind):
            return kind.nominated(waiting, self.snapshot)
        found, failed = self.nominator.nominate(
            waiting, kind.shape, is_in_doubt=self.sleepers.is_in_doubt(kind)
        )
        if not found.can_proceed():
            self.sleepers.refuse(kind, found, failed)
        return found

    def waiting(self, name: WorkloadName) -> Waiting:
        """Return one who waits."""
        known = self._known[name]
        assert isinstance(known, InLine), name
        return known.waiting

    def admit(self, holder: Holder) -> None:
        """Let one who waits have quota; the snapshot has it already."""
        self._drop(self.waiting(holder.name))
        self._known[holder.name] = holder
        self.decided.add(holder.name)
        self.sleepers.changed(holder.queue, holder.priority, is_less=False)

    def tell_to_leave(self, holder: Holder) -> None:
        """Note that one who has quota was told to leave; the snapshot knows it already."""
        self._known[holder.name] = holder._replace(is_evicted=True)
        self.decided.add(holder.name)
        self.sleepers.told(holder.queue, holder.priority)

    def _add(self, now: InLine) -> None:
        waiting = now.waiting
        line = self.lines[waiting.queue]
        shape = shape_of(waiting, self.snapshot.rules[waiting.queue].preemption)
        kind = line.kind(shape)
        self._known[waiting.name] = now
        self._kinds[waiting.name] = kind
        if not kind:
            self.sleepers.wake(kind)
        kind.add(waiting)
        line.changed(kind)
        self.waited_for[waiting.queue] = line
        if now.is_preempting:
            line.preempting[waiting.name] = waiting
            self.preempting[waiting.queue] = line

    def _drop(self, waiting: Waiting) -> None:
        line, kind = self.lines[waiting.queue], self._kinds.pop(waiting.name)
        kind.drop(waiting)
        if not kind:
            self.sleepers.forget(kind)
        line.changed(kind)
        if not line:
            del self.waited_for[waiting.queue]
        if line.preempting.pop(waiting.name, None) and not line.preempting:
            del self.preempting[waiting.queue]
        del self._known[waiting.name]
