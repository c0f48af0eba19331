"""What in a scenario cannot be, before any of its objects is made."""

from collections.abc import Iterator
from typing import Final

from fairlead.manifest.text.path import Path, quote
from fairlead.sim.results.about import run_name_problem
from fairlead.sim.scenario.form.scenario_form import PolicyForm, SpecForm, UsageForm, WindowForm
from fairlead.sim.scenario.rule_sets import RULE_SETS
from fairlead.sim.scenario.variant.nodes import ErrorReport
from fairlead.sim.scenario.variant.queue_tree import check_queues
from fairlead.sim.work.rate import HOUR_MS
from fairlead.store.text.text_head import END_OF_TIME_MS

_SPEC: Final[Path] = ("spec",)
_SEPARATORS: Final = frozenset(",:")


def check_spec(spec: SpecForm, report: ErrorReport) -> None:
    """Report everything that is wrong with *spec* as it is written."""
    if spec.start_ms % HOUR_MS:
        message = "found a start within an hour, expected a full one: patterns go by hours"
        report((*_SPEC, "start"), "out-of-range", message, "write minutes and seconds as 00")
    _check_years(spec, report)
    _check_lengths(spec, report)
    _check_cycle(spec, report)
    _check_faults(spec, report)
    _check_cluster(spec, report)
    check_queues(spec.queues, report)
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


def _check_lengths(spec: SpecForm, report: ErrorReport) -> None:
    lengths: list[tuple[Path, int | None]] = [
        ((*_SPEC, "duration"), spec.duration_ms),
        ((*_SPEC, "cycle", "atMostEvery"), spec.cycle.at_most_every_ms),
        ((*_SPEC, "cycle", "every"), spec.cycle.every_ms),
        ((*_SPEC, "cycle", "lookAgain"), spec.cycle.look_again_ms),
        ((*_SPEC, "faults", "patience"), spec.faults.patience_ms if spec.faults else None),
        *(((*path, "fetchInterval"), usage.fetch_interval_ms) for path, usage in _usages(spec)),
    ]
    for path, length_ms in lengths:
        if length_ms == 0:
            report(path, "out-of-range", "found 0s, expected more", "write 1ms or more")


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
    """Return the rules that are listed, those listed by name alone as well."""
    return [
        each if isinstance(each, PolicyForm) else PolicyForm(policy=each) for each in spec.policies
    ]
