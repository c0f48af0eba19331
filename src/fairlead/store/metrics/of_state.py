"""One way in for all rule sets: what a state has to tell to Prometheus."""

from collections.abc import Collection
from fractions import Fraction

from fairlead.errors import FairleadError
from fairlead.model.axes import Amounts
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Settings
from fairlead.policy.elastic_quota.api import ElasticShares
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.kai.api import KaiShares
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kueue.api import KueueShares
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.store.metrics.elastic_quota import elastic_quota_families
from fairlead.store.metrics.family import Family
from fairlead.store.metrics.kai import kai_families
from fairlead.store.metrics.kueue import kueue_families


def state_families(
    state: ClusterState,
    settings: Settings,
    capacity: Amounts | None,
    *,
    unknown: Collection[str] = (),
) -> list[Family]:
    """Return the metrics of *state* under its peer's names; *capacity* stands in for the nodes'.

    Past use of resources of which it is *unknown* is left out: 0 would say that nobody used any.
    Cost: that of the rule set's shares, twice where past use counts.
    """
    match settings:
        case KaiSettings():
            return _kai(state, settings, capacity, unknown)
        case KueueSettings():
            return kueue_families(state, KueueShares(state), fair_sharing=settings.fair_sharing)
        case ElasticQuotaSettings():
            return elastic_quota_families(state, ElasticShares(state, settings))


def _kai(
    state: ClusterState,
    settings: KaiSettings,
    capacity: Amounts | None,
    unknown: Collection[str],
) -> list[Family]:
    if capacity is None and not state.nodes:
        raise FairleadError(
            "there is nothing to divide, because the input has no Node: add the nodes, or state "
            "the capacity: --capacity gpu=64,cpu=512,memory=4Ti"
        )
    total = state.total() if capacity is None else capacity
    without_history = KaiShares(state, total, Fraction(0)) if state.usage else None
    return kai_families(state, KaiShares(state, total, settings.k), without_history, unknown)
