"""A gang as one that asks: for the sum of what its pods ask for."""

from collections.abc import Sequence

from fairlead.model.axes import Amounts
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods
from fairlead.policy.elastic_quota.quota.asker import Asker
from fairlead.policy.elastic_quota.quota.charges import Charges


def as_one(state: ClusterState, charges: Charges, askers: Sequence[Asker]) -> Asker:
    """Return the first of *askers*, pods of one workload, with the charge of all of them.

    That is no less than minResources of their group says; what it has already counts towards that.
    """
    named = frozenset([at for each in askers for at in each.named])
    return askers[0]._replace(charge=_charge(state, charges, askers), named=named)


def _charge(state: ClusterState, charges: Charges, askers: Sequence[Asker]) -> Amounts:
    workload = askers[0].workload
    total = [sum(amounts) for amounts in zip(*[each.charge for each in askers], strict=True)]
    own = workload.extension
    if isinstance(own, ElasticPods) and own.min_resources is not None:
        least = list(state.axes.charge(state.resources, own.min_resources))
        run = state.runs.get(workload.name)
        for pod in run.pods if run else ():
            held = charges.of(workload, workload.pod_sets.set_index[pod]).amounts
            least = [a - b for a, b in zip(least, held, strict=True)]
        total = list(map(max, total, least))
    return tuple(total)
