"""Which pods a disruption budget protects from giving way."""

from collections.abc import Iterable

from fairlead.model.axes import WorkloadName
from fairlead.model.catalogue import DisruptionBudget
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.nodes.holders import Holder


class Budgets:
    """The disruption budgets of one state."""

    def __init__(self, state: ClusterState) -> None:
        """Read the budgets that can protect anybody: an empty selector selects nobody here."""
        self._state = state
        self._by_namespace: dict[str, list[DisruptionBudget]] = {}
        self._used_up: dict[tuple[str, str], int] = {}  # by those who were told to leave
        self._selected: dict[tuple[WorkloadName, int], list[DisruptionBudget]] = {}
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

    def are_none(self) -> bool:
        """Return whether there is no budget at all."""
        return not self._by_namespace

    def has_none_left(self, holder: Holder) -> bool:
        """Return whether a budget protects *holder* whoever else is asked."""
        return any(
            budget.disruptions_allowed <= self._used_up.get((budget.namespace, budget.name), 0)
            for budget in self._matching(holder)
        )

    def used_up(self) -> frozenset[tuple[tuple[str, str], int]]:
        """Return how much of which budget was used up so far."""
        return frozenset(self._used_up.items())

    def disturb(self, holder: Holder, by: int = 1) -> None:
        """Count that *holder* was told to leave, or with -1 that it was not."""
        for budget in self._matching(holder):
            key = (budget.namespace, budget.name)
            self._used_up[key] = self._used_up.get(key, 0) + by

    def _matching(self, holder: Holder) -> list[DisruptionBudget]:
        if not self._by_namespace:
            return []
        name, pod = holder.key
        workload = self._state.workloads[name]
        at = workload.pod_sets.set_index[pod]
        selected = self._selected.get((name, at))
        if selected is None:
            labels = dict(workload.pod_sets[at].labels)
            budgets = self._by_namespace.get(workload.namespace, ()) if labels else ()
            selected = [each for each in budgets if each.selector.matches(labels)]
            self._selected[name, at] = selected
        if not any(each.disrupted_pods for each in selected):
            return selected
        return [each for each in selected if workload.pod_name(pod) not in each.disrupted_pods]
