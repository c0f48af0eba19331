"""Scenarios under KAI: a Queue for each inline queue, settings with past use, and fair shares."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Final

import msgspec

from fairlead.errors import SimulationError
from fairlead.manifest.core.usage_rules import is_shorter_than_a_sample
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assembly.advise_on_k import Advice, AskedJob, advice_on_k
from fairlead.manifest.kai.notation import KAI_AXES
from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.fields import choice_of
from fairlead.manifest.text.path import Path
from fairlead.model.axes import QueueName
from fairlead.model.duration import format_duration
from fairlead.model.quantity import is_gpu
from fairlead.model.state import ClusterState
from fairlead.model.workload import KaiJob
from fairlead.policy.contract import PolicyName, Settings
from fairlead.policy.kai.api import IncrementalShares
from fairlead.policy.kai.settings import KaiSettings
from fairlead.sim.engine.workload_maker import Address, AddressBook, known_queue
from fairlead.sim.scenario.form.scenario_form import PolicyForm, QueueForm
from fairlead.sim.scenario.rule_set import Effect, ExpectedJob, PeerSimulation, QueueBounds, RuleSet
from fairlead.sim.scenario.setting import (
    Overrides,
    Parse,
    given,
    parse_factor,
    parse_positive_duration,
)
from fairlead.sim.scenario.variant.objects import MadeObject
from fairlead.sim.scenario.variant.queue_tree import QueueTree
from fairlead.usage.settings import UsageSettings
from fairlead.usage.window import Sliding

_CHARGES: Final = {"all": "all", "over-quota": "over-quota"}
_NEEDS_USAGE: Final = frozenset({"kValue", "fetchInterval"})
"""Settings of past use that do not make it count."""


class KaiRuleSet(RuleSet):
    """The rules of KAI."""

    name: ClassVar[PolicyName] = "kai"
    settable: ClassVar[Mapping[str, tuple[Parse, str]]] = {
        "kValue": (parse_factor, "how much past use counts; 0: not at all"),
        "halfLife": (parse_positive_duration, "after it, use counts half"),
        "window": (parse_positive_duration, "how much of the past counts"),
        "charge": (
            lambda text: choice_of(text, _CHARGES),
            "which use counts, all or over-quota",
        ),
        "fetchInterval": (parse_positive_duration, "how often past use is asked for"),
    }
    usage_axes: ClassVar[tuple[str, ...]] = KAI_AXES
    keeps_non_preemptible: ClassVar[bool] = True
    fields_without_effect: ClassVar[tuple[str, ...]] = ("lendLimit",)

    def queue_objects(self, tree: QueueTree, form: PolicyForm | None) -> Iterator[MadeObject]:
        """Yield a Queue for each inline queue."""
        del form
        return kai_objects(tree)

    def overridden(self, settings: Settings, overrides: Overrides) -> KaiSettings:
        """Return *settings* with other rules of past use; a window makes past use count."""
        assert isinstance(settings, KaiSettings)
        window_ms = overrides.get("window")
        rules = given(
            window=None if window_ms is None else Sliding(window_ms),
            half_life_ms=overrides.get("halfLife"),
            charge=overrides.get("charge"),
        )
        usage = settings.usage
        if rules:
            usage = usage or UsageSettings()
            rules_now = msgspec.structs.replace(usage.rules, **rules)
            usage = msgspec.structs.replace(usage, rules=rules_now)
        k: Fraction | None = overrides.get("kValue")
        changes = given(k=k, faithful=overrides.get("faithful"))
        found = msgspec.structs.replace(settings, usage=usage, **changes)
        _refuse_short_window(found, window_ms)
        return found

    def address_book(self, state: ClusterState) -> AddressBook:
        """Return what finds a Queue by its name."""
        return kai_address_book(state)

    def queue_bounds(self, state: ClusterState) -> QueueBounds:
        """Return the limits; jobs that are not preemptible get no more than is guaranteed."""
        return _KaiBounds(state)

    def queue_advice(self, tree: QueueTree) -> Iterator[tuple[Path, str]]:
        """Yield the first resource of nodes that Queues have no quota of."""
        for queue in tree.queues:
            fields = (queue.guaranteed, queue.limit, queue.borrow_limit)
            for name in (name for amounts in fields for name in amounts or ()):
                if name in tree.most and name not in ("cpu", "memory") and not is_gpu(name):
                    yield tree.path(queue), f"found {name}, which queues under kai have no quota of"
                    return

    def usage(self, settings: Settings) -> UsageSettings | None:
        """Return how past use counts under *settings*; None: it does not."""
        assert isinstance(settings, KaiSettings)
        return settings.usage

    def usage_advice(
        self, settings: Settings, state: ClusterState, jobs: Sequence[ExpectedJob]
    ) -> Advice | None:
        """Return which k a job that is larger than the share of its queue takes."""
        assert isinstance(settings, KaiSettings)
        if settings.usage is None or settings.k <= 0:
            return None
        return advice_on_k(settings.k, state, _asked_jobs(state, jobs))

    def effect(self, settings: Settings, overrides: Overrides) -> Effect:
        """Return what changes a run: without usage, how much it would count does not."""
        assert isinstance(settings, KaiSettings)
        if settings.usage is None:
            return msgspec.structs.replace(settings, k=KaiSettings().k), None
        return settings, overrides.get("fetchInterval")

    def needs_usage(self, setting: str) -> bool:
        """Return whether *setting* has an effect only where past use counts."""
        return setting in _NEEDS_USAGE

    def rule_shares(self, state: ClusterState, settings: Settings) -> IncrementalShares:
        """Return KAI's fair shares with the past use that went into them."""
        assert isinstance(settings, KaiSettings)
        return IncrementalShares(state, settings.k)

    def is_simulator_file(self, document: Document) -> bool:
        """Return whether *document* is a file of KAI's time-based fairshare simulator."""
        from fairlead.sim.scenario.kai.simulator_file import is_kai_simulation

        return is_kai_simulation(document)

    def read_simulator_file(self, document: Document, findings: Findings) -> PeerSimulation:
        """Return what the file asks for."""
        from fairlead.sim.scenario.kai.simulator_file import read_kai_simulation

        return read_kai_simulation(document, findings)


