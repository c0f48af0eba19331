"""Reads a file that can be simulated, or everything that is wrong with it, each with its line.

It is a scenario of ours, or a file of the simulator of a peer.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Final, NamedTuple

import msgspec

from fairlead.errors import Finding, Severity
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Document, read_documents
from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.duration import format_duration
from fairlead.model.execution.after_plan import let_foreign_pods_leave
from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.policy.contract import PolicyName, Settings
from fairlead.sim.scenario.check.spec import (
    check_spec,
    evicted_all_the_same,
    inexpressible,
    pods_of_nothing,
    policy_forms,
    quotas_of_nothing,
    too_large,
)
from fairlead.sim.scenario.check.trace import check_trace
from fairlead.sim.scenario.check.work import (
    RENAME,
    JobNames,
    LackKind,
    Offer,
    PodRoom,
    QueueRoom,
    Room,
    check_work,
    gangs_of,
)
from fairlead.sim.scenario.form.scenario_form import (
    API_VERSION,
    KIND,
    PolicyForm,
    ScenarioForm,
    SpecForm,
)
from fairlead.sim.scenario.read.convert_work import WorkConverter
from fairlead.sim.scenario.read.read_form import read_form
from fairlead.sim.scenario.rule_set import PeerSimulation, RuleSet, ScenarioWarning
from fairlead.sim.scenario.rule_sets import RULE_SETS, WITH_USAGE
from fairlead.sim.scenario.scenario import (
    JobList,
    Scenario,
    TraceWork,
    Variant,
    WorkPart,
    is_endless,
)
from fairlead.sim.scenario.variant.nodes import ErrorReport, check_changes, take_out_later_nodes
from fairlead.sim.scenario.variant.objects import reported_where_named
from fairlead.sim.scenario.variant.prepare import load_variant, settings_of, usage_path
from fairlead.sim.scenario.variant.queue_tree import QueueTree

_MOST_KINDS: Final = 5  # that are listed of a file with other objects
_ROOM: Final[Mapping[LackKind, str]] = {
    "pod": "ask for less in each pod, or add a node that holds it",
    "gang": "ask for fewer pods or less in each, or add nodes",
    "queue": "ask for less, or let the queue and its parents hold more",
}


class SimulationFile(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file: one of the two, or neither exactly when some finding is an error."""

    scenario: Scenario | None = None
    peer: PeerSimulation | None = None
    findings: tuple[Finding, ...] = ()


def read_scenario(path: str, also: Sequence[PolicyName] = ()) -> SimulationFile:
    """Read the scenario in the file at *path*, and the manifests that it names.

    It is read under the rule sets that it lists, and under those of *also*, which become variants
    of the same name if it lists none of that rule set. Never raises for what a file holds. Traces
    are read to see whether their jobs can run. Cost: linear in the files, in manifests once for
    each rule set.
    """
    findings = Findings()
    return scenario_of(read_documents([path], findings), path, also, findings)


def scenario_of(
    documents: list[Document],
    path: str,
    also: Sequence[PolicyName],
    findings: Findings,
    asked: Sequence[str] = (),
) -> SimulationFile:
    """Return the scenario in *documents*, which were read from *path* with these *findings*.

    Where *asked* names variants or rule sets, only their results are checked for being misleading.
    """
    document = _only_scenario(documents, path, findings)
    if document is None or findings.has_errors:
        return SimulationFile(findings=tuple(findings))
    folder = str(FilePath(path).parent)
    reading = _Reading(document, folder, tuple(also), findings, frozenset(asked))
    scenario = reading.scenario()
    reported = (*findings, *reading.of_objects)
    has_errors = any(finding.severity == "error" for finding in reported)
    assert has_errors or scenario is not None
    in_order = sorted(
        reported, key=lambda each: (each.file != document.source.file, each.line or 0)
    )
    return SimulationFile(
        scenario=None if has_errors else scenario, findings=tuple(dict.fromkeys(in_order))
    )


