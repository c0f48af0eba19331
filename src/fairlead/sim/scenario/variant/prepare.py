"""A scenario under one rule set: its cluster read as objects, and all parts of a run made ready."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec.structs import replace

from fairlead.errors import ManifestError
from fairlead.manifest.load import LoadResult, load
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path
from fairlead.manifest.translate.family import OF_SCENARIOS
from fairlead.model.duration import format_duration
from fairlead.model.execution.after_plan import let_foreign_pods_leave
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Policy, PolicyName, Settings, make_policy
from fairlead.sim.engine.job_progress import Delays
from fairlead.sim.engine.live_jobs import Listener
from fairlead.sim.engine.past_use import PastUse, UsageInterest
from fairlead.sim.engine.simulation import Simulation, Watcher
from fairlead.sim.engine.simulation_rules import NodeChange, SimulationRules
from fairlead.sim.engine.workload_maker import WorkloadMaker
from fairlead.sim.scenario.form.scenario_form import (
    CYCLE_MS,
    PolicyForm,
    SpecForm,
    UsageForm,
    WindowForm,
)
from fairlead.sim.scenario.rule_sets import DEFAULT, RULE_SETS, WITH_USAGE
from fairlead.sim.scenario.scenario import Scenario, Variant, source_of
from fairlead.sim.scenario.setting import Overrides, given
from fairlead.sim.scenario.variant.nodes import node_changes, node_objects, take_out_later_nodes
from fairlead.sim.scenario.variant.objects import MadeObject, manifest_file, source_without_lines
from fairlead.sim.scenario.variant.queue_tree import QueueTree
from fairlead.sim.work.source import AllWork
from fairlead.usage.entries import Entry
from fairlead.usage.settings import MINUTE_MS, PrometheusSource


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
        rules=OF_SCENARIOS,
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


def usage_path(spec: SpecForm, form: PolicyForm | None, place: int) -> Path:
    """Return where *spec* says how past use counts for *form*, its policy at *place*."""
    if form is not None and form.usage is not None:
        return ("spec", "policies", place, "usage")
    return ("spec", "usage" if spec.usage is not None else "manifests")


def _objects(
    spec: SpecForm, policy: PolicyName | None, form: PolicyForm | None, place: int
) -> Iterator[MadeObject]:
    yield from node_objects(spec.cluster)
    if spec.queues and policy is not None:
        yield from RULE_SETS[policy].queue_objects(QueueTree(spec.queues, spec.cluster), form)
    usage = usage_form(spec, form)
    if policy in (*WITH_USAGE, None) and usage is not None:
        yield _settings("usage", _usage_section(usage), usage_path(spec, form, place))
    section = None if form is None else RULE_SETS[form.policy].section
    if form is not None and form.settings and section is not None:
        origin: Path = ("spec", "policies", place, "settings")
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


class Prepared(NamedTuple):
    """All parts of one run. Time passes in them: each is for one simulation only."""

    state: ClusterState
    settings: Settings
    policy: Policy
    maker: WorkloadMaker
    work: AllWork
    rules: SimulationRules
    node_changes: tuple[NodeChange, ...]
    past_use: PastUse | None

    def simulation(self, listener: Listener, watcher: Watcher | None = None) -> Simulation:
        """Return the simulation at its start; *watcher* is called before time passes."""
        return Simulation(
            self.state,
            self.policy,
            self.maker,
            self.work,
            self.rules,
            listener,
            past_use=self.past_use,
            node_changes=self.node_changes,
            watcher=watcher,
        )


def prepare(
    scenario: Scenario, variant: Variant, seed: int | None = None, history: tuple[Entry, ...] = ()
) -> Prepared:
    """Make *scenario* ready to run under the rules of *variant*.

    *seed* takes the place of that of the scenario, and *history* is what was used before the start.
    Same arguments and files, same run. Raises `ManifestError` if the manifests have changed so that
    they cannot be read any more. Cost: reading them.
    """
    spec = scenario.spec
    place = scenario.variants.index(variant)
    source = source_without_lines(scenario.file)
    loaded = load_variant(spec, source, scenario.folder, variant.form, place)
    if loaded.assembled is None:
        raise ManifestError(loaded.findings)
    state = loaded.assembled.state
    let_foreign_pods_leave(state)  # no event of a simulation would
    nodes = take_out_later_nodes(spec.cluster, state)
    settings = settings_of(loaded.assembled.settings, variant.form, scenario.overrides)
    rule_set = RULE_SETS[variant.policy]
    chosen = spec.seed if seed is None else seed
    sources = [source_of(part, chosen, spec.start_ms) for part in scenario.work]
    return Prepared(
        state=state,
        settings=settings,
        policy=make_policy(settings),
        maker=WorkloadMaker(state, rule_set.address_book(state)),
        work=AllWork(sources),
        rules=_rules(spec),
        node_changes=node_changes(spec.cluster, nodes, spec.start_ms),
        past_use=_past_use(scenario, variant, state, settings, history),
    )


def _rules(spec: SpecForm) -> SimulationRules:
    until_ms = None if spec.duration_ms is None else spec.start_ms + spec.duration_ms
    at_most_every_ms = spec.cycle.at_most_every_ms
    return SimulationRules(
        start_ms=spec.start_ms,
        until_ms=until_ms,
        at_most_every_ms=CYCLE_MS if at_most_every_ms is None else at_most_every_ms,
        every_ms=spec.cycle.every_ms,
        look_again_ms=spec.cycle.look_again_ms,
        grace_ms=spec.pods.grace_ms,
        delays=Delays(start_up_ms=spec.pods.start_up_ms, restart_ms=spec.pods.restart_ms),
        faults=None if spec.faults is None else replace(spec.faults, seed=spec.seed),
    )


def _past_use(
    scenario: Scenario,
    variant: Variant,
    state: ClusterState,
    settings: Settings,
    history: tuple[Entry, ...],
) -> PastUse | None:
    usage = RULE_SETS[variant.policy].usage(settings)
    if usage is None:
        return None
    every_ms: int | None = scenario.overrides.get("fetchInterval")
    form = usage_form(scenario.spec, variant.form)
    source = usage.source
    if every_ms is None and form is not None:
        every_ms = form.fetch_interval_ms
    if every_ms is None and isinstance(source, PrometheusSource):
        every_ms = source.fetch_interval_ms
    return PastUse(state, UsageInterest(usage.rules, every_ms or MINUTE_MS), history)
