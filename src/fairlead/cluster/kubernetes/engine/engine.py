"""The scheduler between its mail and its acts: facts go in, a plan is made, acts come out.

It owns the cluster state and is called by one thread. It knows no network and no clock, so a test
can lead it step by step through any order of facts and outcomes.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Final, assert_never

import msgspec

from fairlead.cluster.kubernetes.acting.acts import Act, Bind, Evict, Look, Outcome, PodName
from fairlead.cluster.kubernetes.engine.mailbox import Mail
from fairlead.cluster.kubernetes.engine.still_possible import (
    Basis,
    has_waiting_pod,
    is_still_possible,
)
from fairlead.cluster.kubernetes.watching.facts import Gone, Listed, Seen
from fairlead.errors import ManifestError, StateError
from fairlead.manifest.core.objects import PodObject
from fairlead.manifest.text.documents import Document, cluster_document
from fairlead.manifest.translate.assemble import with_name
from fairlead.manifest.translate.family import OF_OUR_CLUSTER, AssemblyRules
from fairlead.manifest.translate.translator import Translator
from fairlead.model.axes import WorkloadName
from fairlead.model.execution.executor import OUTCOME_WITHIN_MS, Executor, Order
from fairlead.model.execution.remember import forget_promises
from fairlead.model.plan import Decision, Move, Plan, Reserve, Start, Unknown, Wait
from fairlead.model.plan import Evict as EvictDecision
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.contract import Policy, PolicyName, Settings, make_policy

_TAKES_AWAY: Final = (EvictDecision, Move)

_LOG: Final = logging.getLogger(__name__)


class Carried(msgspec.Struct, frozen=True):
    """What is to be done of a plan: acts, those of one order together, and its decisions."""

    batches: list[list[Act]]
    decisions: list[Decision]
    overtaken: int  # decisions that were dropped, because the cluster had changed meanwhile


class Engine:
    """The state of a cluster under one rule set, and what is decided about it."""

    def __init__(
        self,
        policy: PolicyName,
        given: Iterable[Document] = (),
        rules: AssemblyRules = OF_OUR_CLUSTER,
    ) -> None:
        """Begin with nothing seen; *given* are objects that are in no cluster, such as settings.

        Raises ManifestError if one of them cannot be read.
        """
        self.translator = Translator(policy, rules)
        for each in given:
            self.translator.changed(with_name(each))
        self.translator.settle()
        errors = [each for each in self.translator.findings() if each.severity == "error"]
        if errors:
            raise ManifestError(errors)
        self.executor = Executor(self.state)
        self._settings = self.translator.settings
        self._policy: Policy = make_policy(self._settings)
        self._basis = Basis.of(self.state)  # of the last plan
        self._looked_ms: dict[tuple[int, PodId], int] = {}  # at pods of orders, when last

    @property
    def state(self) -> ClusterState:
        """The state, which is another one after resources or quota axes were added."""
        return self.translator.state

    @property
    def settings(self) -> Settings:
        """The settings under which the last plan was made."""
        return self._settings

    def take(self, mail: Sequence[Mail], now_ms: int) -> None:
        """Take in what came, in its order, and bring the state in line with it."""
        outcomes: list[Outcome] = []
        for each in mail:
            match each:
                case Seen(value):
                    self.translator.changed(cluster_document(value))
                case Gone(value):
                    self.translator.removed(cluster_document(value))
                case Listed(kind, is_served=False):
                    self.translator.unserved(*kind)
                case Listed(kind, values, version):
                    self.translator.listed(*kind, map(cluster_document, values), version)
                case Outcome():
                    outcomes.append(each)
        self._settle()
        if outcomes:
            for outcome in outcomes:
                self._end(outcome, now_ms)
            self._settle()

    def plan(self, now_ms: int, *, at_most_starts: int | None, explain: bool) -> Plan:
        """Return what to do now; the state is left as it is."""
        self._basis = Basis.of(self.state)
        return self._policy.plan(
            self.state,
            now_ms,
            held=self.executor.holds(now_ms),
            at_most_starts=at_most_starts,
            explain=explain,
        )

    def carry_out(self, plan: Plan, now_ms: int) -> Carried:
        """Assume that *plan*, the last one, succeeds, except for what is not possible any more."""
        needless = self._needless(plan)
        batches: list[list[Act]] = []
        carried: list[Decision] = []
        overtaken = 0
        for decision in plan.decisions:
            is_needless = isinstance(decision, _TAKES_AWAY) and decision.beneficiary in needless
            acts = None if is_needless else self._order(decision, now_ms)
            if acts is None:
                overtaken += 1
                continue
            carried.append(decision)
            if acts:
                batches.append(acts)
        if not plan.is_cut:
            forget_promises(self.state, carried, now_ms)
        for memory in plan.memories:
            if memory.workload in self.state.workloads:
                self.state.apply(memory)
        return Carried(batches, carried, overtaken)

    def overdue(self, now_ms: int) -> list[list[Act]]:
        """Return looks at the pods of which an outcome or a fact is missing for too long.

        A pod is looked at again after as much time: the look itself may have to wait.
        """
        looked: dict[tuple[int, PodId], int] = {}
        batches: list[list[Act]] = []
        for order, pods in self.executor.overdue(now_ms):
            for pod in pods:
                key = order.number, pod
                target = self._target(order.workload, pod)
                last_ms = self._looked_ms.get(key)
                is_due = last_ms is None or now_ms - last_ms >= OUTCOME_WITHIN_MS
                looked[key] = now_ms if last_ms is None or is_due else last_ms
                if target is not None and is_due:
                    batches.append([Look(order=order, pod=pod, target=target)])
        self._looked_ms = looked
        return batches

    def _settle(self) -> None:
        if self.translator.settle():
            self.executor.move_to(self.state)
        settings = self.translator.settings
        if settings != self._settings:
            self._settings = settings
            self._policy = make_policy(settings)

    def _end(self, outcome: Outcome, now_ms: int) -> None:
        """Take in what became of an act, and compare its workload with its objects again."""
        order, pods = outcome.act.order, (outcome.act.pod,)
        if outcome.result == "done":
            self.executor.succeeded(order, pods)
            return
        self.executor.failed(
            order,
            now_ms,
            pods,
            retry_after_ms=outcome.retry_after_ms,
            is_overtaken=outcome.result == "overtaken",
            is_on_any_node=outcome.is_on_any_node,
        )
        self.translator.look_again(order.workload)

    def _needless(self, plan: Plan) -> set[WorkloadName]:
        """Return the workloads for which others are to give way although they do not wait now.

        Looked at before anything is ordered: the plan itself may start some of them.
        """
        beneficiaries = {
            each.beneficiary
            for each in plan.decisions
            if isinstance(each, _TAKES_AWAY) and each.beneficiary is not None
        }
        return {each for each in beneficiaries if not has_waiting_pod(self.state, each)}

    def _order(self, decision: Decision, now_ms: int) -> list[Act] | None:
        """Return the acts of a decision; None: it cannot be carried out any more."""
        if not is_still_possible(self.state, decision, self._basis):
            return None
        targets = self._targets(decision)
        if targets is None:
            return None
        try:
            order = self.executor.order(decision, now_ms)
        except StateError as refused:
            _LOG.error("the state refuses a decision of its own plan, skipped: %s", refused)
            return None
        return [] if order is None else self._acts(order, targets)

    def _targets(self, decision: Decision) -> dict[PodId, PodObject] | None:
        """Return the pods that a decision is about; None: one of them is not there any more."""
        found = {}
        for pod in _pods_to_act_on(decision):
            known = self._pod(decision.workload, pod)
            if known is None:
                return None
            found[pod] = known
        return found

    def _acts(self, order: Order, targets: dict[PodId, PodObject]) -> list[Act]:
        acts: list[Act] = []
        for place in order.placements:
            pod = targets[place.pod]
            target = _target_of(pod)
            if order.verb == "evict":
                version = pod.identity.resource_version
                acts.append(
                    Evict(order=order, pod=place.pod, target=target, resource_version=version)
                )
            else:
                assert place.node is not None, "pods of a cluster are bound to nodes"
                node = self.state.nodes[place.node]
                acts.append(
                    Bind(
                        order=order,
                        pod=place.pod,
                        target=target,
                        node=node.name,
                        is_cordoned=node.cordoned,
                    )
                )
        return acts

    def _target(self, workload: WorkloadName, pod: PodId) -> PodName | None:
        found = self._pod(workload, pod)
        return None if found is None else _target_of(found)

    def _pod(self, name: WorkloadName, pod: PodId) -> PodObject | None:
        workload = self.state.workloads.get(name)
        if workload is None or not workload.has_pod(pod):
            return None
        full_name = f"{workload.namespace}/{workload.pod_name(pod)}"
        found = self.translator.mirror.of(PodObject).get(full_name)
        return found if found is not None and found.identity.uid == pod else None


def _target_of(pod: PodObject) -> PodName:
    return PodName(pod.namespace, pod.name, pod.identity.uid)


def _pods_to_act_on(decision: Decision) -> list[PodId]:
    """Return the pods of a decision to which something is done on the cluster."""
    match decision:
        case Start():
            return [each.pod for each in decision.placements]
        case EvictDecision():
            return list(decision.pods)
        case Move():
            return [each.pod for each in decision.origins]
        case Reserve() | Wait() | Unknown():
            return []
        case _:
            assert_never(decision)