def _only_scenario(documents: list[Document], path: str, findings: Findings) -> Document | None:
    found = [each for each in documents if each.value.get("kind") == KIND]
    if len(found) == 1 == len(documents):
        return found[0]
    fix = f"write one object with apiVersion: {API_VERSION} and kind: {KIND}"
    if documents:
        # What is no scenario is one too many, or else the last one is.
        first = next((each for each in documents if each.value.get("kind") != KIND), documents[-1])
        message = f"found {_count(found, 'scenario')} in {_count(documents, 'object')}, "
        message += f"of {_kinds(documents)}, expected one alone"
        named = first.value.get("kind")
        guess = did_you_mean(named, [KIND]) if isinstance(named, str) and not found else ""
        first.source.report(findings, "error", "unknown-kind", ("kind",), message, guess or fix)
    elif not findings.has_errors:  # else what is wrong is reported
        message = "found no object, expected a scenario"
        findings.add("error", "unknown-kind", file=path, message=message, fix=fix)
    return None


def _count(items: Sequence[object], noun: str) -> str:
    return f"{len(items):,} {noun}" + ("" if len(items) == 1 else "s")


def _kinds(documents: Sequence[Document]) -> str:
    """Return which kinds there are, as far as that is short."""
    kinds = [each.value.get("kind") for each in documents]
    named = list(dict.fromkeys(quote(kind) if isinstance(kind, str) else "none" for kind in kinds))
    more = f" and {len(named) - _MOST_KINDS:,} more" if len(named) > _MOST_KINDS else ""
    return f"kind {', '.join(named[:_MOST_KINDS])}{more}"


class _Loaded(NamedTuple):
    """The cluster under one rule set: as it begins, and all nodes that ever are."""

    variant: Variant
    state: ClusterState
    nodes: Mapping[str, Node]
    settings: Settings
    usage_path: Path  # where it is said how past use counts


