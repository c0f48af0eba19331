"""Who has to leave: nobody in vain, and no more across nodes than on one node alone."""

from collections.abc import Iterator, Sequence
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import Amounts
from fairlead.model.events import Event
from fairlead.model.plan import Decision, Evict
from fairlead.policy.elastic_quota.incremental.unschedulable import UnschedulableCache
from fairlead.policy.elastic_quota.nodes.running_pods import RunningPod
from fairlead.policy.elastic_quota.planning_context import PlanningContext
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.preemption import cross_node, node_search
from fairlead.policy.elastic_quota.preemption.cross_node import (
    CrossNodeOutcome,
    CrossNodePreemption,
    least_disruptive,
)
from fairlead.policy.elastic_quota.preemption.node_search import PodPreemption
from fairlead.policy.elastic_quota.preemption.victims import CandidateScope
from fairlead.policy.elastic_quota.quota.pending_pod import PendingPod
from fairlead.policy.elastic_quota.scheduling import gangs, pods
from fairlead.policy.elastic_quota.scheduling.gangs import GangNominated, GangScheduling
from fairlead.policy.elastic_quota.scheduling.pods import Nominated, PodScheduling
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings, PluginQuirks
from tests.policy.elastic_quota.preemption.test_node_search import waiting
from tests.policy.elastic_quota.random_world import (
    FAITHFUL_ACROSS,
    NOW_MS,
    OURS,
    PROTECTS_MIN,
    build,
    modes,
    worlds,
)
from tests.scale_examples import scale_examples

Askers = Sequence[PendingPod]
across = st.sampled_from([OURS, PROTECTS_MIN, FAITHFUL_ACROSS])


def fits(
    context: PlanningContext,
    pending_pods: Askers,
    charge: Amounts,
    nodes: Sequence[str],
    off: Sequence[RunningPod],
) -> bool:
    """Return whether *askers* break no rule and have room on *nodes* once *off* have left."""
    whole = pending_pods[0]._replace(
        charge=charge, named=frozenset(at for each in pending_pods for at in each.named)
    )
    queue, check = (
        whole.queue,
        context.admission.check(whole, after_termination=context.expects_termination),
    )
    if queue is not None:
        given_back = [each.charge for each in off if each.queue == queue]
        used = _less(check.use.used[queue], given_back)
        pool = _less(check.use.pool, [each.charge for each in off if each.queue is not None])
        most = context.quotas.ceiling[queue]
        for at in check.own_axes:
            bound = most[at]
            if bound is not None and used[at] + check.in_quota[at] > bound:
                return False
        for at in check.pool_axes:
            if pool[at] + check.in_pool[at] > context.quotas.pool[at]:
                return False
    for node in set(nodes):
        own = [pending for pending, place in zip(pending_pods, nodes, strict=True) if place == node]
        free = _less(
            _free(context, own, node),
            [[-amount for amount in h.requests] for h in off if _on(context, h, node)],
        )
        for at in range(len(free)):
            asked = sum(each.requests[at] for each in own)
            if asked > free[at] and any(each.requests[at] for each in own):
                return False
    return True


def _free(context: PlanningContext, own: Askers, node: str) -> list[int]:
    """Return what is free for pods that are to be on *node*, and not for any of the gang.

    Whoever goes before one of them is in the way of all, unless another one displaces it.
    """
    frees = [
        context.fit.free(each, node, after_termination=context.expects_termination) for each in own
    ]
    firsts = [{o.key: o for o in context.nominations.ahead_of(each, node)} for each in own]
    there = {key: other for first in firsts for key, other in first.items()}
    in_the_way = [
        other
        for other in there.values()
        if other.priority >= own[0].priority or all(other.key in first for first in firsts)
    ]
    back = [[-amount for amount in other.requests] for other in firsts[0].values()]
    return _less(frees[0], [*back, *[other.requests for other in in_the_way]])


def _less(amounts: Sequence[int], parts: Sequence[Sequence[int]]) -> list[int]:
    return [amount - sum(part[at] for part in parts) for at, amount in enumerate(amounts)]


def _on(context: PlanningContext, running_pod: RunningPod, node: str) -> bool:
    name, pod = running_pod.key
    return context.state.runs[name].pods[pod].node == node


@hypothesis_settings(max_examples=scale_examples(80))
@given(events=worlds(plain=True), settings=modes)
def test_nobody_leaves_in_vain(events: list[Event], settings: ElasticQuotaSettings) -> None:
    """Whoever stays after all makes the claim impossible on the places that it got."""
    nominate_for, promise_gang, try_gang = (
        PodScheduling.nominate_for,
        GangScheduling._nominated,
        GangScheduling._preempt_one,
    )
    trials: list[PendingPod] = []  # what a gang only tries is judged for the whole of it afterwards

    def tried(
        turns: GangScheduling, pending: PendingPod, own: str | None, asked: CandidateScope
    ) -> Nominated | None:
        trials.append(pending)
        found = try_gang(turns, pending, own, asked)
        trials.pop()
        return found

    def checked(
        turns: PodScheduling,
        pending: PendingPod,
        node: str,
        asked: CandidateScope,
        victims: Sequence[RunningPod],
        whole: PendingPod | None = None,
    ) -> Nominated:
        if whole is None and not trials:
            check_minimal(turns._context, [pending], pending.charge, [node], victims)
        return nominate_for(turns, pending, node, asked, victims, whole)

    def checked_gang(
        turns: GangScheduling, pending_pods: Askers, whole: PendingPod, cross_node: CrossNodeOutcome
    ) -> GangNominated:
        check_minimal(
            turns._context, pending_pods, whole.charge, cross_node.nodes, cross_node.victims
        )
        return promise_gang(turns, pending_pods, whole, cross_node)

    with (
        patch.object(PodScheduling, "nominate_for", checked),
        patch.object(GangScheduling, "_nominated", checked_gang),
        patch.object(GangScheduling, "_preempt_one", tried),
    ):
        ElasticQuotaPolicy(settings).plan(build(events), NOW_MS)


