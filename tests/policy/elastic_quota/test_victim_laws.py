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
from fairlead.policy.elastic_quota.nodes.running_pods import Holder
from fairlead.policy.elastic_quota.planning_context import Desk
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.preemption import cross_node, node_search
from fairlead.policy.elastic_quota.preemption.cross_node import (
    JointClaim,
    JointOutcome,
    least_harm,
)
from fairlead.policy.elastic_quota.preemption.node_search import Claim
from fairlead.policy.elastic_quota.preemption.victims import Asked
from fairlead.policy.elastic_quota.quota.pending_pod import Asker
from fairlead.policy.elastic_quota.scheduling import gangs, pods
from fairlead.policy.elastic_quota.scheduling.gangs import GangPromised, GangTurns
from fairlead.policy.elastic_quota.scheduling.pods import PodTurns, Promised
from fairlead.policy.elastic_quota.scheduling.refusals import Refusals
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings, PluginQuirks
from tests.policy.elastic_quota.random_world import (
    FAITHFUL_ACROSS,
    NOW_MS,
    OURS,
    PROTECTS_MIN,
    build,
    modes,
    worlds,
)
from tests.policy.elastic_quota.test_fast_search import waiting
from tests.scale_examples import scale_examples

Askers = Sequence[Asker]
across = st.sampled_from([OURS, PROTECTS_MIN, FAITHFUL_ACROSS])


def is_enough(
    desk: Desk, askers: Askers, charge: Amounts, nodes: Sequence[str], off: Sequence[Holder]
) -> bool:
    """Return whether *askers* break no rule and have room on *nodes* once *off* have left."""
    whole = askers[0]._replace(
        charge=charge, named=frozenset(at for each in askers for at in each.named)
    )
    queue, standing = whole.queue, desk.admission.standing(whole, later=desk.looks_later)
    if queue is not None:
        given_back = [each.charge for each in off if each.queue == queue]
        used = _less(standing.use.used[queue], given_back)
        pool = _less(standing.use.pool, [each.charge for each in off if each.queue is not None])
        most = desk.books.ceiling[queue]
        for at in standing.own_axes:
            bound = most[at]
            if bound is not None and used[at] + standing.in_quota[at] > bound:
                return False
        for at in standing.pool_axes:
            if pool[at] + standing.everywhere[at] > desk.books.pool[at]:
                return False
    for node in set(nodes):
        own = [asker for asker, place in zip(askers, nodes, strict=True) if place == node]
        free = _less(
            _free(desk, own, node),
            [[-amount for amount in h.requests] for h in off if _on(desk, h, node)],
        )
        for at in range(len(free)):
            asked = sum(each.requests[at] for each in own)
            if asked > free[at] and any(each.requests[at] for each in own):
                return False
    return True


def _free(desk: Desk, own: Askers, node: str) -> list[int]:
    """Return what is free for pods that are to be on *node*, and not for any of the gang.

    Whoever goes before one of them is in the way of all, unless another one displaces it.
    """
    frees = [desk.places.free(each, node, later=desk.looks_later) for each in own]
    firsts = [{o.key: o for o in desk.nominations.before(each, node)} for each in own]
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


def _on(desk: Desk, holder: Holder, node: str) -> bool:
    name, pod = holder.key
    return desk.state.runs[name].pods[pod].node == node


