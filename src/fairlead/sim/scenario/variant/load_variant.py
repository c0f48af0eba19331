"""The cluster of a scenario under one of its rule sets, read as the objects that users write."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from fairlead.manifest.load import LoadResult, load
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path
from fairlead.model.duration import format_duration
from fairlead.policy.contract import PolicyName, Settings
from fairlead.sim.scenario.form.scenario_form import PolicyForm, SpecForm, UsageForm, WindowForm
from fairlead.sim.scenario.rule_sets import DEFAULT, RULE_SETS, WITH_USAGE
from fairlead.sim.scenario.setting import Overrides, given
from fairlead.sim.scenario.variant.nodes import node_objects
from fairlead.sim.scenario.variant.objects import MadeObject, manifest_file
from fairlead.sim.scenario.variant.queue_tree import QueueTree


def load_variant(
    spec: SpecForm, source: Source, folder: str, form: PolicyForm | None, place: int
) -> LoadResult:
    """Read the cluster anew under the rules of *form*, the one at *place*; None: those of queues.

    *source* is the scenario, at which findings about its objects point. Never raises for what a
    file holds. Cost: linear in the input.
    """
    policy = form.policy if form is not None else (DEFAULT if spec.queues else None)
    return load(
        [manifest_file(folder, name) for name in spec.manifests],
        policy=policy,
        made=[each.document(source) for each in _objects(spec, policy, form, place)],
    )


def settings_of(settings: Settings, form: PolicyForm, overrides: Overrides) -> Settings:
    """Return *settings* with what *form* says beside its section, and then *overrides*.

    Raises `SimulationError` if these are refused in a file.
    """
    rule_set = RULE_SETS[form.policy]
    said = given(faithful=form.faithful or None, fairSharing=form.fair_sharing)
    return rule_set.overridden(rule_set.overridden(settings, said), overrides)


def usage_form(spec: SpecForm, form: PolicyForm | None) -> UsageForm | None:
    """Return how past use counts: as the rules say, else as the scenario does."""
    return form.usage if form is not None and form.usage is not None else spec.usage


def _objects(
    spec: SpecForm, policy: PolicyName | None, form: PolicyForm | None, place: int
) -> Iterator[MadeObject]:
    yield from node_objects(spec.cluster)
    if spec.queues and policy is not None:
        yield from RULE_SETS[policy].queue_objects(QueueTree(spec.queues, spec.cluster), form)
    usage = usage_form(spec, form)
    if policy in (*WITH_USAGE, None) and usage is not None:
        is_own = form is not None and form.usage is not None
        origin: Path = ("spec", "policies", place, "usage") if is_own else ("spec", "usage")
        yield _settings("usage", _usage_section(usage), origin)
    section = None if form is None else RULE_SETS[form.policy].section
    if form is not None and form.settings and section is not None:
        origin = ("spec", "policies", place, "settings")
        # Said in the section, so that whatever in it departs from the peer is refused.
        said = {"faithful": True} if form.faithful else {}
        yield _settings(section, {**form.settings, **said}, origin)


def _settings(section: str, value: Mapping[str, Any], origin: Path) -> MadeObject:
    made: dict[str, Any] = {
        "apiVersion": "fairlead/v1",
        "kind": "Settings",
        "spec": {section: value},
    }
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
