"""Fuzzes the door of plans: ``python -m tests.fuzz.plans --seconds 10 --seed 1``.

The same objects give the same plan, read once or twice, and a plan leaves the state as it was. Each
decision can be written out and its job explained.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from random import Random
from typing import Final

from fairlead.errors import FairleadError
from fairlead.explain.plan.report import decision_documents, plan_rows
from fairlead.explain.rule_set import rule_set_of
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.load import load
from fairlead.model.plan import Plan
from fairlead.policy.contract import make_policy
from fairlead.store.metrics.exposition import exposition
from fairlead.store.metrics.registry import state_families
from tests.fuzz.campaign import run
from tests.fuzz.mutate import broken_documents, example_documents, text_of
from tests.model.invariants import check_invariants
from tests.model.test_state import facts

NOW_MS: Final = 1_795_000_000_000
EXPLAINED: Final = 3  # jobs of a plan


def make(random: Random) -> str:
    """Return the objects of an example with some values changed."""
    return text_of(broken_documents(random, random.choice(example_documents())))


def check(text: str) -> None:
    """Raise AssertionError for a plan that breaks a law, and whatever planning raises."""
    try:
        first, second = _assembled(text), _assembled(text)
    except FairleadError:
        return
    if first is None or second is None or not first.state.queues:
        return
    known = facts(first.state)
    policy = make_policy(first.settings)
    plan = policy.plan(first.state, NOW_MS)
    assert facts(first.state) == known, "planning changed the state"
    check_invariants(first.state)
    assert plan == make_policy(second.settings).plan(second.state, NOW_MS), "read twice, it differs"
    assert plan == policy.plan(first.state, NOW_MS), "planned twice, it differs"
    for answer in _answers(first, plan):
        with suppress(FairleadError):  # there may be no nodes, and so nothing to divide
            answer()
    assert facts(first.state) == known, "explaining changed the state"


def _answers(assembled: Assembled, plan: Plan) -> Iterator[Callable[[], object]]:
    """Yield what prints the plan, its state, and the first jobs and queues."""
    state, settings = assembled.state, assembled.settings
    yield partial(plan_rows, state, plan.decisions)
    yield partial(decision_documents, state, plan.decisions)
    yield lambda: exposition(state_families(state, settings, None))
    rules = rule_set_of(settings)
    for job in [name for name in state.workloads if name not in state.runs][:EXPLAINED]:
        yield partial(rules.explain_job, state, settings, job, NOW_MS)
    for queue in list(state.queues)[:EXPLAINED]:
        yield partial(rules.explain_queue, state, settings, None, queue)


def _assembled(text: str) -> Assembled | None:
    return load([], texts=[("fuzz.yaml", text)]).assembled


if __name__ == "__main__":
    run("plans", make, check)
