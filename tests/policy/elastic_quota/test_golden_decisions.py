"""What our own mode decides in each recorded case, kept so that nobody changes it unawares.

``pytest --refresh-golden`` writes the file anew; the difference then shows what a change does.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.model.plan import Decision, Evict, Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.conformance.elastic_engine import NOW_MS, workload_of
from tests.conformance.elastic_world import state_of

VECTORS = Path(__file__).parents[2] / "vectors"
GOLDEN = Path(__file__).parent / "golden_decisions.json"


def test_our_own_mode_decides_as_it_did(pytestconfig: pytest.Config) -> None:
    decided = {case["name"]: decisions(case) for case in recorded()}
    if pytestconfig.getoption("--refresh-golden"):
        GOLDEN.write_text(json.dumps(decided, indent=1) + "\n", encoding="utf-8")
    assert decided == json.loads(GOLDEN.read_text(encoding="utf-8"))


def recorded() -> list[dict[str, Any]]:
    names = ("elastic-quota-public.json", "elastic-quota-crafted.json")
    return [
        case
        for name in names
        for case in json.loads((VECTORS / name).read_text(encoding="utf-8"))["cases"]
    ]


def decisions(case: dict[str, Any]) -> list[str]:
    """Return what is decided about the incoming pod, and who gives way to it."""
    state = state_of(case)
    plan = ElasticQuotaPolicy(ElasticQuotaSettings()).plan(state, NOW_MS)
    incoming = workload_of(state, case["incoming"]).name
    return [
        told(state, each)
        for each in plan.decisions
        if each.workload == incoming or (isinstance(each, Evict) and each.beneficiary == incoming)
    ]


def told(state: ClusterState, decision: Decision) -> str:
    code = decision.reason.code
    match decision:
        case Start() | Reserve():
            nodes = ", ".join(str(each.node) for each in decision.placements)
            return f"{type(decision).__name__.lower()} on {nodes}: {code}"
        case Evict():
            places = state.runs[decision.workload].pods
            nodes = ", ".join(str(places[pod].node) for pod in decision.pods)
            return f"evict {decision.workload} from {nodes}: {code}"
        case _:
            claims = [each.reason.code for each in getattr(decision, "claims", ())]
            return f"wait: {', '.join([code, *claims])}"