class _Reading:
    """One file on its way to a scenario."""

    def __init__(
        self,
        document: Document,
        folder: str,
        also: tuple[PolicyName, ...],
        findings: Findings,
        asked: frozenset[str],
    ) -> None:
        self._document = document
        self._source = document.source
        self._folder = folder
        self._also = also
        self._findings = findings
        self._asked = asked
        self.of_objects: list[Finding] = []  # about its objects and its traces
        self._log_jobs: dict[str, int] = {}

    def scenario(self) -> Scenario | None:
        """Return the scenario; None as soon as going on makes no sense."""
        form = read_form(self._document, ScenarioForm, self._findings)
        spec = form.spec
        if not self._findings.has_errors:
            check_spec(spec, self._error)
        if self._findings.has_errors:
            return None
        self._warn(quotas_of_nothing(spec))
        loaded = self._load_all(spec)
        if not loaded:
            return None
        variants = tuple(each.variant for each in loaded)
        self._warn(pods_of_nothing(spec.work, _resources_of_nodes(loaded[0])))
        work = self._work(spec, loaded)
        if spec.duration_ms is None and any(map(is_endless, work)):
            message = "found work without end and no duration, expected one"
            self._error(("spec", "duration"), "missing-field", message, "add duration, such as 7d")
        if not self._findings.has_errors:
            for path, message, fix in too_large(spec, work, {}):
                self._error(path, "out-of-range", message, fix)
        return Scenario(
            name=form.metadata.name,
            file=self._source.file,
            folder=self._folder,
            spec=spec,
            variants=variants,
            work=work,
            log_jobs=self._log_jobs,
        )

    def _load_all(self, spec: SpecForm) -> list[_Loaded]:
        """Return each rule set with the cluster under it; none at all if one cannot be had."""
        forms: list[PolicyForm | None] = [*policy_forms(spec)] or [None]
        forms += [PolicyForm(policy=policy) for policy in self._also]
        listed = len(forms) - len(self._also)
        loaded: list[_Loaded] = []
        for place, form in enumerate(forms):
            if place >= listed and form and _has(loaded, form.policy):
                continue
            result = load_variant(spec, self._source, self._folder, form, place)
            self.of_objects += reported_where_named(
                result.findings, spec, self._folder, self._source
            )
            assembled = result.assembled
            if assembled is None:
                continue
            named = form or PolicyForm(policy=assembled.policy)
            self._advise(spec, named)
            state = assembled.state
            nodes = self._check_state(spec, state)
            found = Variant(name=named.name or named.policy, policy=named.policy, form=named)
            self._warn_of_results(spec, state, found)
            settings = settings_of(assembled.settings, named, {})
            path = usage_path(spec, form, place)
            loaded.append(_Loaded(found, state, nodes, settings, path))
        if spec.usage is not None and not any(_has(loaded, policy) for policy in WITH_USAGE):
            message = "found usage and no policy that looks at past use"
            fix = f"add the policy {' or '.join(WITH_USAGE)}"
            self._report("advice", ("spec", "usage"), "no-effect", message, fix)
        is_whole = not any(each.severity == "error" for each in self.of_objects)
        return loaded if is_whole and not self._findings.has_errors else []

    def _advise(self, spec: SpecForm, form: PolicyForm) -> None:
        if spec.queues:
            tree = QueueTree(spec.queues, spec.cluster)
            for path, message in inexpressible(tree, RULE_SETS[form.policy]):
                fix = f"remove it, or do not compare by it under {form.policy}"
                self._report("advice", path, "no-effect", message, fix)

    def _check_state(self, spec: SpecForm, state: ClusterState) -> Mapping[str, Node]:
        """Check what is known of the cluster only when its objects are read; return all nodes."""
        if state.workloads:
            message = f"found {len(state.workloads)} workloads in the manifests, expected none: "
            message += "all work of a simulation is listed under work"
            fix = "name only manifests with queues, nodes and settings"
            self._error(("spec", "manifests"), "contradiction", message, fix)
        if not state.nodes:
            message = "found no nodes, expected some"
            self._error(("spec", "cluster", "nodes"), "missing-field", message, "add nodes")
        let_foreign_pods_leave(state)
        nodes = take_out_later_nodes(spec.cluster, state)
        check_changes(spec.cluster, [name for name in nodes if name in state.nodes], self._error)
        return nodes

    def _work(self, spec: SpecForm, loaded: list[_Loaded]) -> tuple[WorkPart, ...]:
        first = loaded[0].state
        capacity = dict(zip(first.resources, first.capacity, strict=True))
        converter = WorkConverter(self._folder, capacity, spec.start_ms, self._error)
        parts: dict[Path, WorkPart] = {}
        for place, form in enumerate(spec.work):
            path: Path = ("spec", "work", place)
            part = converter.part(form, path)
            if part is not None:
                parts[path] = part
        names = JobNames(converter.job_places, parts, spec.duration_ms)
        self._check_work(parts, converter.job_places, loaded, names)
        if not self._findings.has_errors:
            self._advise_on_usage(parts, converter.job_places, loaded)
        for clash in names.clashes():
            self._error(clash.path, "duplicate-entry", clash.message, RENAME)
        self._advise_late_jobs(spec, parts.values(), converter.job_places)
        return tuple(parts.values())

    def _advise_late_jobs(
        self, spec: SpecForm, parts: Iterable[WorkPart], job_places: Mapping[str, Path]
    ) -> None:
        """Report listed jobs that are submitted after the end."""
        for part in parts:
            for job in part.jobs if isinstance(part, JobList) else ():
                if spec.duration_ms is not None and job.submit_ms >= spec.duration_ms:
                    end = format_duration(spec.duration_ms)
                    message = f"found a job that comes at {format_duration(job.submit_ms)}, when "
                    message += f"the simulation is over after {end}"
                    path = (*job_places[job.name], "at")
                    self._report("advice", path, "no-effect", message, "write a longer duration")

    def _check_work(
        self,
        parts: Mapping[Path, WorkPart],
        job_places: Mapping[str, Path],
        loaded: list[_Loaded],
        names: JobNames,
    ) -> None:
        """Check whether jobs can run on the cluster."""
        offers = [
            Offer(RULE_SETS[variant.policy].queues_for_jobs(state), state.resources)
            for variant, state, *_ in loaded
        ]
        room = self._room(loaded)
        for path, part in parts.items():
            if isinstance(part, TraceWork):
                checked = check_trace(part, offers, room, names)
                self.of_objects += checked.findings
                self._log_jobs[part.name] = checked.jobs
                continue
            for offer in offers:
                before = len(self._findings)
                check_work(part, offer, path, job_places, self._error)
                if len(self._findings) > before:
                    break  # the other rule sets would say the same
            else:
                for each in gangs_of(part, path, job_places):
                    for lack in room.lacks(each.gang, each.queues):
                        message = f"found {lack.what}: {lack.waits}"
                        self._report("warning", each.path, "unusable", message, _ROOM[lack.kind])

    def _advise_on_usage(
        self,
        parts: Mapping[Path, WorkPart],
        job_places: Mapping[str, Path],
        loaded: Sequence[_Loaded],
    ) -> None:
        """Report past use that counts in vain for jobs of the file, where all nodes are known."""
        has_log = any(isinstance(part, TraceWork) for part in parts.values())
        jobs = [
            each.expected()._replace(is_fixed=False) if has_log else each.expected()
            for path, part in parts.items()
            for each in gangs_of(part, path, job_places)
        ]
        for each in loaded:
            if self._is_asked_for(each.variant) and len(each.nodes) == len(each.state.nodes):
                rule_set = RULE_SETS[each.variant.policy]
                advice = rule_set.usage_advice(each.settings, each.state, jobs)
                if advice is not None:
                    self._report("advice", each.usage_path, "ill-matched", *advice)

    def _room(self, loaded: Sequence[_Loaded]) -> Room:
        """Return what bounds gangs; nodes are the same under all rules that see any."""
        nodes = next(
            (
                PodRoom(each.nodes.values(), each.state)
                for each in loaded
                if RULE_SETS[each.variant.policy].sees_nodes
            ),
            None,
        )
        queues: dict[PolicyName, QueueRoom] = {}
        for variant, state, *_ in loaded:
            if variant.policy not in queues and self._is_asked_for(variant):
                queues[variant.policy] = QueueRoom(state, RULE_SETS[variant.policy])
        return Room(nodes, queues)

    def _warn_of_results(self, spec: SpecForm, state: ClusterState, variant: Variant) -> None:
        """Report how the results of *variant* would mislead, if they are asked for."""
        if self._is_asked_for(variant):
            rule_set = RULE_SETS[variant.policy]
            self._warn(rule_set.warnings(spec, state))
            self._warn(evicted_all_the_same(spec.work, rule_set))

    def _is_asked_for(self, variant: Variant) -> bool:
        return not self._asked or bool(self._asked & {variant.name, variant.policy})

    def _warn(self, doubts: Iterable[ScenarioWarning]) -> None:
        for path, code, message, fix in doubts:
            self._report("warning", path, code, message, fix)

    @property
    def _error(self) -> ErrorReport:
        return lambda path, code, message, fix: self._report("error", path, code, message, fix)

    def _report(self, severity: Severity, path: Path, code: str, message: str, fix: str) -> None:
        self._source.report(self._findings, severity, code, path, message, fix)


