"""What in a scenario cannot be, is too large, or has no effect, before any of its objects is made.

The bounds on size are far beyond useful simulations. What exceeds them is a mistake: bytes where
devices were meant, or milliseconds where days were.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.duration import format_duration
from fairlead.model.quantity import show_amount
from fairlead.sim.fields import as_written, short_name
from fairlead.sim.results.about import run_name_problem
from fairlead.sim.scenario.form.scenario_form import (
    PolicyForm,
    QueueForm,
    SpecForm,
    UsageForm,
    WindowForm,
    WorkForm,
    written_jobs,
)
from fairlead.sim.scenario.rule_set import RuleSet, ScenarioWarning
from fairlead.sim.scenario.rule_sets import RULE_SETS
from fairlead.sim.scenario.scenario import WorkPart
from fairlead.sim.scenario.setting import Overrides
from fairlead.sim.scenario.variant.nodes import ErrorReport, most_capacity
from fairlead.sim.scenario.variant.queue_tree import QUEUES, QueueTree, counted, tree_defects
from fairlead.sim.work.arrivals import HOUR_MS, Arrivals, At, Every, Load
from fairlead.sim.work.description import MOST_JOBS, ArrivingWork, expected_jobs
from fairlead.store.text.bad_lines import END_OF_TIME_MS

_SPEC: Final[Path] = ("spec",)
_SEPARATORS: Final = frozenset(",:")


def check_spec(spec: SpecForm, report: ErrorReport) -> None:
    """Report everything that is wrong with *spec* as it is written."""
    if spec.start_ms % HOUR_MS:
        message = "found a start within an hour, expected a full one: patterns go by hours"
        report((*_SPEC, "start"), "out-of-range", message, "write minutes and seconds as 00")
    _check_years(spec, report)
    _check_cycle(spec, report)
    _check_faults(spec, report)
    _check_cluster(spec, report)
    for wrong in tree_defects([(queue.name, queue.parent) for queue in spec.queues]):
        report((*QUEUES, wrong.place, wrong.field), wrong.code, wrong.message, wrong.fix)
    _check_names(spec, report)
    _check_policies(spec, report)


def _check_years(spec: SpecForm, report: ErrorReport) -> None:
    """Report times outside of the years that the simulator knows."""
    starts = [((*_SPEC, "start"), spec.start_ms)]
    for path, usage in _usages(spec):
        window = usage.window
        if isinstance(window, WindowForm) and window.start_ms is not None:
            starts.append(((*path, "window", "start"), window.start_ms))
    for path, start_ms in starts:
        if not 0 <= start_ms < END_OF_TIME_MS:
            message = "found a start outside the years 1970 to 2200 (UTC), expected one within them"
            report(path, "out-of-range", message, "write such as 2026-01-05T00:00:00Z")


def _usages(spec: SpecForm) -> Iterator[tuple[Path, UsageForm]]:
    """Yield wherever something is said of past use."""
    if spec.usage is not None:
        yield (*_SPEC, "usage"), spec.usage
    for place, each in enumerate(spec.policies):
        if isinstance(each, PolicyForm) and each.usage is not None:
            yield (*_SPEC, "policies", place, "usage"), each.usage


def _check_cycle(spec: SpecForm, report: ErrorReport) -> None:
    if spec.cycle.every_ms is not None and spec.cycle.at_most_every_ms is not None:
        message = "found both every and atMostEvery, expected one of them: a fixed period, or the "
        message += "least time between cycles that are held when something changed"
        report((*_SPEC, "cycle"), "contradiction", message, "keep one of them")


def _check_faults(spec: SpecForm, report: ErrorReport) -> None:
    """Report chances that add up to more than 1."""
    if spec.faults is None:
        return
    for name, form in (("bind", spec.faults.bind), ("evict", spec.faults.evict)):
        total = form.refused + form.late + form.lost
        if total > 1:
            message = f"found chances that add up to {total}, expected 1 at most: a part of all "
            message += "orders, such as 0.05"
            report((*_SPEC, "faults", name), "out-of-range", message, "lower them")


def _check_cluster(spec: SpecForm, report: ErrorReport) -> None:
    if bool(spec.queues) == bool(spec.manifests):
        found = "both queues and manifests" if spec.queues else "neither queues nor manifests"
        code = "contradiction" if spec.queues else "missing-field"
        report(_SPEC, code, f"found {found}, expected one of them", "write one of them")
    if spec.queues and not spec.cluster.nodes:
        message = "found queues and no nodes, expected some"
        report((*_SPEC, "cluster", "nodes"), "missing-field", message, "add a group of nodes")


def _check_names(spec: SpecForm, report: ErrorReport) -> None:
    seen: set[str] = set()
    for place, work in enumerate(spec.work):
        if work.name in seen:
            message = f"found a second source {quote(work.name)}, expected a name each"
            report(
                (*_SPEC, "work", place, "name"), "duplicate-entry", message, "rename one of them"
            )
        seen.add(work.name)
    if not spec.work:
        report((*_SPEC, "work"), "missing-field", "found no work, expected some", "add a source")


def _check_policies(spec: SpecForm, report: ErrorReport) -> None:
    seen: set[str] = set()
    for place, form in enumerate(policy_forms(spec)):
        path = (*_SPEC, "policies", place)
        name = form.policy if form.name is None else form.name
        if name in seen:
            message = f"found a second policy {quote(name)}, expected a name each"
            report(path, "duplicate-entry", message, "add another name")
        seen.add(name)
        _check_variant_name(name, (*path, "name"), report)
        rule_set = RULE_SETS[form.policy]
        if rule_set.section is None and form.settings:
            message = (
                f"found settings for {form.policy}, whose only settings here are those of usage"
            )
            report((*path, "settings"), "contradiction", message, "write usage in their place")
        if not rule_set.usage_axes and form.usage is not None:
            message = f"found usage for {form.policy}, under which past use does not count"
            report((*path, "usage"), "contradiction", message, "remove it")
        if not rule_set.has_fair_sharing and form.fair_sharing is not None:
            message = f"found fairSharing for {form.policy}, which has no such option"
            report((*path, "fairSharing"), "contradiction", message, "remove it")


def _check_variant_name(name: str, path: Path, report: ErrorReport) -> None:
    """Report a name that no run could have, or that no command could name."""
    found = run_name_problem(name)
    if not name:
        message = "found an empty name, expected one that a folder can have"
        report(path, "bad-name", message, "write one, or remove it for that of the policy")
    elif found is not None:
        message = f"found the name {quote(name)}, {found.problem}"
        report(path, "bad-name", message, found.fix)
    elif set(name) & _SEPARATORS or name != name.strip():
        message = (
            f"found the name {quote(name)}, expected none with a comma, a colon or a blank at "
        )
        message += "its ends: --policy and RESULT:VARIANT could not name it"
        report(path, "bad-name", message, "write such as a dash in its place")


def policy_forms(spec: SpecForm) -> list[PolicyForm]:
    """Return the listed policies; one listed by name alone has no other settings."""
    return [
        each if isinstance(each, PolicyForm) else PolicyForm(policy=each) for each in spec.policies
    ]


_PODS: Final = "pods"
"""Every node takes some, whether it says how many or not."""


def quotas_of_nothing(spec: SpecForm) -> Iterator[ScenarioWarning]:
    """Yield amounts of inline queues of resources that no node ever has."""
    known = most_capacity(spec.cluster)
    for place, queue in enumerate(spec.queues):
        path = (*QUEUES, place)
        yield from _of_nothing((*path, "guaranteed"), queue.guaranteed, known)
        yield from _of_nothing((*path, "limit"), queue.limit, known)
        yield from _of_nothing((*path, "borrowLimit"), queue.borrow_limit, known)
        yield from _of_nothing((*path, "lendLimit"), queue.lend_limit, known)


def pods_of_nothing(work: Sequence[WorkForm], known: Collection[str]) -> Iterator[ScenarioWarning]:
    """Yield the ``podAtMost`` of logs whose resources are not *known* of nodes."""
    for place, source in enumerate(work):
        if source.trace is not None:
            path: Path = ("spec", "work", place, "trace", "podAtMost")
            yield from _of_nothing(path, source.trace.pod_at_most, known)


def _of_nothing(
    path: Path, amounts: Mapping[str, int] | None, known: Collection[str]
) -> Iterator[ScenarioWarning]:
    there = sorted(set(known) - {_PODS})
    for resource in amounts or ():
        if resource not in known and resource != _PODS:
            written = short_name(resource)
            message = f"found {quote(written)}, which no node ever has: it has no effect"
            named = f"name {', '.join(there)}" if there else "add it to the capacity of nodes"
            fix = did_you_mean(written, as_written(there)) or named
            yield ScenarioWarning((*path, written), "missing-reference", message, fix)


_GIVEN: Final[Mapping[str, Callable[[QueueForm], bool]]] = {
    "weight": lambda queue: queue.weight != 1,
    "priority": lambda queue: queue.priority is not None,
    "lendLimit": lambda queue: queue.lend_limit is not None,
    "minRuntime": lambda queue: queue.min_runtime_ms is not None,
}


def inexpressible(tree: QueueTree, rule_set: RuleSet) -> Iterator[tuple[Path, str]]:
    """Yield where the first field of each kind stands that *rule_set* has none for, and why."""
    for field in rule_set.fields_without_effect:
        queues = [queue for queue in tree.queues if _GIVEN[field](queue)]
        if queues:
            count = counted(len(queues), "queue")
            message = f"found {field} in {count}, which has no effect under {rule_set.name}"
            yield (*tree.path(queues[0]), field), message
    yield from rule_set.queue_advice(tree)


def evicted_all_the_same(work: Sequence[WorkForm], rule_set: RuleSet) -> Iterator[ScenarioWarning]:
    """Yield the first ``preemptible: false``, if *rule_set* evicts such jobs all the same."""
    if rule_set.keeps_non_preemptible:
        return
    policy = rule_set.name
    paths = list(_kept_jobs(work))
    if paths:
        field = "preemptible: false" + ("" if len(paths) == 1 else f" in {len(paths):,} places")
        message = f"found {field}, which has no effect under {policy}: "
        message += "such jobs are evicted as all others are"
        fix = f"remove it, or do not compare by it under {policy}"
        yield ScenarioWarning(paths[0], "no-effect", message, fix)


def _kept_jobs(work: Sequence[WorkForm]) -> Iterator[Path]:
    """Yield where it stands, of logs last."""
    for path, job in written_jobs(work):
        if not job.preemptible:
            yield (*path, "preemptible")
    for place, source in enumerate(work):
        if source.trace is not None and not source.trace.preemptible:
            yield ("spec", "work", place, "trace", "preemptible")


MOST_STEPS: Final = 1_000_000_000
"""Regular cycles, or questions for past use, of one run: thirty years of one each second."""

_SHOWN_WHOLE: Final = 10**12


class TooLarge(NamedTuple):
    """What there would be too many of: where that is written, how many, and how to fix it."""

    path: Path
    message: str
    fix: str


def too_large(spec: SpecForm, work: Sequence[WorkPart], overrides: Overrides) -> Iterator[TooLarge]:
    """Yield what *work*, whose parts have no defects, makes too much of in the time of *spec*."""
    yield from _too_many_jobs(work, spec.duration_ms)
    if spec.duration_ms is not None:
        yield from _too_many_steps(spec, spec.duration_ms, overrides)


def _too_many_jobs(work: Sequence[WorkPart], duration_ms: int | None) -> Iterator[TooLarge]:
    counts = [
        (expected_jobs(part, duration_ms) or 0) if isinstance(part, ArrivingWork) else 0
        for part in work
    ]
    is_told = False
    for place, (part, count) in enumerate(zip(work, counts, strict=True)):
        if count > MOST_JOBS and isinstance(part, ArrivingWork):
            is_told = True
            path = ("spec", "work", place, "arrivals")
            yield TooLarge(path, f"{_found(count, 'jobs')} in all", _fewer(part.arrivals))
    if sum(counts) > MOST_JOBS and not is_told:
        message = f"{_found(sum(counts), 'jobs')} of all sources"
        yield TooLarge(("spec", "work"), message, "bound the largest of them with atMost")


def _found(count: int, what: str, most: int = MOST_JOBS) -> str:
    shown = f"{count:,}" if count < _SHOWN_WHOLE else f"{count:.1e}"
    return f"found some {shown} {what}, expected at most {most:,}"


def _fewer(arrivals: Arrivals) -> str:
    bound = "bound the source with atMost"
    match arrivals:
        case At():
            return "write fewer jobs or times"
        case Every():
            return f"write a longer interval or fewer jobs, or {bound} or until"
        case _ if isinstance(arrivals.rate, Load):
            rate = arrivals.rate
            there = f"{show_amount(rate.resource, rate.capacity)} {rate.resource}"
            return f"see whether nodes have {there} together; lower load, or {bound} or until"
        case _:
            return f"lower perHour, or {bound} or until"


def _too_many_steps(spec: SpecForm, duration_ms: int, overrides: Overrides) -> Iterator[TooLarge]:
    for path, every_ms in _periods(spec, overrides):
        steps = duration_ms // every_ms
        if steps > MOST_STEPS:
            period = f"{format_duration(every_ms)} in a duration of {format_duration(duration_ms)}"
            message = f"found {period}: {_found(steps, 'steps', MOST_STEPS).removeprefix('found ')}"
            yield TooLarge(path, message, "write more here, or a shorter duration")


def _periods(spec: SpecForm, overrides: Overrides) -> Iterator[tuple[Path, int]]:
    if spec.cycle.every_ms is not None:
        yield ("spec", "cycle", "every"), spec.cycle.every_ms
    yield ("spec", "cycle", "lookAgain"), spec.cycle.look_again_ms
    if "fetchInterval" in overrides:
        yield ("spec", "usage", "fetchInterval"), overrides["fetchInterval"]
        return
    if spec.usage is not None:
        yield ("spec", "usage", "fetchInterval"), spec.usage.fetch_interval_ms
    for place, form in enumerate(spec.policies):
        if isinstance(form, PolicyForm) and form.usage is not None:
            path: Path = ("spec", "policies", place, "usage", "fetchInterval")
            yield path, form.usage.fetch_interval_ms
