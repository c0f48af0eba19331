"""Reads worlds under ElasticQuotas from examples, and tells what plans say of them."""

import io
from collections.abc import Sequence

from fairlead.explain.plan.cycles import plan_cycles
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.load import LoadResult, load
from fairlead.model.plan import Decision, Evict, Reserve, Start, Wait
from fairlead.model.quantity import show_amount
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.model.invariants import check_invariants
from tests.shared_folder import ROOT

FOLDER = ROOT / "examples"
NOW_MS = 1_794_819_600_000  # 2026-11-16T09:00:00Z


def read(*files: str, but: Sequence[str] = ()) -> Assembled:
    """Read files or folders of examples; no findings but those with a code of *but*."""
    return _checked(load([str(FOLDER / file) for file in files], strict=True), but)


def read_text(text: str) -> Assembled:
    """Read a world from its text, which has no findings."""
    return _checked(load(["-"], strict=True, stdin=io.BytesIO(text.encode())), ())


def _checked(result: LoadResult, but: Sequence[str]) -> Assembled:
    assert [finding.code for finding in result.findings] == list(but)
    assert result.assembled is not None
    check_invariants(result.assembled.state)
    return result.assembled


def own_settings(assembled: Assembled) -> ElasticQuotaSettings:
    """Return the settings that a world brings, or the default."""
    assert isinstance(assembled.settings, ElasticQuotaSettings)
    return assembled.settings


def decisions(assembled: Assembled, settings: ElasticQuotaSettings | None = None) -> list[str]:
    """Return what one plan says, each decision in a few words; the state is left as it was."""
    policy = ElasticQuotaPolicy(settings or own_settings(assembled))
    return [told(each) for each in policy.plan(assembled.state, NOW_MS).decisions]


def follow(assembled: Assembled, settings: ElasticQuotaSettings | None = None) -> list[list[str]]:
    """Return what plan after plan says, until one changes nothing; the state is its end."""
    policy = ElasticQuotaPolicy(settings or own_settings(assembled))
    plans = []
    for plan in plan_cycles(policy, assembled.state, NOW_MS, 20):
        plans.append([told(each) for each in plan.decisions])
        check_invariants(assembled.state)
    assert all(line.startswith("wait ") for line in plans[-1]), "no rest after 20 plans"
    return plans


def told(decision: Decision) -> str:
    """Return a decision with its code: ``start a: WithinMin``, ``evict b for a: MinTakenBack``.

    Who waits is told with what stopped its claims.
    """
    name, code = decision.workload, decision.reason.code
    match decision:
        case Start():
            return f"start {name}: {code}"
        case Evict():
            return f"evict {name} for {decision.beneficiary}: {code}"
        case Reserve():
            nodes = ",".join([str(each.node) for each in decision.placements])
            return f"reserve {name} on {nodes} until {' '.join(decision.waits_for)} left: {code}"
        case Wait():
            return " ".join([f"wait {name}: {code}", *[c.reason.code for c in decision.claims]])
        case _:
            raise AssertionError(decision)


def used(state: ClusterState, resource: str) -> dict[str, str]:
    """Return what each namespace with a quota holds of a resource; who is leaving does too."""
    at = [axis.resource for axis in state.axes.axes].index(resource)
    sums = {str(name): state.sums[name] for name in sorted(state.queues)}
    return {
        name: show_amount(resource, own.allocated[at] + own.leaving[at])
        for name, own in sums.items()
    }


def running(state: ClusterState) -> dict[str, str]:
    """Return who has which node, by the name of the workload."""
    return {
        str(name): ",".join(sorted([str(placed.node) for placed in run.pods.values()]))
        for name, run in sorted(state.runs.items())
        if run.pods
    }
