"""The KAI rules, as the answers that people read need them."""

from fractions import Fraction
from typing import Final

import msgspec

from fairlead.errors import FairleadError
from fairlead.explain.kai.job import explain_kai_job
from fairlead.explain.kai.node import waiting_for_node
from fairlead.explain.kai.queue import explain_kai_queue, kai_report
from fairlead.explain.node import WaitingJob
from fairlead.explain.queues.report import ShareReport
from fairlead.explain.rule_set import RuleSet
from fairlead.explain.text.explanation import Explanation
from fairlead.manifest.kai.assembly.queue_demand import is_demand
from fairlead.manifest.kai.reading.queue import TOTAL_NODE
from fairlead.model.axes import Amounts, QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.api import KaiShares, new_cycle
from fairlead.policy.kai.settings import KaiSettings

NOTHING_ASKED: Final = (
    "note: nothing in the input asks for anything, so every fair share is 0; add pods and pod "
    "groups, or the queues with their status, as kubectl get -o yaml shows them"
)


class KaiRules(RuleSet[KaiSettings]):
    """Hierarchical fair share over the nodes of the cluster."""

    name = "kai"
    peer = "KAI"

    def share_report(
        self, state: ClusterState, settings: KaiSettings, capacity: Amounts | None
    ) -> ShareReport:
        """Return weight, quota, limit, use and fair share of every queue."""
        return kai_report(state, _shares(state, settings, capacity))

    def explain_queue(
        self, state: ClusterState, settings: KaiSettings, capacity: Amounts | None, queue: QueueName
    ) -> Explanation:
        """Return the division that gives *queue* its fair share."""
        return explain_kai_queue(state, _shares(state, settings, capacity), queue)

    def explain_job(
        self, state: ClusterState, settings: KaiSettings, job: WorkloadName, now_ms: int
    ) -> Explanation:
        """Return what one cycle at *now_ms* decides about *job*, and why."""
        return explain_kai_job(state, settings, job, now_ms)

    def waiting_for_node(
        self, state: ClusterState, settings: KaiSettings, node: str, now_ms: int
    ) -> list[WaitingJob]:
        """Return what the next pod of each waiting job finds on *node*, before the cycle begins."""
        with state.trial():
            return waiting_for_node(new_cycle(state, settings, now_ms), node)

    def with_faithfulness(self, settings: KaiSettings, *, faithful: bool) -> KaiSettings:
        """Return *settings* with the quirks of the original switched on or off."""
        return msgspec.structs.replace(settings, faithful=faithful)

    def check_plannable(self, state: ClusterState) -> None:
        """Refuse an input without nodes or pods."""
        if not state.nodes:
            raise FairleadError(
                "there is nowhere to run: the input has no Node, or the pool of the shard leaves "
                "all of them out. Add the nodes"
            )
        if TOTAL_NODE in state.nodes:
            raise FairleadError(
                "a share simulation has no nodes, only a total: fairlead queues shows its shares"
            )
        if any(is_demand(name) for name in state.workloads):
            raise FairleadError(
                "the input has no pods, only what queues ask for in their status: add the pods and "
                "pod groups; fairlead queues shows the shares"
            )

    def demand_note(self, state: ClusterState) -> str | None:
        """Return why every fair share is 0 where no workload asks for anything."""
        return None if state.workloads else NOTHING_ASKED

    def without_history(self, settings: KaiSettings) -> KaiSettings | None:
        """Return *settings* with k = 0."""
        return msgspec.structs.replace(settings, k=Fraction(0))


def _shares(state: ClusterState, settings: KaiSettings, capacity: Amounts | None) -> KaiShares:
    if capacity is None:
        if not state.nodes:
            raise FairleadError(
                "there is nothing to divide: the input has no Node. "
                "Add the nodes, or state the capacity: --capacity gpu=64,cpu=512,memory=4Ti"
            )
        capacity = state.total()
    return KaiShares(state, capacity, settings.k)


RULE_SET: Final = KaiRules()
