"""What an explanation says was weighed is what the plan weighed, on random clusters."""

from collections import Counter

from hypothesis import given
from hypothesis import settings as hypothesis_settings

from fairlead.explain.elastic_quota.job import explain_elastic_job
from fairlead.explain.elastic_quota.turn import ElasticJobView, ElasticTurn, elastic_turn
from fairlead.model.events import Event
from fairlead.model.plan import Comparison, Evict, Reserve, Start, Wait
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.model.invariants import check_invariants
from tests.policy.elastic_quota.random_world import NOW_MS, build, random_settings, worlds
from tests.scale_examples import scale_examples

RULES = {"OverMax": "max", "PoolExhausted": "pool"}


def check_refusal(turn: ElasticTurn, rule: str, compared: Comparison) -> None:
    """Check that the rule which refused is told with the numbers of the reason, and is broken."""
    terms = {term.name: term.amount for term in compared.left}
    lines = [each for each in turn.rules if each.rule == rule]
    (line,) = [each for each in lines if each.numbers.axis == compared.axis]
    names = ("used", "used by all", "used by all who stay")
    assert line.numbers.amounts == {
        "used": next(terms[name] for name in names if name in terms),
        "nominated": terms.get("nominated", 0),
        "request": terms["request"],
        "bound": compared.right.amount,
    }
    assert not line.holds
    before = turn.rules[: turn.rules.index(line)]
    assert all(each.holds for each in before if each.rule == "max" != rule), "max goes first"


def check_turn(view: ElasticJobView, turn: ElasticTurn) -> None:
    seeks = view.seeks()
    assert Counter(each.what for each in turn.standings) == {
        each.what: each.count for each in turn.nodes if each.things == "nodes"
    }
    if isinstance(seeks, Start):
        assert all(line.holds for line in turn.rules if line.rule != "min")
    elif isinstance(seeks, Wait) and seeks.reason.code in RULES:
        check_refusal(turn, RULES[seeks.reason.code], seeks.reason.comparisons[0])
    elif isinstance(seeks, Wait):
        assert turn.nodes == tuple(each for each in seeks.reason.tallies if each.things != "pods")
        assert (
            not any(each.is_choice(turn.looks_later) for each in turn.tries) or len(turn.pods) > 1
        )
    elif isinstance(seeks, Reserve) and view.victims and view.workload.pod_count() == 1:
        check_victims(view, seeks, turn)


def check_victims(view: ElasticJobView, seeks: Reserve, turn: ElasticTurn) -> None:
    """Check that who is evicted for one pod is who would leave the node that it gets.

    Unless no node alone is enough.
    """
    choices = [each for each in turn.tries if each.is_choice(turn.looks_later)]
    if choices:
        best = min(choices, key=lambda each: each.cost)
        assert best.node == seeks.placements[0].node
        leaving = {(each.workload, pod) for each in view.victims for pod in each.pods}
        assert leaving == {each.key for each in best.victims if not each.is_terminating}


@hypothesis_settings(max_examples=scale_examples(60))
@given(events=worlds(), settings=random_settings)
def test_numbers_are_those_of_the_plan(events: list[Event], settings: ElasticQuotaSettings) -> None:
    state = build(events)
    plan = ElasticQuotaPolicy(settings).plan(state, NOW_MS)
    for job in state.workloads:
        view = ElasticJobView(state, settings, job, NOW_MS)
        turn = elastic_turn(view)
        assert (turn is None) == (view.seeks() is None)
        own = [each for each in view.decisions if not isinstance(each, Evict)]
        if turn is not None and len(own) == 1:  # else earlier pods of it changed the numbers
            check_turn(view, turn)
        explanation = explain_elastic_job(state, settings, job, NOW_MS)
        assert explanation.answer.startswith(f"{job} ")
    check_invariants(state)
    assert ElasticQuotaPolicy(settings).plan(state, NOW_MS) == plan, "nothing was changed"