@hypothesis_settings(max_examples=scale_examples(80))
@given(events=worlds(plain=True), settings=modes)
def test_nobody_leaves_in_vain(events: list[Event], settings: ElasticQuotaSettings) -> None:
    """Whoever stays after all makes the claim impossible on the places that it got."""
    promise, promise_gang, try_gang = PodTurns.promise, GangTurns._promised, GangTurns._one
    trials: list[Asker] = []  # what a gang only tries is judged for the whole of it afterwards

    def tried(turns: GangTurns, asker: Asker, own: str | None, asked: Asked) -> Promised | None:
        trials.append(asker)
        found = try_gang(turns, asker, own, asked)
        trials.pop()
        return found

    def checked(
        turns: PodTurns,
        asker: Asker,
        node: str,
        asked: Asked,
        victims: Sequence[Holder],
        whole: Asker | None = None,
    ) -> Promised:
        if whole is None and not trials:
            check_minimal(turns._desk, [asker], asker.charge, [node], victims)
        return promise(turns, asker, node, asked, victims, whole)

    def checked_gang(
        turns: GangTurns, askers: Askers, whole: Asker, joint: JointOutcome
    ) -> GangPromised:
        check_minimal(turns._desk, askers, whole.charge, joint.nodes, joint.victims)
        return promise_gang(turns, askers, whole, joint)

    with (
        patch.object(PodTurns, "promise", checked),
        patch.object(GangTurns, "_promised", checked_gang),
        patch.object(GangTurns, "_one", tried),
    ):
        ElasticQuotaPolicy(settings).plan(build(events), NOW_MS)


def check_minimal(
    desk: Desk, askers: Askers, charge: Amounts, nodes: Sequence[str], victims: Sequence[Holder]
) -> None:
    if desk.looks_later:  # the plugin may forget who is nominated
        assert is_enough(desk, askers, charge, nodes, victims)
    for each in victims:
        rest = [other for other in victims if other != each]
        assert not is_enough(desk, askers, charge, nodes, rest), f"{each.title} leaves in vain"


@hypothesis_settings(max_examples=scale_examples(80))
@given(events=worlds(plain=True), settings=st.sampled_from([OURS, PROTECTS_MIN]))
def test_several_nodes_are_no_worse_than_one(
    events: list[Event], settings: ElasticQuotaSettings
) -> None:
    for desk, asker, claim in claims(events, settings):
        for protects_min in (True, False):
            alone = claim._search(protects_min=protects_min).best()
            joint = JointClaim(desk, [asker], asker.charge, protects_min=protects_min)
            if alone is None or not alone.victims or not joint.is_exact:
                continue
            if joint.asked != "borrowers":
                continue  # who is over its min leaves to others what they wait for
            together = joint.solve()
            if together is None:  # who may fall below its min gives in the order of all nodes
                assert not protects_min
                continue
            assert joint.harm(together.victims) <= joint.harm(alone.victims)
            assert is_enough(desk, [asker], asker.charge, together.nodes, together.victims)


@pytest.mark.exhaustive
@hypothesis_settings(max_examples=scale_examples(80))
@given(events=worlds(plain=True), settings=across, exact=st.sampled_from([12, 2, 0]))
def test_where_other_nodes_are_not_looked_at_they_would_not_help(
    events: list[Event], settings: ElasticQuotaSettings, exact: int
) -> None:
    """Whether other nodes can help is told without looking for victims there."""
    with patch.object(cross_node, "EXACT", exact), patch.object(node_search, "EXACT", exact):
        for desk, asker, claim in claims(events, settings):
            mark = desk.mark()
            promised = PodTurns(desk, Refusals())._claim(claim)
            desk.roll_back(mark)
            if promised is None and claim.why_not() is None:
                assert least_harm(desk, [asker], asker.charge) is None


def claims(
    events: list[Event], settings: ElasticQuotaSettings
) -> Iterator[tuple[Desk, Asker, Claim]]:
    """Yield the claim of each pod that cannot start, as if it were the first to have its turn."""
    state = build(events)
    desk = Desk(state, settings, NOW_MS)
    for workload in state.workloads.values():
        desk.nominate_all(workload)
    for asker in waiting(desk):
        refusal = desk.admission.refusal(asker)
        if refusal is not None or desk.places.find(asker) is None:
            yield desk, asker, Claim(desk, asker, refusal)


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

    def noted(desk: Desk, askers: Askers, charge: Amounts) -> JointOutcome | None:
        found = least_harm(desk, askers, charge)
        if found is not None:
            helped.append(askers[0].workload.name)
        return found

    both = ElasticQuotaSettings(quirks=quirks, protect_min=protect_min)
    with (
        patch.object(pods, "least_harm", noted),
        patch.object(gangs, "least_harm", noted),
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
