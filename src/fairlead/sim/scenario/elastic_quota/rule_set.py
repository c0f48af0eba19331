"""Scenarios under ElasticQuota: one quota for each leaf, in a namespace of the same name.

What may be borrowed is what is guaranteed to some queue. So what no queue is guaranteed becomes the
min of a namespace in which nothing ever runs.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from fairlead.manifest.text.path import Path
from fairlead.model.quantity import format_amount
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods
from fairlead.policy.contract import PolicyName, Settings
from fairlead.policy.elastic_quota.settings import (
    AS_THE_PLUGIN,
    FAITHFUL,
    ElasticQuotaSettings,
)
from fairlead.sim.engine.workload_maker import Address, AddressBook, known_queue
from fairlead.sim.scenario.form.scenario_form import PolicyForm
from fairlead.sim.scenario.rule_set import RuleSet
from fairlead.sim.scenario.setting import Overrides, Parse, given, parse_word
from fairlead.sim.scenario.variant.objects import MadeObject
from fairlead.sim.scenario.variant.queue_tree import QueueTree, counted


class ElasticQuotaRuleSet(RuleSet):
    """The rules of ElasticQuota."""

    name: ClassVar[PolicyName] = "elastic-quota"
    settable: ClassVar[Mapping[str, tuple[Parse, str]]] = {
        "protectMin": (parse_word, "whether the min is protected"),
        "crossNodePreemption": (parse_word, "may take victims on several nodes"),
    }
    section: ClassVar[str | None] = "elasticQuota"
    fields_without_effect: ClassVar[tuple[str, ...]] = (
        "weight",
        "priority",
        "lendLimit",
        "minRuntime",
    )

    def queue_objects(self, tree: QueueTree, form: PolicyForm | None) -> Iterator[MadeObject]:
        """Yield an ElasticQuota for each leaf, and one for what no queue is guaranteed."""
        del form
        return elastic_quota_objects(tree)

    def overridden(self, settings: Settings, overrides: Overrides) -> ElasticQuotaSettings:
        """Return *settings* with other options."""
        assert isinstance(settings, ElasticQuotaSettings)
        faithful = overrides.get("faithful")
        if faithful:
            settings = msgspec.structs.replace(FAITHFUL, scoring=settings.scoring)
        elif faithful is False and settings.quirks == AS_THE_PLUGIN:
            settings = ElasticQuotaSettings(scoring=settings.scoring)
        changes = given(
            protect_min=overrides.get("protectMin"),
            cross_node_preemption=overrides.get("crossNodePreemption"),
        )
        return msgspec.structs.replace(settings, **changes)

    def address_book(self, state: ClusterState) -> AddressBook:
        """Return what finds the namespace that is called as the queue of a job."""
        return lambda job: Address(job.queue, known_queue(state, job), ElasticPods())

    def queue_advice(self, tree: QueueTree) -> Iterator[tuple[Path, str]]:
        """Yield that quotas form no tree."""
        inner = [queue for queue in tree.queues if not tree.is_leaf(queue)]
        if inner:
            count = counted(len(inner), "queue")
            message = f"found {count} with others below, of which elastic-quota knows nothing"
            yield tree.path(inner[0]), message


def elastic_quota_objects(tree: QueueTree) -> Iterator[MadeObject]:
    """Yield a quota for each leaf, and one for what no queue is guaranteed, if anything is."""
    free = {name: amount for name, amount in tree.most.items() if name not in tree.shared}
    for queue in filter(tree.is_leaf, tree.queues):
        least = {**tree.guaranteed(queue), **free}
        spec = {"min": _written(least)}
        ceiling = tree.ceiling(queue)
        if ceiling:
            # The plugin takes what a max leaves out for 0, so nothing is left out.
            unbounded = {name: max(tree.most[name], least.get(name, 0)) for name in tree.most}
            spec["max"] = _written({**unbounded, **ceiling})
        unwritten: tuple[Path, ...] = tuple(("spec", "min", name) for name in free)
        yield MadeObject(_quota(queue.name, spec), tree.path(queue), unwritten=unwritten)
    promised: dict[str, int] = {}
    for queue in filter(tree.is_leaf, tree.queues):
        for name, amount in tree.guaranteed(queue).items():
            promised[name] = promised.get(name, 0) + amount
    rest = {
        name: tree.capacity.get(name, 0) - promised.get(name, 0)
        for name in tree.shared
        if tree.capacity.get(name, 0) > promised.get(name, 0)
    }
    if rest:
        yield MadeObject(_quota(tree.own_name("left-over"), {"min": _written(rest)}), None)


def _written(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: format_amount(name, amount) for name, amount in amounts.items()}


def _quota(namespace: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "quota", "namespace": namespace},
        "spec": spec,
    }
