"""Whether a pod was told to leave, ours or not, followed through the changes of one state.

What a plan leaves behind is seldom more than what it started; but whoever is leaving has left by
then. So it is asked after nearly every plan whether anybody is.
"""

from collections.abc import Iterable

from fairlead.model.axes import WorkloadName
from fairlead.model.state import ClusterState


class TerminatingPods:
    """The jobs of one state that leave a place, with some of their pods or with all."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state*. Nobody is looked at yet."""
        self._state = state
        self._read_at: int | None = None  # None: nothing was read
        self._names: set[WorkloadName] = set()

    def are_any(self) -> bool:
        """Return whether any pod is leaving now. Cost: the jobs that changed."""
        touched = self._state.touched
        if self._read_at is None or not touched.remembers(self._read_at):
            self._names.clear()
            self._read(self._state.runs)
        elif touched.moment != self._read_at:
            self._read(touched.since(self._read_at))
        self._read_at = touched.moment
        return bool(self._names) or bool(self._state.books.leaving_foreign)

    def _read(self, names: Iterable[WorkloadName]) -> None:
        runs = self._state.runs
        for name in names:
            run = runs.get(name)
            if run is not None and any(placed.phase == "leaving" for placed in run.pods.values()):
                self._names.add(name)
            else:
                self._names.discard(name)
