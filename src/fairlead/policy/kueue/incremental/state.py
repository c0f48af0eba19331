"""The trees of one state, kept from plan to plan and brought up to date by what changed.

Quota never crosses a root, so a change concerns one tree. A plan tries its decisions on the trees.
If they were carried out, as the next plan reads from the state, they stand; else they are undone.
"""

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Evict
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.cycle.source import Nominations
from fairlead.policy.kueue.cycle.tree import (
    AdmittedEntry,
    CohortTree,
    InadmissibleEntry,
    PendingEntry,
    Reading,
    WorkloadEntry,
    WorkloadReader,
)
from fairlead.policy.kueue.incremental.parked import RememberedNominations
from fairlead.policy.kueue.incremental.snapshot import LoggedSnapshot
from fairlead.policy.kueue.pending.admissibility import drain_code, drained
from fairlead.policy.kueue.pending.local_queue_usage import LocalQueueUsage
from fairlead.policy.kueue.pending.queue import PendingQueue
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.build import trees_of
from fairlead.policy.kueue.workloads import AdmittedWorkload


class KeptTrees:
    """What is kept of one state."""

    def __init__(self, state: ClusterState, settings: KueueSettings, now_ms: int) -> None:
        """Begin to follow *state*; a tree is read when workloads first wait for it."""
        self.reader = WorkloadReader(state, settings, now_ms)
        self._state = state
        self._settings = settings
        self._layout = state.layout.moment
        self._moment = state.touched.moment
        self._names = trees_of(state)
        self._root_of = {name: names[0] for names in self._names for name in names}
        self._trees: dict[QueueName, KeptTree] = {}  # by root
        self._tree_of: dict[WorkloadName, KeptTree] = {}
        self._planned: list[KeptTree] = []
        self._due: list[int] = []  # a heap: when time may change something, or might have
        self._drained: set[WorkloadName] = set()  # have to leave without being preempted
        for name in state.runs:
            self._look_at_drained(name)

    def serve(self, state: ClusterState, now_ms: int) -> bool:
        """Return whether they follow this state, up to now, and all changes are known.

        What ended at a time is not known any more for an earlier time.
        """
        return (
            state is self._state
            and state.layout.moment == self._layout
            and now_ms >= self.reader.now_ms
            and state.touched.remembers(self._moment)
        )

    def bring_up_to(self, now_ms: int) -> None:
        """Follow all changes until *now_ms*.

        Cost: the workloads that changed, and a look at those for which time counts.
        """
        names = set(self._state.touched.since(self._moment)) | self.reader.held
        self._moment = self._state.touched.moment
        self.reader.at(now_ms)
        names |= self.reader.held
        for tree in self._trees.values():
            names.update(tree.due(now_ms))
        readings: dict[WorkloadName, Reading | None] = {}
        for tree in self._planned:
            tried = {name: self._reading(tree, name) for name in tree.tried()}
            tree.end_trial(tried)
            # Not of a workload that has left the tree: another tree may have it now.
            readings |= {name: each for name, each in tried.items() if each is not None}
        while self._due and self._due[0] <= now_ms:
            heappop(self._due)
        for name in sorted(names):
            self._read(name, readings)
        self._planned = []

    def drained(self) -> list[Evict]:
        """Return the workloads that have to leave without being preempted."""
        return drained(self._state, self._drained)

    def waited_for(self) -> Iterator[tuple[CohortTree, Nominations]]:
        """Yield each tree with pending workloads, by the name of its root."""
        roots = {self._root_of.get(queue) for queue in self._state.waited_for()}
        for names in self._names:
            if names[0] in roots:
                tree = self._trees.get(names[0]) or self._new_tree(names)
                self._planned.append(tree)
                yield tree, tree.nominations

    def is_delayed(self) -> bool:
        """Return whether time alone may change something in the trees that a plan looked at."""
        return any(tree.until_ms for tree in self._planned)

    def valid_until_ms(self) -> int | None:
        """Return when time alone may change something; None: not as things stand."""
        return self._due[0] if self._due else None

    def _new_tree(self, names: list[QueueName]) -> "KeptTree":
        tree = KeptTree(self._state, names, self.reader, self._settings)
        self._trees[names[0]] = tree
        self._tree_of.update(dict.fromkeys(tree.entries, tree))
        for until_ms in tree.until_ms.values():
            heappush(self._due, until_ms)
        return tree

    def _read(self, name: WorkloadName, readings: Mapping[WorkloadName, Reading | None]) -> None:
        """Follow a change of a workload, of which *readings* may know already what it is now."""
        self._look_at_drained(name)
        workload = self._state.workloads.get(name)
        before = self._tree_of.pop(name, None)
        root = None if workload is None else self._root_of.get(workload.queue)
        tree = None if root is None else self._trees.get(root)
        if before is not None and before is not tree:
            before.update(name, None)
        if tree is not None:
            reading = readings[name] if name in readings else self._reading(tree, name)
            tree.update(name, reading)
            self._tree_of[name] = tree
            if name in tree.until_ms:
                heappush(self._due, tree.until_ms[name])

    def _reading(self, tree: "KeptTree", name: WorkloadName) -> Reading | None:
        workload = self._state.workloads.get(name)
        rules = None if workload is None else tree.rules.get(workload.queue)
        if workload is None or rules is None:
            return None
        return self.reader.read(workload, rules)

    def _look_at_drained(self, name: WorkloadName) -> None:
        self._drained.discard(name)
        if name in self._state.runs and drain_code(self._state, self._state.workloads[name]):
            self._drained.add(name)


