"""The cluster of a scenario under one of its rule sets, read as the objects that users write."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from fairlead.errors import SimulationError
from fairlead.manifest.core.usage_rules import is_shorter_than_a_sample
from fairlead.manifest.load import LoadResult, load
from fairlead.manifest.text.path import Path
from fairlead.model.duration import format_duration
from fairlead.policy.contract import PolicyName, Settings
from fairlead.policy.kai.settings import KaiSettings
from fairlead.sim.scenario.elastic_quota_objects import elastic_quota_objects
from fairlead.sim.scenario.form.scenario_form import PolicyForm, SpecForm, UsageForm, WindowForm
from fairlead.sim.scenario.kai_objects import kai_objects
from fairlead.sim.scenario.kueue_objects import kueue_objects
from fairlead.sim.scenario.policy_overrides import PolicyOverrides, overridden
from fairlead.sim.scenario.variant.nodes import node_objects
from fairlead.sim.scenario.variant.objects import MadeObject, manifest_file, text_of
from fairlead.sim.scenario.variant.queue_tree import QueueTree

_QUEUES: Final[Mapping[PolicyName, Callable[[QueueTree], Iterator[MadeObject]]]] = {
    "kai": kai_objects,
    "kueue": kueue_objects,
    "elastic-quota": elastic_quota_objects,
}
_SECTIONS: Final[Mapping[PolicyName, str]] = {
    "kueue": "kueue",
    "elastic-quota": "elasticQuota",
}
_FAIR_SHARING: Final[Mapping[str, Any]] = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "fairSharing": {},
}


class LoadedVariant(msgspec.Struct, frozen=True, kw_only=True):
    """What was read, and the objects that were made for it, in the text called ``text_name``."""

    result: LoadResult
    text_name: str
    objects: tuple[MadeObject, ...]


def load_variant(
    spec: SpecForm, file: str, folder: str, form: PolicyForm | None, place: int
) -> LoadedVariant:
    """Read the cluster anew under the rules of *form*, the one at *place*; None: those of queues.

    Never raises for what a file holds. Cost: linear in the input.
    """
    policy = form.policy if form is not None else ("kai" if spec.queues else None)
    objects = tuple(_objects(spec, policy, form, place))
    text_name = f"{file} under {policy or 'its rules'}"
    result = load(
        [manifest_file(folder, name) for name in spec.manifests],
        policy=policy,
        texts=[(text_name, text_of(objects))] if objects else [],
    )
    return LoadedVariant(result=result, text_name=text_name, objects=objects)


def settings_of(settings: Settings, form: PolicyForm, overrides: PolicyOverrides) -> Settings:
    """Return *settings* with what *form* says beside its section, and then *overrides*.

    Raises `SimulationError` if these are refused in a file.
    """
    said = PolicyOverrides(faithful=form.faithful or None, fair_sharing=form.fair_sharing)
    found = overridden(overridden(settings, said), overrides)
    _refuse_short_window(found, overrides.window_ms)
    return found


def _refuse_short_window(settings: Settings, set_ms: int | None) -> None:
    if set_ms is None or not isinstance(settings, KaiSettings) or settings.usage is None:
        return
    rules = settings.usage.rules
    if is_shorter_than_a_sample(rules):
        raise SimulationError(
            f"the setting window: found {format_duration(set_ms)}, which is shorter than the "
            f"{format_duration(rules.resolution_ms)} between two samples: it may hold none; set a "
            "longer one, or write a finer resolution, or sum: exact, into usage"
        )


def usage_form(spec: SpecForm, form: PolicyForm | None) -> UsageForm | None:
    """Return how past use counts: as the rules say, else as the scenario does."""
    return form.usage if form is not None and form.usage is not None else spec.usage


def _objects(
    spec: SpecForm, policy: PolicyName | None, form: PolicyForm | None, place: int
) -> Iterator[MadeObject]:
    yield from node_objects(spec.cluster)
    if spec.queues and policy is not None:
        yield from _QUEUES[policy](QueueTree(spec.queues, spec.cluster))
        if policy == "kueue" and (form is None or form.fair_sharing is not False):
            # Else the weights of inline queues would mean nothing.
            yield MadeObject(_FAIR_SHARING, ("spec", "queues"))
    usage = usage_form(spec, form)
    if policy in ("kai", None) and usage is not None:
        is_own = form is not None and form.usage is not None
        origin: Path = ("spec", "policies", place, "usage") if is_own else ("spec", "usage")
        yield _settings("usage", _usage_section(usage), origin)
    if form is not None and form.settings and form.policy in _SECTIONS:
        origin = ("spec", "policies", place, "settings")
        # Said here, whatever in the section departs from the namesake is refused beside it.
        said = {"faithful": True} if form.faithful else {}
        yield _settings(_SECTIONS[form.policy], {**form.settings, **said}, origin)


def _settings(section: str, value: Mapping[str, Any], origin: Path) -> MadeObject:
    made = {"apiVersion": "fairlead/v1", "kind": "Settings", "spec": {section: value}}
    return MadeObject(made, origin, below=("spec", section))


def _usage_section(usage: UsageForm) -> dict[str, Any]:
    window = usage.window
    if isinstance(window, int):
        window = WindowForm(length_ms=window)
    section: dict[str, Any] = {
        "k": usage.k,
        "halfLife": _duration(usage.half_life_ms),
        "resolution": _duration(usage.resolution_ms),
        "charge": usage.charge,
        "sum": usage.sum,
    }
    if window is not None:
        section["window"] = {
            "type": window.type,
            "length": _duration(window.length_ms),
            "start": None if window.start_ms is None else _moment(window.start_ms),
            "cron": window.cron,
            "timeZone": window.time_zone,
        }
    return section


def _duration(length_ms: int | None) -> str | None:
    return None if length_ms is None else format_duration(length_ms)


def _moment(at_ms: int) -> str:
    seconds, milliseconds = divmod(at_ms, 1000)
    moment = datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{milliseconds:03}Z"