def check_minimal(
    context: PlanningContext,
    pending_pods: Askers,
    charge: Amounts,
    nodes: Sequence[str],
    victims: Sequence[RunningPod],
) -> None:
    if context.expects_termination:  # the plugin may forget who is nominated
        assert fits(context, pending_pods, charge, nodes, victims)
    for each in victims:
        rest = [other for other in victims if other != each]
        assert not fits(context, pending_pods, charge, nodes, rest), f"{each.title} leaves in vain"


@hypothesis_settings(max_examples=scale_examples(80))
@given(events=worlds(plain=True), settings=st.sampled_from([OURS, PROTECTS_MIN]))
def test_several_nodes_are_no_worse_than_one(
    events: list[Event], settings: ElasticQuotaSettings
) -> None:
    for context, pending, preemption in claims(events, settings):
        for protects_min in (True, False):
            alone = preemption._search(protects_min=protects_min).best()
            cross_node = CrossNodePreemption(
                context, [pending], pending.charge, protects_min=protects_min
            )
            if alone is None or not alone.victims or not cross_node.is_exhaustive:
                continue
            if cross_node.scope != "borrowers":
                continue  # who is over its min leaves to others what they wait for
            together = cross_node.solve()
            if together is None:  # who may fall below its min gives in the order of all nodes
                assert not protects_min
                continue
            assert cross_node.cost(together.victims) <= cross_node.cost(alone.victims)
            assert fits(context, [pending], pending.charge, together.nodes, together.victims)


@pytest.mark.exhaustive
@hypothesis_settings(max_examples=scale_examples(80))
@given(events=worlds(plain=True), settings=across, exact=st.sampled_from([12, 2, 0]))
def test_where_other_nodes_are_not_looked_at_they_would_not_help(
    events: list[Event], settings: ElasticQuotaSettings, exact: int
) -> None:
    """Whether other nodes can help is told without looking for victims there."""
    with (
        patch.object(cross_node, "EXHAUSTIVE_LIMIT", exact),
        patch.object(node_search, "EXHAUSTIVE_LIMIT", exact),
    ):
        for context, pending, preemption in claims(events, settings):
            mark = context.mark()
            nominated = PodScheduling(context, UnschedulableCache())._preempt(preemption)
            context.roll_back(mark)
            if nominated is None and preemption.ineligible_reason() is None:
                assert least_disruptive(context, [pending], pending.charge) is None


def claims(
    events: list[Event], settings: ElasticQuotaSettings
) -> Iterator[tuple[PlanningContext, PendingPod, PodPreemption]]:
    """Yield the claim of each pod that cannot start, as if it were the first to have its turn."""
    state = build(events)
    context = PlanningContext(state, settings, NOW_MS)
    for workload in state.workloads.values():
        context.restore_nominations(workload)
    for pending in waiting(context):
        violation = context.admission.violation(pending)
        if violation is not None or context.fit.find(pending) is None:
            yield context, pending, PodPreemption(context, pending, violation)


@hypothesis_settings(max_examples=scale_examples(80))
@given(events=worlds(), protect_min=st.booleans())
def test_what_one_node_serves_is_decided_as_if_there_were_no_other_way(
    events: list[Event], protect_min: bool
) -> None:
    """The plans are the same up to the first workload that takes from several nodes.

    Nobody is held back here, which may be for the sake of who has its turn later.
    """
    quirks = PluginQuirks(start_in_vain=True)
    helped: list[str] = []

    def noted(
        context: PlanningContext, pending_pods: Askers, charge: Amounts
    ) -> CrossNodeOutcome | None:
        found = least_disruptive(context, pending_pods, charge)
        if found is not None:
            helped.append(pending_pods[0].workload.name)
        return found

    both = ElasticQuotaSettings(quirks=quirks, protect_min=protect_min)
    with (
        patch.object(pods, "least_disruptive", noted),
        patch.object(gangs, "least_disruptive", noted),
    ):
        with_more = ElasticQuotaPolicy(both).plan(build(events), NOW_MS).decisions
    alone = replace(both, cross_node_preemption=False)
    without = ElasticQuotaPolicy(alone).plan(build(events), NOW_MS).decisions
    same = len(list(_until(with_more, helped[0]))) if helped else None
    assert with_more[:same] == without[:same]


def _until(decisions: Sequence[Decision], name: str) -> Iterator[Decision]:
    for each in decisions:
        if each.workload == name or (isinstance(each, Evict) and each.beneficiary == name):
            return
        yield each
