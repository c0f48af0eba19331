"""Runs a scenario under one rule set and one seed, and writes what it came to.

A run keeps marks by which runs of the same work are recognised: hashes of all that decides which
jobs come. Two files of one name can hold other work, and two that differ can hold the same. So the
mark of a source is made of what the source says after all settings, and of the lines of its log.
Rules, queues and nodes are left out: they are what runs are compared for. Where a load is a part of
the cluster, the cluster is part of what the source says.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

import msgspec

from fairlead.sim.engine.events import SimulationEvent
from fairlead.sim.measures.follow_shares import ShareFollower
from fairlead.sim.measures.measures import Measures
from fairlead.sim.results.about import RunAbout, WorkMarks
from fairlead.sim.results.eviction_table import Phrase, code_of
from fairlead.sim.results.files import check_texts
from fairlead.sim.results.run_writer import RunWriter
from fairlead.sim.run.history import history_mark
from fairlead.sim.scenario.rule_sets import RULE_SETS
from fairlead.sim.scenario.scenario import (
    Scenario,
    TraceWork,
    Variant,
    WorkPart,
    jobs_to_come,
    measured_queues,
)
from fairlead.sim.scenario.settings import with_settings
from fairlead.sim.scenario.variant.prepare import Prepared, prepare
from fairlead.sim.traces.trace_lines import trace_lines
from fairlead.sim.work.chance import is_random
from fairlead.sim.work.description import ArrivingWork, Backlog
from fairlead.usage.entries import Entry


class RunObserver(Protocol):
    """Sees how far a run is, and may stop it."""

    def begin(self, run: str, start_ms: int, until_ms: int | None, jobs: int | None) -> None:
        """Take notice that a run begins; None: its end, or its number of jobs, is not known."""

    def may_go_on(self, now_ms: int, finished: int) -> bool:
        """Take notice of the time and of how many jobs are done; False stops the run."""


class Unobserved(RunObserver):
    """Lets a run go on to its end."""

    def begin(self, run: str, start_ms: int, until_ms: int | None, jobs: int | None) -> None:
        """Take no notice."""

    def may_go_on(self, now_ms: int, finished: int) -> bool:
        """Let it go on."""
        del now_ms, finished
        return True


class RunOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to run. Plain data: it can be sent to another process."""

    scenario: Scenario
    variant: str  # one of the scenario's, by name
    seed: int
    settings: Mapping[str, str] = {}  # set by name, as they are written
    history: tuple[Entry, ...] = ()  # what was used before the start


def run_variant(
    order: RunOrder, folder: Path, *, phrase: Phrase = code_of, observer: RunObserver | None = None
) -> RunAbout:
    """Run *order* and write *folder*, which is called after the run.

    Same order, same bytes in every file. A run that *observer* stops is written like any other, and
    says that it is not complete. Raises a `FairleadError` for what cannot be simulated or written.
    """
    scenario = with_settings(order.scenario, {**order.settings, "seed": str(order.seed)})
    variant = scenario.by_name[order.variant]
    prepared = prepare(scenario, variant, order.seed, order.history)
    resources = prepared.state.resources
    writer = RunWriter(folder, resources, phrase)
    try:
        run = _Run(scenario, variant, prepared, writer)
        return run.to_end(order, folder.name, observer or Unobserved())
    except BaseException:
        writer.give_up()
        raise


class _Run:
    """One simulation with all that listens to it."""

    def __init__(
        self, scenario: Scenario, variant: Variant, prepared: Prepared, writer: RunWriter
    ) -> None:
        rules = prepared.rules
        horizon_ms = None if rules.until_ms is None else rules.until_ms - rules.start_ms
        self._scenario = scenario
        self._work = work_marks(scenario)
        self._variant = variant
        self._rules = rules
        self._writer = writer
        self._resources = prepared.state.resources
        self._parents = measured_queues(scenario, prepared.state)
        check_texts(self._parents)
        self._measures = Measures(
            self._resources,
            self._parents,
            start_ms=rules.start_ms,
            horizon_ms=horizon_ms,
            period_ms=rules.period_ms,
        )
        self._shares = ShareFollower(
            self._measures,
            prepared.state,
            RULE_SETS[variant.policy].rule_shares(prepared.state, prepared.settings),
            start_ms=rules.start_ms,
            horizon_ms=horizon_ms,
        )
        self._simulation = prepared.simulation(self._listen, self._shares)

    def to_end(self, order: RunOrder, name: str, observer: RunObserver) -> RunAbout:
        """Let time pass, and write what it came to."""
        simulation, writer = self._simulation, self._writer
        rules = self._rules
        observer.begin(name, rules.start_ms, rules.until_ms, jobs_to_come(self._scenario))
        is_complete = simulation.run(lambda: observer.may_go_on(simulation.now_ms, writer.finished))
        summary, series = self._measures.end(simulation.now_ms)
        about = RunAbout(
            name=name,
            scenario=self._scenario.name,
            variant=self._variant.name,
            policy=self._variant.policy,
            seed=order.seed,
            is_random=is_random_run(self._scenario),
            settings=dict(order.settings),
            history=history_mark(order.history),
            complete=is_complete,
            start_ms=rules.start_ms,
            end_ms=simulation.now_ms,
            cycles=simulation.cycles,
            resources=self._resources,
            parents=self._parents,
            bucket_ms=series.bucket_ms,
            work=self._work,
        )
        return writer.end(about, summary, series)

    def _listen(self, event: SimulationEvent) -> None:
        self._measures(event)
        self._writer(event)


def is_random_run(scenario: Scenario) -> bool:
    """Return whether chance decides anything; without it every seed gives the same run."""
    described = (part for part in scenario.work if isinstance(part, ArrivingWork | Backlog))
    return scenario.spec.faults is not None or any(map(is_random, described))


_LINES_AT_ONCE: Final = 1000


def work_marks(scenario: Scenario) -> WorkMarks:
    """Return the marks of *scenario*, with whose seed the same jobs come wherever they are equal.

    Same marks on every machine. Cost: reading each log once; raises `TraceError` if one is not
    there.
    """
    return WorkMarks(
        duration_ms=scenario.spec.duration_ms,
        sources={part.name: _mark(part) for part in scenario.work},
    )


def _mark(part: WorkPart) -> str:
    if isinstance(part, TraceWork):
        # Where a log lies changes nothing, nor whether it is gzipped.
        part = msgspec.structs.replace(part, path=_lines_mark(Path(part.path)))
    plain = msgspec.to_builtins(part, builtin_types=(Decimal,), str_keys=True, enc_hook=_exact)
    return sha256(json.dumps(plain, sort_keys=True, default=_exact).encode()).hexdigest()


def _lines_mark(path: Path) -> str:
    seen = sha256()
    lines = trace_lines(path)
    while some := list(islice(lines, _LINES_AT_ONCE)):
        some.append("")  # so that the last one has its end too
        seen.update("\n".join(some).encode("utf-8", errors="surrogatepass"))
    return seen.hexdigest()


def _exact(number: object) -> str:
    """Return a number such that 1.0 and 1 are the same."""
    assert isinstance(number, Decimal | Fraction)
    return str(Fraction(number))