class KeptTree(CohortTree):
    """One tree, with what is known of its pending workloads."""

    def __init__(
        self,
        state: ClusterState,
        names: list[QueueName],
        reader: WorkloadReader,
        settings: KueueSettings,
    ) -> None:
        """Read all workloads of the queues *names*, which are one tree, parents first."""
        self.entries: dict[WorkloadName, WorkloadEntry] = {}
        super().__init__(state, names, reader, settings)
        fair, is_one = settings.fair_sharing, self.decided_on is self.snapshot
        self._present = LoggedSnapshot(self.snapshot, with_ranks=fair and is_one)
        self._later = self._present if is_one else LoggedSnapshot(self.decided_on, with_ranks=fair)
        self.snapshot, self.decided_on = self._present, self._later
        self.nominations = RememberedNominations(
            self._present, self._later, self.queues, state.axes, settings
        )
        self._begun_at = len(self._present.log)

    def _note(self, name: WorkloadName, reading: Reading | None) -> WorkloadEntry | None:
        entry = super()._note(name, reading)
        if entry is not None:
            self.entries[name] = entry
        return entry

    def due(self, now_ms: int) -> Iterator[WorkloadName]:
        """Yield the workloads that have to be read again although nothing happened to them."""
        for name, until_ms in self.until_ms.items():
            # The reason of a workload that backs off says how long that still takes.
            if until_ms <= now_ms or isinstance(self.entries[name], InadmissibleEntry):
                yield name

    def begin(self, local_usage: LocalQueueUsage | None) -> None:
        """Go to the first workload of each queue, because a plan begins."""
        super().begin(local_usage)
        for logged in (self._present, self._later):
            logged.trim()
        self._begun_at = len(self._present.log)
        self.nominations.begun_at = len(self._later.log)

    def tried(self) -> dict[WorkloadName, AdmittedWorkload]:
        """Return the workloads that the last plan admitted or evicted, as they would be now."""
        changes = self._present.log[self._begun_at :]
        return {each.after.name: each.after for each in changes if each.after is not None}

    def end_trial(self, readings: Mapping[WorkloadName, Reading | None]) -> None:
        """Keep what the last plan tried if all of it was carried out; else undo it."""
        tried = self.tried()
        entries = {name: each.entry for name, each in readings.items() if each is not None}
        if all(entries.get(name) == AdmittedEntry(each, True) for name, each in tried.items()):
            for name, each in tried.items():
                before = self.entries[name]
                if not isinstance(before, AdmittedEntry):
                    self._drop_waiting(name, before)
                self.entries[name] = AdmittedEntry(each, True)
            self.nominations.keep_promises()
        else:
            if self._later is not self._present:
                self._later.undo_to(self.nominations.begun_at)
            self._present.undo_to(self._begun_at)

    def update(self, name: WorkloadName, reading: Reading | None) -> None:
        """Follow a change of a workload; None: it does not count here any more."""
        self.until_ms.pop(name, None)
        before = self.entries.pop(name, None)
        now = self._note(name, reading)
        if before == now:
            return
        if isinstance(before, AdmittedEntry) and isinstance(now, AdmittedEntry):
            both = before.is_candidate and now.is_candidate
            if both and before.workload.uses_the_same(now.workload):
                self._replace(before.workload, now.workload)
                return
        if isinstance(before, AdmittedEntry):
            self._take_away(before)
        elif before is not None:
            self._drop_waiting(name, before)
        if isinstance(now, AdmittedEntry):
            self._put_in(now)
        elif now is not None:
            self._add_waiting(name, now)

    def _drop_waiting(self, name: WorkloadName, entry: PendingEntry | InadmissibleEntry) -> None:
        if isinstance(entry, InadmissibleEntry):
            del self._inadmissible[entry.queue][name]
            return
        queue = entry.pending.queue
        self.queues[queue].drop(name)
        if not self.queues[queue]:
            del self.waited_for[queue]
            self.queues[queue] = PendingQueue((), self.rules[queue], None)
        if entry.is_preempting:
            del self._preempting[queue][name]
            if not self._preempting[queue]:
                del self._preempting[queue]

    def _replace(self, before: AdmittedWorkload, now: AdmittedWorkload) -> None:
        """Follow a change of a candidate that uses as much as before."""
        self._present.replace_admitted(before, now)
        if self._later is self._present:
            return
        if before.is_evicted and not now.is_evicted:
            self._later.admit(now)
        elif now.is_evicted and not before.is_evicted:
            self._later.remove(before)
        elif not now.is_evicted:
            self._later.replace_admitted(before, now)

    def _counted_in(self, entry: AdmittedEntry) -> list[LoggedSnapshot]:
        """Return where an admitted workload counts; if it is evicted, only at present."""
        if self._later is self._present:
            return [self._present]
        return [self._present] if entry.workload.is_evicted else [self._present, self._later]

    def _take_away(self, entry: AdmittedEntry) -> None:
        for logged in self._counted_in(entry):
            if entry.is_candidate:
                logged.remove(entry.workload)
            else:
                logged.count(entry.workload, is_less=True)

    def _put_in(self, entry: AdmittedEntry) -> None:
        for logged in self._counted_in(entry):
            if entry.is_candidate:
                logged.admit(entry.workload)
            else:
                logged.count(entry.workload, is_less=False)
