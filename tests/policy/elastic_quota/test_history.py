"""Random histories of a cluster under ElasticQuotas that carries out the plans made for it.

One policy plans all the way, and must plan as a fresh one would at every step.
"""

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    CatalogueChanged,
    Event,
    NodeAdded,
    NodeChanged,
    NodeRemoved,
    QueueChanged,
    QueueRemoved,
    WorkloadAdded,
    WorkloadFinished,
    WorkloadLeaving,
    WorkloadStopped,
)
from fairlead.model.execution.after_plan import carry_out
from fairlead.model.execution.executor import apply
from fairlead.model.run import Phase
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.model.invariants import check_invariants
from tests.policy.elastic_quota.plan_laws import checked_plan
from tests.policy.elastic_quota.random_world import (
    NAMESPACES,
    NOW_MS,
    budgets,
    build,
    nodes,
    quotas,
    random_settings,
    workloads,
    worlds,
)
from tests.scale_examples import scale_examples


class PlannedHistory(RuleBasedStateMachine):
    state: ClusterState

    @initialize(events=worlds(most=6), settings=random_settings)
    def begin(self, events: list[Event], settings: ElasticQuotaSettings) -> None:
        self.state = build(events)
        self.settings = settings
        self.policy = ElasticQuotaPolicy(settings)
        self.now_ms = NOW_MS
        self.submitted = 100

    @invariant()
    def sums_are_right(self) -> None:
        if hasattr(self, "state"):
            check_invariants(self.state)

    @rule()
    def plan_only(self) -> None:
        checked_plan(self.state, self.settings, self.policy, self.now_ms)

    @rule()
    def plan_and_tell(self) -> None:
        """Carry out a plan; who was told to leave is still there."""
        plan = checked_plan(self.state, self.settings, self.policy, self.now_ms)
        apply(self.state, plan)

    @rule()
    def plan_and_wait_until_done(self) -> None:
        plan = checked_plan(self.state, self.settings, self.policy, self.now_ms)
        carry_out(self.state, plan.decisions, self.now_ms, keeps_reservations=False)

    @rule(passed_ms=st.sampled_from([1, 1000, 5000]))
    def time_passes(self, passed_ms: int) -> None:
        self.now_ms += passed_ms

    @rule(data=st.data())
    def submit(self, data: st.DataObject) -> None:
        self.submitted += 1
        self.state.apply(WorkloadAdded(data.draw(workloads(f"w{self.submitted}"))))

    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        if self.state.workloads:
            name = data.draw(st.sampled_from(sorted(self.state.workloads)))
            self.state.apply(WorkloadFinished(name))

    @rule(data=st.data(), namespace=st.sampled_from(NAMESPACES))
    def a_quota_comes_or_changes(self, data: st.DataObject, namespace: str) -> None:
        self.state.apply(QueueChanged(data.draw(quotas(namespace))))

    @rule(namespace=st.sampled_from(NAMESPACES))
    def a_quota_goes(self, namespace: str) -> None:
        if namespace in self.state.queues:
            self.state.apply(QueueRemoved(QueueName(namespace)))

    @rule(data=st.data())
    def budgets_change(self, data: st.DataObject) -> None:
        self.state.apply(CatalogueChanged(data.draw(budgets())))

    @rule(data=st.data(), name=st.sampled_from(["n0", "n7"]))
    def a_node_comes_or_goes(self, data: st.DataObject, name: str) -> None:
        if name in self.state.nodes:
            self.state.apply(NodeRemoved(name))
        elif not self.state.books.pods(name):  # what comes back may be smaller than it was
            self.state.apply(NodeAdded(data.draw(nodes(name))))

    @rule(name=st.sampled_from(["n0", "n1"]))
    def a_node_is_cordoned_or_opened(self, name: str) -> None:
        node = self.state.nodes.get(name)
        if node is not None:
            self.state.apply(NodeChanged(replace(node, cordoned=not node.cordoned)))

    @rule(data=st.data())
    def tell_pods_to_leave(self, data: st.DataObject) -> None:
        self._some_pods(data, "running", WorkloadLeaving)

    @rule(data=st.data())
    def let_pods_stop(self, data: st.DataObject) -> None:
        self._some_pods(data, "leaving", WorkloadStopped)

    def _some_pods(
        self,
        data: st.DataObject,
        phase: Phase,
        kind: type[WorkloadLeaving] | type[WorkloadStopped],
    ) -> None:
        pods: dict[WorkloadName, list[PodId]] = {
            name: [pod for pod, placed in run.pods.items() if placed.phase == phase]
            for name, run in self.state.runs.items()
        }
        names = sorted(name for name, own in pods.items() if own)
        if names:
            name = data.draw(st.sampled_from(names))
            chosen = data.draw(
                st.lists(st.sampled_from(sorted(pods[name])), min_size=1, unique=True)
            )
            self.state.apply(kind(workload=name, pods=tuple(chosen)))


TestPlannedHistory = PlannedHistory.TestCase
TestPlannedHistory.settings = hypothesis_settings(
    max_examples=scale_examples(120), stateful_step_count=15
)
