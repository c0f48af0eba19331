"""Which pods a disruption budget protects from giving way."""

from collections.abc import Iterable

from fairlead.model.catalogue import DisruptionBudget
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.holders import Holder


class Budgets:
    """The disruption budgets of one state."""

    def __init__(self, state: ClusterState) -> None:
        """Read the budgets that can protect anybody: an empty selector selects nobody here."""
        self._state = state
        self._by_namespace: dict[str, list[DisruptionBudget]] = {}
        self._used_up: dict[tuple[str, str], int] = {}  # by those who were told to leave
        for budget in state.catalogue.budgets.values():
            if budget.selector.requirements:
                self._by_namespace.setdefault(budget.namespace, []).append(budget)

    def protected(self, by_importance: Iterable[Holder]) -> set[Holder]:
        """Return those who are past what a budget allows, the more important using it up first.

        Whoever is listed as disrupted already uses up nothing. Cost: nothing without budgets.
        """
        found: set[Holder] = set()
        if not self._by_namespace:
            return found
        left: dict[tuple[str, str], int] = {}
        for holder in by_importance:
            for budget in self._matching(holder):
                key = (budget.namespace, budget.name)
                allowed = budget.disruptions_allowed - self._used_up.get(key, 0)
                left[key] = left.get(key, allowed) - 1
                if left[key] < 0:
                    found.add(holder)
        return found

    def disturb(self, holder: Holder, by: int = 1) -> None:
        """Count that *holder* was told to leave, or with -1 that it was not."""
        for budget in self._matching(holder) if self._by_namespace else ():
            key = (budget.namespace, budget.name)
            self._used_up[key] = self._used_up.get(key, 0) + by

    def _matching(self, holder: Holder) -> list[DisruptionBudget]:
        name, pod = holder.key
        workload = self._state.workloads[name]
        labels = dict(workload.pod_sets[pod.pod_set].labels)
        if not labels:
            return []
        return [
            budget
            for budget in self._by_namespace.get(workload.namespace, ())
            if workload.pod_name(pod) not in budget.disrupted_pods
            and budget.selector.matches(labels)
        ]
