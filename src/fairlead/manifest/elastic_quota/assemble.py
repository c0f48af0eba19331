"""From all objects under ElasticQuotas in one input to a cluster state, with advice on them."""

from collections.abc import Iterable, Mapping

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.assembly_rules import OF_FILES, AssemblyRules
from fairlead.manifest.collection import Collection
from fairlead.manifest.core.live_pods import is_live
from fairlead.manifest.elastic_quota.assemble_checks import (
    advise_on_empty_pool,
    advise_on_overcommitment,
    one_per_namespace,
    warn_of_unlisted,
)
from fairlead.manifest.elastic_quota.assemble_pod_checks import warn_of_gpu_shares
from fairlead.manifest.elastic_quota.counted_resources import is_counted
from fairlead.manifest.finding import Findings
from fairlead.manifest.objects import (
    ByResource,
    ElasticQuotaObject,
    NodeObject,
    PluginPodGroupObject,
    PodObject,
)
from fairlead.manifest.translate.mirror import Mirror
from fairlead.manifest.translate.take_all import take_all
from fairlead.manifest.translate.translator import Translator
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings


def assemble_elastic_quota(
    objects: Collection, findings: Findings, rules: AssemblyRules = OF_FILES
) -> Assembled | None:
    """Return the state that the objects describe, or None if any finding of the run is an error.

    Objects may be listed in any order. Cost: about one look at every object, and sorting.
    """
    translator = Translator("elastic-quota", rules)
    take_all(translator, objects, findings, {ElasticQuotaObject: one_per_namespace})
    warn_of_gpu_shares(translator.mirror.of(PodObject).values(), findings)
    translator.settle(findings)
    if findings.has_errors:
        return None
    settings = translator.settings
    assert isinstance(settings, ElasticQuotaSettings), settings
    _advise(translator.mirror, settings, findings)
    return Assembled(state=translator.state, settings=settings)


def _advise(mirror: Mirror, settings: ElasticQuotaSettings, findings: Findings) -> None:
    quotas = {each.namespace: each for each in mirror.of(ElasticQuotaObject).values()}
    asked = _asked_by_namespace(mirror.of(PodObject).values(), quotas)
    for namespace, quota in quotas.items():
        warn_of_unlisted(quota, asked[namespace], settings.quirks, findings)
    groups = mirror.of(PluginPodGroupObject).values()
    advise_on_empty_pool(list(quotas.values()), _with_least(asked, groups), findings)
    nodes = list(mirror.of(NodeObject).values())
    advise_on_overcommitment(list(quotas.values()), nodes, findings)


def _asked_by_namespace(
    pods: Iterable[PodObject], quotas: Mapping[str, ElasticQuotaObject]
) -> dict[str, dict[str, int]]:
    """Return what the live pods of each namespace with a quota ask for, as far as it is counted."""
    asked: dict[str, dict[str, int]] = {namespace: {} for namespace in quotas}
    for pod in pods:
        if pod.namespace in asked and is_live(pod):
            own = asked[pod.namespace]
            for resource, amount in pod.requests.items():
                if is_counted(resource):
                    own[resource] = own.get(resource, 0) + amount
    return asked


def _with_least(
    asked: Mapping[str, ByResource], groups: Iterable[PluginPodGroupObject]
) -> dict[str, ByResource]:
    """Return *asked* with what gangs say they need at least, be it that no pod asks for it."""
    found: dict[str, ByResource] = dict(asked)
    for group in groups:
        if group.namespace in found:
            found[group.namespace] = {**(group.min_resources or {}), **found[group.namespace]}
    return found