def _resources_of_nodes(loaded: _Loaded) -> set[str]:
    """Return what some node has, of all that ever are; they are the same under all rules."""
    resources = loaded.state.resources
    amounts = (node.allocatable for node in loaded.nodes.values())
    return {
        name for each in amounts for name, amount in zip(resources, each, strict=True) if amount
    }


def _has(loaded: Sequence[_Loaded], policy: PolicyName) -> bool:
    return any(each.variant.policy == policy for each in loaded)


def read_simulation(
    path: str, also: Sequence[PolicyName] = (), asked: Sequence[str] = ()
) -> SimulationFile:
    """Read the file at *path*, whichever of the two it is, by its content.

    *also* is as for `read_scenario`, and *asked* as for `scenario_of`. Never raises for what a file
    holds. It is read once, so it may be a pipe.
    """
    findings = Findings()
    if FilePath(path).is_dir():
        message = "found a folder, expected the file of one scenario"
        findings.add("error", "unreadable", file=path, message=message, fix="name a file in it")
        return SimulationFile(findings=tuple(findings))
    documents = read_documents([path], findings)
    reader = simulator_of(documents)
    if reader is not None:
        peer = reader.read_simulator_file(documents[0], findings)
        return SimulationFile(peer=None if findings.has_errors else peer, findings=tuple(findings))
    result = scenario_of(documents, path, also, findings, asked)
    reported = (
        _with_fix_for_one_file(each) if each.file == path else each for each in result.findings
    )
    return msgspec.structs.replace(result, findings=tuple(reported))


def _with_fix_for_one_file(finding: Finding) -> Finding:
    """Return *finding* with a fix for a command that takes one file, no folder or stdin."""
    if finding.code != "unreadable" or finding.line is not None:
        return finding
    fix = "name the file of a scenario, one that exists and that you may read"
    return msgspec.structs.replace(finding, fix=fix)


def simulator_of(documents: Sequence[Document]) -> RuleSet | None:
    """Return the rule set whose simulator has files such as the one of *documents*."""
    if len(documents) != 1:
        return None
    return next((each for each in RULE_SETS.values() if each.is_simulator_file(documents[0])), None)


def is_scenario(document: Document) -> bool:
    """Return whether *document* says that it is a scenario."""
    value = document.value
    return value.get("kind") == KIND and value.get("apiVersion") == API_VERSION
