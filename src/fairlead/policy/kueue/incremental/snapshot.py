"""A snapshot that is kept from plan to plan, with a log of what changed in it.

The log says which pending workloads a change may concern. It also takes a plan back: a plan tries
its decisions on the snapshot, and whether they are carried out is read from the state later.
"""

from fairlead.fairness.dominant_share import Rank
from fairlead.model.axes import QueueName
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload

_MOST_CHANGES = 2_000  # that are remembered at once


class Change:
    """An admitted workload of a queue came, changed, or left."""

    __slots__ = ("after", "before", "highest", "queue")

    def __init__(
        self, queue: QueueName, before: AdmittedWorkload | None, after: AdmittedWorkload | None
    ) -> None:
        """Note a workload *before* and *after*; None: it is not there."""
        self.queue = queue
        self.before = before
        self.after = after
        self.highest: list[
            Rank
        ] = []  # of the queue and its cohorts below the root, before or after


class LoggedSnapshot(Snapshot):
    """The admitted workloads of one tree, and how they changed."""

    def __init__(self, snapshot: Snapshot, *, with_ranks: bool) -> None:
        """Take over *snapshot*; *with_ranks*: shares decide which changes matter."""
        vars(self).update(vars(snapshot))
        self._with_ranks = with_ranks
        self.forget_changes()

    def forget_changes(self) -> None:
        """Begin the log anew; nothing that was found out earlier can be told from it."""
        self.log = [Change(QueueName(""), None, None)]  # never empty: what is known has a last one

    def trim(self) -> None:
        """Keep the log short."""
        if len(self.log) > _MOST_CHANGES:
            self.forget_changes()

    def is_linear(self, queue: QueueName, axis: int) -> bool:
        """Return whether what is available to *queue* on an axis is what the root has left.

        So it is where no node on the way retains anything or has a borrowing limit.
        """
        tree = self.tree
        return all(
            not tree.retained_on(name, axis) and tree.borrow_limit_on(name, axis) is None
            for name in self.path(queue)[:-1]
        )

    def available_at_root(self) -> list[int]:
        """Return what the root has left on each axis, while no search is under way."""
        return list(self.tree.available(self.roots[0]))

    def admit(self, admitted: AdmittedWorkload) -> None:
        """Add an admitted workload."""
        self._change(Change(admitted.queue, None, admitted))

    def remove(self, admitted: AdmittedWorkload) -> None:
        """Remove an admitted workload."""
        self._change(Change(admitted.queue, admitted, None))

    def replace_admitted(self, before: AdmittedWorkload, now: AdmittedWorkload) -> None:
        """Replace an admitted workload by itself as it is *now*, with the same usage."""
        self._change(Change(now.queue, before, now))

    def count(self, admitted: AdmittedWorkload, *, is_less: bool) -> None:
        """Count a workload that is no candidate, or count it no more."""
        none_left = (admitted, None) if is_less else (None, admitted)
        change = Change(admitted.queue, *none_left)
        self._note_ranks(change)
        (self.discharge if is_less else self.charge)(admitted.queue, admitted.usage)
        self._note_ranks(change)
        self.log.append(change)

    def _change(self, change: Change) -> None:
        self._note_ranks(change)
        self._carry_out(change.before, change.after)
        self._note_ranks(change)
        self.log.append(change)

    def _note_ranks(self, change: Change) -> None:
        if self._with_ranks:
            ranks = [self.tree.rank(name) for name in self.path(change.queue)[:-1]]
            before = change.highest
            change.highest = list(map(max, before, ranks)) if before else ranks

    def undo_to(self, length: int) -> None:
        """Take back all changes since the log had this *length*."""
        while len(self.log) > length:
            change = self.log.pop()
            self._carry_out(change.after, change.before)

    def _carry_out(self, before: AdmittedWorkload | None, after: AdmittedWorkload | None) -> None:
        if before is not None and after is not None:
            super().replace_admitted(before, after)
        elif after is not None:
            super().admit(after)
        elif before is not None:
            super().remove(before)
