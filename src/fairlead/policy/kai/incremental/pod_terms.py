"""At which labels of the pods around them any pods look, followed through the changes of a state.

In nearly every cluster none does, and every claim asks. So those who look at others are remembered,
and who changed is looked at again.
"""

from fairlead.model.axes import WorkloadName
from fairlead.model.selector import PodTerm
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload


class PodAffinityTerms:
    """The terms on other pods of all workloads and nodes of one state."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state*. Nobody is looked at yet."""
        self._state = state
        self._read_at: int | None = None  # None: nothing was read
        self._terms: dict[WorkloadName, list[PodTerm]] = {}  # of those who have any

    def looked_at(self) -> tuple[bool, frozenset[str]]:
        """Return whether any pod looks at pods around it, and at which of their labels.

        Law: it is what a new one returns. Cost: who changed, and foreign pods that are
        asked about.
        """
        self._catch_up()
        terms = [term for own in self._terms.values() for term in own]
        books = self._state.books
        for node in books.nodes_asked_about():
            if node in books.nodes:
                terms += [term for pod in books.asked_about(node) for term in pod.pod_anti_affinity]
        selectors = [term.selector for term in terms if term.selector is not None]
        keys = [each.key for selector in selectors for each in selector.requirements]
        return bool(terms), frozenset(keys)

    def _catch_up(self) -> None:
        touched, workloads = self._state.touched, self._state.workloads
        if self._read_at is not None and touched.remembers(self._read_at):
            names = touched.since(self._read_at)
        else:
            self._terms.clear()
            names = list(workloads)
        self._read_at = touched.moment
        for name in names:
            self._terms.pop(name, None)
            terms = _terms_of(workloads[name]) if name in workloads else []
            if terms:
                self._terms[name] = terms


def _terms_of(workload: Workload) -> list[PodTerm]:
    wheres = [each.constraints for each in workload.pod_sets]
    return [term for each in wheres for term in (*each.pod_affinity, *each.pod_anti_affinity)]