class _KaiBounds(QueueBounds):
    def _bounds(self, queue: QueueName, axis: int, preemptible: bool) -> tuple[int | None, ...]:
        limits = self._state.queues[queue]
        return limits.ceiling[axis], None if preemptible else limits.guaranteed[axis]


def _asked_jobs(state: ClusterState, jobs: Iterable[ExpectedJob]) -> Iterator[AskedJob]:
    for job in jobs:
        amounts = tuple([job.requests.get(name, 0) for name in state.resources])
        of_pod = state.axes.charge(state.resources, amounts)[KAI_AXES.index("gpu")]
        most = of_pod * job.most_pods
        for queue in job.queues:
            yield AskedJob(
                job.name,
                QueueName(queue),
                most,
                of_pod * job.fewest_pods,
                frozenset({most} if job.is_fixed and most else ()),
                preemptible=job.preemptible,
            )


def _refuse_short_window(settings: KaiSettings, set_ms: Any) -> None:
    if set_ms is None or settings.usage is None:
        return
    rules = settings.usage.rules
    if is_shorter_than_a_sample(rules):
        raise SimulationError(
            f"the setting window: found {format_duration(set_ms)}, which is shorter than the "
            f"{format_duration(rules.resolution_ms)} between two samples: it may hold none; set a "
            "longer one, or write a finer resolution, or sum: exact, into usage"
        )


_UNITS: Final = {"cpu": 1, "memory": 10**6, "gpu": 1000}
"""Base units in one of the unit in which KAI writes a quota: millicores, megabytes, devices."""
_NO_BOUND: Final = -1


def kai_address_book(state: ClusterState) -> AddressBook:
    """Return what finds the Queue of a job by its name."""
    return lambda job: Address("", known_queue(state, job), KaiJob())


def kai_objects(tree: QueueTree) -> Iterator[MadeObject]:
    """Yield a Queue for each queue: what is free of quota is unlimited, and so is no limit."""
    for queue in tree.queues:
        spec: dict[str, Any] = {
            "resources": {axis: _resource(tree, queue, axis) for axis in _UNITS},
        }
        if queue.parent is not None:
            spec["parentQueue"] = queue.parent
        if queue.priority is not None:
            spec["priority"] = queue.priority
        if queue.min_runtime_ms is not None:
            length = format_duration(queue.min_runtime_ms)
            spec |= {"preemptMinRuntime": length, "reclaimMinRuntime": length}
        value: dict[str, Any] = {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": queue.name},
            "spec": spec,
        }
        yield MadeObject(value, tree.path(queue))


def _resource(tree: QueueTree, queue: QueueForm, axis: str) -> dict[str, Any]:
    is_shared = any(_axis_of(resource) == axis for resource in tree.shared)
    quota = _on_axis(tree.guaranteed(queue), axis) or Decimal(0)
    limit = _on_axis(tree.ceiling(queue), axis)
    return {
        "quota": quota if is_shared else _NO_BOUND,
        "limit": _NO_BOUND if limit is None else limit,
        "overQuotaWeight": queue.weight,
    }


def _on_axis(amounts: Mapping[str, int], axis: str) -> Decimal | None:
    named = [amount for resource, amount in amounts.items() if _axis_of(resource) == axis]
    return Decimal(sum(named)) / _UNITS[axis] if named else None


def _axis_of(resource: str) -> str:
    """Return what KAI counts *resource* as: devices of every vendor are one."""
    return "gpu" if is_gpu(resource) else resource
