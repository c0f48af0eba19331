"""What a rule set brings to the answers that people read, and how it is found."""

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, Generic, TypeVar

from fairlead.errors import FairleadError
from fairlead.explain.named import Named
from fairlead.explain.node import WaitingJob
from fairlead.explain.plan.incomplete import Unjudged
from fairlead.explain.queues.report import PendingReport, ShareReport
from fairlead.explain.registry import RULE_SETS
from fairlead.explain.text.explanation import Explanation
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.plan import Reason
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.contract import Settings, policy_of
from fairlead.policy.obstacles import UNSUPPORTED_CONSTRAINT, constraint_reason

S = TypeVar("S")


class RuleSet(ABC, Generic[S]):
    """All that the command line asks of one rule set; *S* is the type of its settings.

    A *capacity* is on the quota axes and stands in for that of the nodes.
    """

    name: str
    peer: str
    """Whose rules they are, in a sentence."""
    places_title: str = "NODES"
    """The title of the column that says where pods run."""
    capacity_refusal: str | None = None
    """Why a capacity cannot be stated; None: it can."""
    has_queue_per_namespace: bool = False
    """Whether a queue is called after the namespace whose pods are in it."""

    @abstractmethod
    def share_report(
        self, state: ClusterState, settings: S, capacity: Amounts | None
    ) -> ShareReport:
        """Return the numbers of all queues."""

    @abstractmethod
    def explain_queue(
        self, state: ClusterState, settings: S, capacity: Amounts | None, queue: QueueName
    ) -> Explanation:
        """Return the arithmetic behind the numbers of *queue*."""

    @abstractmethod
    def explain_job(
        self, state: ClusterState, settings: S, job: WorkloadName, now_ms: int
    ) -> Explanation:
        """Return what a plan at *now_ms* decides about *job*, and why."""

    def waiting_for_node(
        self, state: ClusterState, settings: S, node: str, now_ms: int
    ) -> list[WaitingJob] | None:
        """Return what each waiting job finds on *node*; None: the rules choose no nodes."""
        return None

    @abstractmethod
    def with_faithfulness(self, settings: S, *, faithful: bool) -> S:
        """Return *settings* for decisions as the original makes them, if that is asked for."""

    def is_faithful(self, settings: S) -> bool:
        """Return whether decisions under *settings* are those of the original."""
        return settings == self.with_faithfulness(settings, faithful=True)

    def rules_text(self, settings: S, *, option: str = "--faithful") -> str:
        """Say which of the two modes an answer speaks of, and what shows the other one."""
        if self.is_faithful(settings):
            return f"rules: {self.name}, faithful: as {self.peer} decides"
        own = f"{option} shows {self.peer}'s own decisions"
        return f"rules: {self.name} with Fairlead's fixes; {own}"

    def rules_document(self, settings: S) -> dict[str, object]:
        """Return the same for programs."""
        return {"policy": self.name, "faithful": self.is_faithful(settings)}

    @abstractmethod
    def check_plannable(self, state: ClusterState) -> None:
        """Raise FairleadError if the input lacks what a plan needs, such as nodes."""

    def demand_note(self, state: ClusterState) -> str | None:
        """Return a note for an input in which no workload asks for anything; None: no note."""
        return None

    def unsupported(self, state: ClusterState, workload: Workload) -> Reason | None:
        """Return that a pod of *workload* waits with a constraint that Fairlead does not model."""
        sets, run = workload.pod_sets, state.runs.get(workload.name)
        if not any(each.constraints.unsupported for each in sets):
            return None
        placed = run.pods if run else {}
        waiting = [pod for pod in workload.pods() if pod not in placed and not sets.of(pod).gated]
        reason = constraint_reason(workload, waiting, workload.queue)
        return reason if reason and reason.code == UNSUPPORTED_CONSTRAINT else None

    def unjudged(self, state: ClusterState) -> Unjudged:
        """Return the pending workloads that are not judged: plans call them unknown.

        Cost: a look at each pending workload.
        """
        found: dict[WorkloadName, tuple[str, ...]] = {}
        for name in [name for queue in state.waited_for() for name in state.waiting(queue)]:
            workload = state.workloads[name]
            if workload.active and workload.obstacle is None:
                reason = self.unsupported(state, workload)
                if reason is not None:
                    found[name] = reason.names
        return found

    def without_history(self, settings: S) -> S | None:
        """Return *settings* under which past usage has no weight; None: it never has any."""
        return None

    def pending(self, state: ClusterState, settings: S, named: Named, now_ms: int) -> PendingReport:
        """Return the workloads that wait of what is *named*, in queue order."""
        raise FairleadError(
            f"the objects are for {self.name}, which has no numbered positions in a queue; "
            "fairlead plan shows which jobs wait"
        )


def rule_set_of(settings: Settings) -> RuleSet[Any]:
    """Return the rule set that *settings* configure; its package is imported on first use."""
    package = RULE_SETS[policy_of(settings)].package
    found: RuleSet[Any] = import_module(f"{package}.rule_set").RULE_SET
    return found
