"""A scenario under one rule set and one seed, ready to run."""

from fairlead.errors import ManifestError
from fairlead.model.execution.after_plan import let_foreign_pods_leave
from fairlead.model.state import ClusterState
from fairlead.policy.contract import Policy, Settings, make_policy
from fairlead.sim.engine.faults import Faults, OrderFaults
from fairlead.sim.engine.job_progress import Delays
from fairlead.sim.engine.live_jobs import Listener
from fairlead.sim.engine.past_use import PastUse, UsageInterest
from fairlead.sim.engine.simulation import Simulation, Watcher
from fairlead.sim.engine.simulation_rules import NodeChange, SimulationRules
from fairlead.sim.engine.workload_maker import WorkloadMaker
from fairlead.sim.scenario.form.scenario_form import CYCLE_MS, OrderFaultsForm, SpecForm
from fairlead.sim.scenario.rule_sets import RULE_SETS
from fairlead.sim.scenario.scenario import Scenario, Variant
from fairlead.sim.scenario.variant.load_variant import load_variant, settings_of, usage_form
from fairlead.sim.scenario.variant.nodes import node_changes, take_out_later_nodes
from fairlead.sim.scenario.variant.objects import source_without_lines
from fairlead.sim.scenario.work_part import source_of
from fairlead.sim.work.source import AllWork
from fairlead.usage.entries import Entry
from fairlead.usage.settings import MINUTE_MS, PrometheusSource


class Prepared:
    """All parts of one run. Time passes in them: each is for one simulation only."""

    def __init__(
        self,
        *,
        state: ClusterState,
        settings: Settings,
        policy: Policy,
        maker: WorkloadMaker,
        work: AllWork,
        rules: SimulationRules,
        node_changes: tuple[NodeChange, ...],
        past_use: PastUse | None,
    ) -> None:
        """Hold the parts; `prepare` makes them."""
        self.state = state
        self.settings = settings
        self.policy = policy
        self.maker = maker
        self.work = work
        self.rules = rules
        self.node_changes = node_changes
        self.past_use = past_use

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
        faults=_faults(spec),
    )


def _faults(spec: SpecForm) -> Faults | None:
    if spec.faults is None:
        return None
    return Faults(
        bind=_order_faults(spec.faults.bind),
        evict=_order_faults(spec.faults.evict),
        patience_ms=spec.faults.patience_ms,
        seed=spec.seed,
    )


def _order_faults(form: OrderFaultsForm) -> OrderFaults:
    return OrderFaults(
        refused=float(form.refused),
        late=float(form.late),
        lost=float(form.lost),
        delay_ms=form.delay_ms,
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
