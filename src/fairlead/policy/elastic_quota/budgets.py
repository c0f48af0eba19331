"""Which pods a disruption budget protects from giving way."""

from collections.abc import Iterable, Mapping

from fairlead.model.catalogue import DisruptionBudget
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.holders import Holder


class Budgets:
    """The disruption budgets of one state."""

    def __init__(self, state: ClusterState) -> None:
        """Read the budgets that can protect anybody: an empty selector selects nobody here."""
        self._state = state
        self._by_namespace: dict[str, list[DisruptionBudget]] = {}
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
            name, pod = holder.key
            workload = self._state.workloads[name]
            labels = dict(workload.pod_sets[pod.pod_set].labels)
            for budget in self._matching(workload.namespace, workload.pod_name(pod), labels):
                key = (budget.namespace, budget.name)
                left[key] = left.get(key, budget.disruptions_allowed) - 1
                if left[key] < 0:
                    found.add(holder)
        return found

    def _matching(
        self, namespace: str, pod_name: str, labels: Mapping[str, str]
    ) -> list[DisruptionBudget]:
        if not labels:
            return []
        return [
            budget
            for budget in self._by_namespace.get(namespace, ())
            if pod_name not in budget.disrupted_pods and budget.selector.matches(labels)
        ]
