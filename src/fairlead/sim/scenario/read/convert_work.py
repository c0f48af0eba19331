"""From the work of a scenario file to descriptions of sources, with every defect at its line."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any, Final

from msgspec.structs import replace

from fairlead.manifest.text.path import Path, quote
from fairlead.sim.engine.job import Job
from fairlead.sim.fields import GPU, full_name, in_file, made_as
from fairlead.sim.scenario.form.scenario_form import (
    ArrivalsForm,
    BurstsForm,
    DrawnForm,
    JobForm,
    NamesForm,
    PoissonForm,
    ShapeForm,
    TraceForm,
    WorkForm,
)
from fairlead.sim.scenario.scenario import JobList, TraceWork, WorkPart
from fairlead.sim.scenario.variant.nodes import ErrorReport
from fairlead.sim.traces.trace_job import TraceError
from fairlead.sim.traces.trace_rules import TraceRules, check_rules
from fairlead.sim.work.arrivals import (
    DAY_MS,
    HOUR_MS,
    WEEK_MS,
    Arrivals,
    Bursts,
    Load,
    PerHour,
    Poisson,
    Rate,
    WeekPattern,
)
from fairlead.sim.work.defects import work_defects
from fairlead.sim.work.description import ArrivingWork, Backlog, Drawn, InTurn, Names
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import Empirical, Number

WAYS: Final = ("uniform", "exponential", "lognormal", "weibull", "pareto", "values")


def ways_given(drawn: DrawnForm[int, Any]) -> list[str]:
    """Return in which ways a number is to be drawn; there should be one."""
    return [way for way in WAYS if getattr(drawn, way) is not None]


def number_of(value: int | DrawnForm[int, Any]) -> Number:
    """Return what is drawn; of a form in several ways, by the first; in none, 1."""
    if isinstance(value, int):
        return value
    if value.values is not None:
        return Empirical(values=tuple((seen.value, seen.weight) for seen in value.values))
    found: Number = next((getattr(value, way) for way in ways_given(value)), 1)
    return found


def trace_rules(source: str, form: TraceForm) -> TraceRules:
    """Return the rules; jobs are called after the *source*, so that two traces do not collide."""
    queues, columns = form.queues, form.columns
    if columns is not None:
        amounts = {full_name(name): column for name, column in columns.amounts.items()}
        columns = replace(columns, amounts=amounts)
    return made_as(
        TraceRules,
        form,
        columns=columns,
        submit_scale=Fraction(form.submit_scale),
        run_scale=Fraction(form.run_scale),
        queues=replace(queues, others=queues.others or None, untold=queues.untold or None),
        job_kind=source,
        name_prefix=f"{source}-",
    )


_KINDS: Final = ("jobs", "arrivals", "backlog", "trace")
_BESIDE: Final = ("queue", "user", "shapes")
_USED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "jobs": ("queue", "user"),
    "arrivals": _BESIDE,
    "backlog": _BESIDE,
    "trace": (),
}
_ARRIVALS: Final = ("at", "every", "poisson", "bursts")
_THURSDAY_MS: Final = 3 * DAY_MS  # 1970 began on one


class WorkConverter:
    """Converts the sources of one scenario; all that is wrong is reported."""

    def __init__(
        self, folder: str, capacity: Mapping[str, int], start_ms: int, report: ErrorReport
    ) -> None:
        """Take what the cluster has at the start, by resource, which loads are parts of."""
        self._folder = folder
        self._capacity = capacity
        self._start_ms = start_ms
        self._error = report
        self.job_places: dict[str, Path] = {}  # of jobs that are listed, by name

    def part(self, work: WorkForm, path: Path) -> WorkPart | None:
        """Return the source that *work* describes at *path*, or None after reporting an error."""
        kind = self._only(work, _KINDS, path, "a source of work")
        if kind is None or not self._has_only_its_own(work, kind, path):
            return None
        if kind == "trace":
            return self._trace(work, path)
        if kind == "jobs":
            return self._job_list(work, path)
        if not work.shapes:
            self._error((*path, "shapes"), "missing-field", "found no shapes", "add one or more")
            return None
        return self._described(work, kind, path)

    def _only(self, form: Any, names: tuple[str, ...], path: Path, what: str) -> str | None:
        """Return which of several exclusive fields is given."""
        given = [name for name in names if getattr(form, name) is not None]
        if len(given) == 1:
            return given[0]
        found = " and ".join(map(in_file, given)) or "none"
        message = f"found {found}, expected one for {what}: {', '.join(map(in_file, names))}"
        code = "contradiction" if given else "missing-field"
        self._error(path, code, message, "keep one of them" if given else "add one of them")
        return None

    def _has_only_its_own(self, work: WorkForm, kind: str, path: Path) -> bool:
        """Report fields that a source of this kind does not read."""
        given = [name for name in _BESIDE if getattr(work, name) is not None]
        others = [name for name in given if name not in _USED_BY[kind]]
        for name in others:
            message = f"found {name} beside {kind}, which does not look at it"
            fix = "remove it"
            if kind == "trace" and name == "queue":
                fix = "remove it, or write queues: {others: NAME} in the trace to send all there"
            self._error((*path, name), "contradiction", message, fix)
        for name in ("queue", "user"):
            if kind == "jobs" and isinstance(getattr(work, name), NamesForm):
                message = f"found several names for listed jobs, expected one {name}"
                self._error(
                    (*path, name), "contradiction", message, f"write the {name} of each job"
                )
                return False
        return not others

    def _described(self, work: WorkForm, kind: str, path: Path) -> WorkPart | None:
        found: ArrivingWork | Backlog | None
        found = self._arriving(work, path) if kind == "arrivals" else self._backlog(work, path)
        assert work.shapes is not None
        is_whole = self._are_drawn_in_one_way(work.shapes, path)
        if found is None or not is_whole:
            return None
        is_sound = True
        for defect in work_defects(found):
            is_sound = False
            self._error((*path, *defect.path), "out-of-range", defect.problem, defect.fix)
        return found if is_sound else None

    def _are_drawn_in_one_way(self, shapes: tuple[ShapeForm, ...], path: Path) -> bool:
        is_whole = True
        for place, shape in enumerate(shapes):
            numbers = {"pods": shape.pods, "run": shape.run_ms, "asked": shape.asked_ms}
            for field, value in numbers.items():
                at = (*path, "shapes", place, field)
                is_whole = self._is_drawn_in_one_way(value, at) and is_whole
        return is_whole

    def _is_drawn_in_one_way(self, value: object, path: Path) -> bool:
        if not isinstance(value, DrawnForm) or len(ways_given(value)) == 1:
            return True
        return self._only(value, WAYS, path, "a number that is drawn") is not None

    def _arriving(self, work: WorkForm, path: Path) -> ArrivingWork | None:
        assert work.arrivals is not None
        assert work.shapes is not None
        queue = self._names(work.queue, (*path, "queue"))
        arrivals = self._arrivals(work.arrivals, (*path, "arrivals"))
        if queue is None or arrivals is None:
            return None
        return ArrivingWork(
            name=work.name,
            queue=queue,
            user=self._names(work.user or "", (*path, "user")) or "",
            shapes=tuple(map(_shape, work.shapes)),
            arrivals=arrivals,
            jobs_at_most=work.at_most,
        )

    def _backlog(self, work: WorkForm, path: Path) -> Backlog | None:
        assert work.backlog is not None
        assert work.shapes is not None
        if not isinstance(work.queue, str):
            message = "found no single queue, expected one: a backlog belongs to one queue"
            self._error((*path, "queue"), "missing-field", message, "name one queue")
            return None
        return made_as(
            Backlog,
            work.backlog,
            name=work.name,
            queue=work.queue,
            user=self._names(work.user or "", (*path, "user")) or "",
            shapes=tuple(map(_shape, work.shapes)),
            jobs_at_most=work.at_most,
        )

    def _names(self, names: str | NamesForm | None, path: Path) -> Names | None:
        match names:
            case None:
                self._error(path, "missing-field", "found no queue", "name one")
                return None
            case str():
                return names
            case NamesForm():
                if self._only(names, ("drawn", "in_turn"), path, "names") is None:
                    return None
                if names.in_turn is not None:
                    return InTurn(names=names.in_turn)
                return Drawn(names=tuple((names.drawn or {}).items()))

    def _arrivals(self, form: ArrivalsForm, path: Path) -> Arrivals | None:
        way = self._only(form, _ARRIVALS, path, "arrivals")
        if way is None or way in ("at", "every"):
            return form.at or form.every if way else None
        by_chance: PoissonForm | BurstsForm = getattr(form, way)
        inside = (*path, way)
        rate = self._rate(by_chance, inside)
        if rate is None:
            return None
        pattern = self._from_start(by_chance.pattern)
        if isinstance(by_chance, PoissonForm):
            return made_as(Poisson, by_chance, rate=rate, pattern=pattern)
        if not self._is_drawn_in_one_way(by_chance.jobs, (*inside, "jobs")):
            return None
        jobs = number_of(by_chance.jobs)
        return made_as(Bursts, by_chance, rate=rate, pattern=pattern, jobs=jobs)

    def _rate(self, form: PoissonForm | BurstsForm, path: Path) -> Rate | None:
        given = {"perHour": form.per_hour, "load": form.load}
        written = [name for name, value in given.items() if value is not None]
        if len(written) != 1:
            found = "both perHour and load" if written else "neither perHour nor load"
            self._error(path, "missing-field", f"found {found}, expected one", "write one of them")
            return None
        if form.per_hour is not None:
            return PerHour(arrivals=form.per_hour)
        assert form.load is not None
        usual = GPU if self._capacity.get(GPU) else "cpu"
        resource = usual if form.load_of is None else full_name(form.load_of)
        capacity = self._capacity.get(resource, 0)
        if capacity == 0:
            message = f"found a load of {quote(resource)}, of which the cluster has none"
            is_named = form.load_of is not None
            fix = "name what nodes have" if is_named else "add loadOf, and name what nodes have"
            field = (*path, "loadOf" if is_named else "load")
            self._error(field, "missing-reference", message, fix)
            return None
        return Load(load=form.load, resource=resource, capacity=capacity)

    def _from_start(self, pattern: WeekPattern) -> WeekPattern:
        in_week_ms = (self._start_ms + _THURSDAY_MS) % WEEK_MS
        weekday, in_day_ms = divmod(in_week_ms, DAY_MS)
        return replace(pattern, start_weekday=weekday, start_hour=in_day_ms // HOUR_MS)

    def _job_list(self, work: WorkForm, path: Path) -> JobList | None:
        if not work.jobs:
            message = "found no jobs, expected one or more"
            self._error((*path, "jobs"), "missing-field", message, "add one, or remove the source")
            return None
        jobs = []
        for place, form in enumerate(work.jobs):
            job = self._job(work, form, f"{work.name}-{place + 1}", (*path, "jobs", place))
            if job is None:
                return None
            jobs.append(job)
        jobs.sort(key=lambda job: job.submit_ms)
        return JobList(name=work.name, jobs=tuple(jobs[: work.at_most]))

    def _job(self, work: WorkForm, form: JobForm, usual: str, path: Path) -> Job | None:
        queue = form.queue or (work.queue if isinstance(work.queue, str) else None)
        if queue is None:
            self._error((*path, "queue"), "missing-field", "found no queue", "name one")
            return None
        if form.min_pods is not None and form.min_pods > form.pods:
            message = f"found {form.min_pods}, expected at most the {form.pods} pods"
            self._error((*path, "minPods"), "contradiction", message, "lower it")
            return None
        name = form.name or usual
        if name in self.job_places:
            message = f"found a second job {quote(name)}, expected a name each"
            self._error((*path, "name"), "duplicate-entry", message, "rename one of them")
            return None
        self.job_places[name] = path
        return made_as(
            Job,
            form,
            name=name,
            queue=queue,
            user=form.user or (work.user if isinstance(work.user, str) else ""),
            kind=work.name,
            submit_ms=form.at_ms,
            run_ms=form.run_ms if isinstance(form.run_ms, int) else None,
            min_pods=form.min_pods or form.pods,
        )

    def _trace(self, work: WorkForm, path: Path) -> TraceWork | None:
        assert work.trace is not None
        file = FilePath(self._folder) / work.trace.path
        rules = trace_rules(work.name, work.trace)
        try:
            check_rules(rules)
        except TraceError as wrong:
            field = [in_file(step) for step in wrong.field.split(".") if step]
            self._error((*path, "trace", *field), "out-of-range", wrong.problem, wrong.fix)
            return None
        if not file.is_file():
            message = f"found the trace {quote(work.trace.path)}, which is no file"
            self._error((*path, "trace", "path"), "unreadable", message, "name a log that exists")
            return None
        return TraceWork(name=work.name, path=str(file), rules=rules, jobs_at_most=work.at_most)


def _shape(form: ShapeForm) -> JobShape:
    return made_as(
        JobShape,
        form,
        pods=number_of(form.pods),
        run_ms=None if isinstance(form.run_ms, str) else number_of(form.run_ms),
        asked_ms=None if form.asked_ms is None else number_of(form.asked_ms),
    )
