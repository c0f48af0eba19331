"""History is opt-in: while a state knows of none, no setting about it changes a decision."""

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import QueueName
from fairlead.model.events import Event, UsageChanged
from fairlead.policy.contract import make_policy
from fairlead.policy.kai.fair_share.shares import KaiShares
from fairlead.policy.kai.settings import KaiSettings
from fairlead.usage.settings import StoreSource, UsageRules, UsageSettings
from tests.examples.kai_world import FOLDER, NOW_MS, WORLDS
from tests.manifest.reading import load_or_raise
from tests.policy.kai.random_worlds import build, worlds
from tests.scale_examples import scale_examples

USAGE = UsageSettings(rules=UsageRules(half_life_ms=3_600_000), source=StoreSource(path="past.db"))


def plan_of(events: list[Event], kai: KaiSettings) -> str:
    """Every decision with its reasons, as a text, so that nothing is equal that reads otherwise."""
    return repr(make_policy(kai).plan(build(events), NOW_MS))


@settings(max_examples=scale_examples(30), deadline=None)
@given(worlds(), st.fractions(0, 100), st.booleans())
def test_settings_alone_change_no_plan(events: list[Event], k: Fraction, is_faithful: bool) -> None:
    plain = KaiSettings(faithful=is_faithful)
    configured = KaiSettings(faithful=is_faithful, k=k, usage=USAGE)
    assert plan_of(events, configured) == plan_of(events, plain)
    assert plan_of([*events, UsageChanged({})], configured) == plan_of(events, plain)


@pytest.mark.parametrize("world", WORLDS)
def test_settings_alone_change_no_plan_of_an_example(world: str) -> None:
    plans = []
    for usage, k in ((None, None), (USAGE, Fraction(9))):
        assembled = load_or_raise([str(FOLDER / world)])
        kai = assembled.settings
        assert isinstance(kai, KaiSettings)
        assert kai.usage is None
        kai = msgspec.structs.replace(kai, usage=usage, k=kai.k if k is None else k)
        plans.append(repr(make_policy(kai).plan(assembled.state, NOW_MS)))
    assert plans[0] == plans[1]


def test_history_would_change_the_shares_of_an_example() -> None:
    """So that the laws above are about something: with usage known, k moves shares."""
    assembled = load_or_raise([str(FOLDER / "monday")])
    state = assembled.state

    def shares(k: int) -> list[tuple[int, ...]]:
        return [row.fair_share for row in KaiShares(state, state.total(), Fraction(k)).rows()]

    before = shares(1)
    state.apply(UsageChanged({QueueName("research"): (0, 0, 900_000_000)}))
    assert shares(0) == before
    assert shares(1) != before
