"""The engine answers as the plain restatement of the rules does, whatever quirks are on."""

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.conformance.elastic_answers import CaseAnswer
from tests.conformance.elastic_engine import engine_answer
from tests.policy.elastic_quota.plain_rule import plain_answer
from tests.policy.elastic_quota.random_case import Json, cases
from tests.policy.elastic_quota.random_world import ONE_NODE, quirks
from tests.scale_examples import scale_examples

some_settings = st.sampled_from([FAITHFUL, ONE_NODE, replace(ONE_NODE, protect_min=True)])
any_settings = st.builds(
    ElasticQuotaSettings,
    quirks=quirks,
    cross_node_preemption=st.just(False),
    protect_min=st.booleans(),
)


def in_any_order(answer: CaseAnswer) -> dict[str, object]:
    """Return an answer without the order in which deleted and cleared pods are listed."""
    found = asdict(answer)
    if answer.claim is not None:
        claim = asdict(answer.claim)
        found["claim"] = claim | {key: set(claim[key]) for key in ("deleted", "cleared")}
    return found


@hypothesis_settings(max_examples=scale_examples(120))
@given(case=cases(), settings=some_settings | any_settings)
def test_the_engine_answers_as_the_text(case: Json, settings: ElasticQuotaSettings) -> None:
    plain = in_any_order(plain_answer(case, settings))
    engine = in_any_order(engine_answer(case, settings))
    # Who was taken off and put back is only asked of a case that has a record.
    for answer in (plain, engine):
        del answer["accounting"]
    assert engine == plain
