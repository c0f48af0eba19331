"""What a scenario file may say, and what is told about one that is wrong."""

from pathlib import Path

import pytest

from fairlead.sim.scenario.read.read_scenario import read_scenario
from tests.sim.scenario.scenario_files import (
    HEAD,
    NODES,
    QUEUES,
    WORK,
    indented,
    read,
    scenario,
    told,
)

GOOD = NODES + QUEUES + WORK


def test_a_small_scenario_is_read_with_its_defaults(tmp_path: Path) -> None:
    found = scenario(tmp_path, GOOD)
    assert found.name == "small"
    assert [variant.name for variant in found.variants] == ["kai"]
    assert found.spec.seed == 0
    assert found.spec.duration_ms is None
    # 2026-01-05 is 20,458 days after 1970 began.
    assert found.spec.start_ms == 20_458 * 86_400_000


# HEAD has four lines, so that the first line of what is below spec is line 5.
MISTAKES = {
    "an unknown field has a hint": (
        GOOD + "  duratoin: 1h\n",
        "warning 8 $.spec.duratoin unknown-field",
    ),
    "an unknown field of a queue is told": (
        NODES + "  queues: [{name: a, wieght: 2}]\n" + WORK,
        "warning 6 $.spec.queues[0].wieght unknown-field",
    ),
    "a number is no duration": (
        GOOD + "  duration: 5\n",
        "error 8 $.spec.duration wrong-type",
    ),
    "a quantity of a node must be one": (
        "  cluster: {nodes: [{name: node, capacity: {cpu: many}}]}\n" + QUEUES + WORK,
        "error 5 $.spec.cluster.nodes[0].capacity.cpu bad-quantity",
    ),
    "a node has less than there can be": (
        "  cluster: {nodes: [{name: node, capacity: {gpu: 9223372036854776}}]}\n" + QUEUES + WORK,
        "error 5 $.spec.cluster.nodes[0].capacity.gpu out-of-range",
    ),
    "a pod asks for less than there can be": (
        NODES
        + QUEUES
        + "  work: [{name: w, queue: a, jobs: [{requests: {cpu: 1e20}, run: 1h}]}]\n",
        "error 7 $.spec.work[0].jobs[0].requests.cpu out-of-range",
    ),
    "a policy must be known": (
        GOOD + "  policies: [kai, keue]\n",
        "error 8 $.spec.policies[1] bad-choice",
    ),
    "work must be there": (NODES + QUEUES, "error 4 $.spec.work missing-field"),
    "a parent must exist": (
        NODES + "  queues: [{name: a, parent: c}]\n" + WORK,
        "error 6 $.spec.queues[0].parent missing-parent",
    ),
    "queues cannot stand in a circle": (
        NODES + "  queues: [{name: a, parent: b}, {name: b, parent: a}]\n" + WORK,
        "error 6 $.spec.queues[0].parent cycle",
    ),
    "a queue is told once": (
        NODES + "  queues: [{name: a}, {name: a}]\n" + WORK,
        "error 6 $.spec.queues[1].name duplicate-object",
    ),
    "queues or manifests": (
        GOOD + "  manifests: [x.yaml]\n",
        "error 4 $.spec contradiction",
    ),
    "a manifest that is not there is told where it is named": (
        NODES + "  manifests:\n    - .\n    - nope\n" + WORK,
        "error 8 $.spec.manifests[1] unreadable",
    ),
    "jobs ask for what nodes have": (
        NODES + QUEUES + "  work: [{name: w, queue: a, jobs: [{requests: {tpu: 1}, run: 1h}]}]\n",
        "error 7 $.spec.work[0].jobs[0].requests missing-reference",
    ),
    "jobs go to queues that are there": (
        NODES + QUEUES + "  work: [{name: w, queue: c, jobs: [{requests: {gpu: 1}, run: 1h}]}]\n",
        "error 7 $.spec.work[0].jobs[0] missing-reference",
    ),
    "jobs go to leaves only": (
        NODES + "  queues: [{name: a}, {name: b, parent: a}]\n" + WORK,
        "error 7 $.spec.work[0].jobs[0] missing-reference",
    ),
    "what runs for ever needs a duration": (
        NODES
        + QUEUES
        + "  work: [{name: w, queue: a, jobs: [{requests: {gpu: 1}, run: forever}]}]\n",
        "error 4 $.spec.duration missing-field",
    ),
    "a source is of one kind": (
        NODES + QUEUES + "  work: [{name: w, queue: a}]\n",
        "error 7 $.spec.work[0] missing-field",
    ),
    "a source has jobs": (
        NODES + QUEUES + "  work: [{name: w, queue: a, jobs: []}]\n",
        "error 7 $.spec.work[0].jobs missing-field",
    ),
    "no job has a billion pods": (
        NODES + QUEUES + WORK.replace("requests", "pods: 1000000000, requests"),
        "error 7 $.spec.work[0].jobs[0].pods out-of-range",
    ),
    "a job comes before the end": (
        NODES
        + QUEUES
        + "  duration: 1h\n"
        + "  work: [{name: w, queue: a, jobs: [{at: 1h, requests: {gpu: 1}, run: 1h}]}]\n",
        "advice 8 $.spec.work[0].jobs[0].at no-effect",
    ),
    "a job is told once": (
        NODES + QUEUES + WORK.replace("}]}]", "}, {name: w-1, requests: {gpu: 1}, run: 1h}]}]"),
        "error 7 $.spec.work[0].jobs[1].name duplicate-entry",
    ),
    "past use counts under kai only": (
        GOOD + "  policies: [{policy: kueue, usage: {k: 1}}]\n",
        "error 8 $.spec.policies[0].usage contradiction",
    ),
    "a list has no holes": (
        NODES + "  queues: [{name: a}, null]\n" + WORK,
        "error 6 $.spec.queues[1] wrong-type",
    ),
    "a text in a list is not empty": (
        GOOD + "  manifests: ['']\n",
        "error 8 $.spec.manifests[0] missing-field",
    ),
    "the start is not before 1970": (
        GOOD + "  start: 1969-12-31T23:00:00Z\n",
        "error 8 $.spec.start out-of-range",
    ),
    "the start is not after 2200": (
        GOOD + "  start: 2201-01-01T00:00:00Z\n",
        "error 8 $.spec.start out-of-range",
    ),
    "a window does not start after 2200": (
        GOOD + "  usage: {window: {type: tumbling, start: '9999-12-31T23:59:59-12:00'}}\n",
        "error 8 $.spec.usage.window.start out-of-range",
    ),
    "the start is a full hour": (
        GOOD + "  start: 2026-01-05T00:30:00Z\n",
        "error 8 $.spec.start out-of-range",
    ),
    "a cycle takes time": (
        GOOD + "  cycle: {every: 0s}\n",
        "error 8 $.spec.cycle.every out-of-range",
    ),
    "cycles have a fixed period or a least one": (
        GOOD + "  cycle: {every: 10s, atMostEvery: 5s}\n",
        "error 8 $.spec.cycle contradiction",
    ),
    "a load of what no node has is told where it is written": (
        "  cluster: {nodes: [{name: node, capacity: {gpu: 0}}]}\n"
        + QUEUES
        + "  duration: 1h\n  work:\n    - {name: w, queue: a, shapes: [{requests: {}, run: 1h}],\n"
        + "       arrivals: {poisson: {load: 1}}}\n",
        "error 10 $.spec.work[0].arrivals.poisson.load missing-reference",
    ),
    "what the reader of an object refuses is told at its queue": (
        NODES + "  queues: [{name: a}, {name: b/c}]\n" + WORK,
        "error 6 $.spec.queues[1] bad-name",
    ),
    "what the reader of settings refuses is told at its field": (
        GOOD + "  usage:\n    halfLife: 1d\n    window: {length: 0s}\n",
        "error 10 $.spec.usage.window.length out-of-range",
    ),
    "settings of a rule set are read as its own": (
        GOOD + "  policies:\n    - policy: kueue\n      settings:\n        minRunTme: 1m\n",
        "warning 11 $.spec.policies[0].settings.minRunTme unknown-field",
    ),
}


# Each row: fields of a source, one of them where it is unknown, and where it belongs.
MISPLACED = {
    "until: 1h, arrivals: {poisson: {perHour: 1}}": "write it in arrivals.poisson",
    "until: 1h, backlog: {jobs: 1}": "write it in backlog",
    "until: 1h, arrivals: {at: {times: [0s]}}": "remove it, or check its place",
    "untill: 1h, backlog: {jobs: 1}": "remove it, or check its place",
    "perHour: 1, arrivals: {poisson: {perHour: 1}}": "remove it, or check its place",
}


@pytest.mark.parametrize(("fields", "fix"), MISPLACED.items())
def test_of_a_field_that_belongs_elsewhere_the_place_is_reported(
    tmp_path: Path, fields: str, fix: str
) -> None:
    work = f"  work: [{{name: w, queue: a, shapes: [{{requests: {{gpu: 1}}, run: 1h}}], {fields}}}]"
    [found] = read(tmp_path, f"  duration: 1d\n{NODES}{QUEUES}{work}\n").findings
    assert (found.code, found.fix) == ("unknown-field", fix)


@pytest.mark.parametrize(("spec", "finding"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_reported_where_it_stands(tmp_path: Path, spec: str, finding: str) -> None:
    result = read(tmp_path, spec)
    assert finding in told(result.findings)
    assert (result.scenario is None) == any(each.severity == "error" for each in result.findings)


def test_of_a_node_that_is_reported_twice_both_places_are_reported(tmp_path: Path) -> None:
    cluster = """
        cluster:
          nodes: [{name: x, capacity: {gpu: 1}}, {name: node, count: 3, capacity: {gpu: 1}}]
          changes:
            - at: 1h
              add: {name: node-2, capacity: {gpu: 1}}
    """
    result = read(tmp_path, indented(cluster) + QUEUES + WORK)
    assert told(result.findings) == ["error 9 $.spec.cluster.changes[0].add duplicate-object"]
    assert f"the first is at {tmp_path / 'small.yaml'}:6 (" in result.findings[0].message


NO_NAMES = {
    "": "found an empty name, expected one that a folder can have",
    "report.html": "which is the name of a file of every result",
    "Result.json": "which is the name of a file of every result",
    "a/b": "which no folder can be called",
    "..": "which no folder can be called",
    "x" * 256: "a name of 256 bytes, expected at most 255",
    "kai:twice": "expected none with a comma, a colon or a blank at its ends",
    "kai,twice": "expected none with a comma, a colon or a blank at its ends",
    "kai ": "expected none with a comma, a colon or a blank at its ends",
}


@pytest.mark.parametrize(("name", "problem"), NO_NAMES.items(), ids=range(len(NO_NAMES)))
def test_a_variant_has_a_name_that_a_folder_can_have_and_a_command_can_tell(
    tmp_path: Path, name: str, problem: str
) -> None:
    result = read(tmp_path, GOOD + f'  policies: [kai, {{name: "{name}", policy: kai}}]\n')
    assert told(result.findings) == ["error 8 $.spec.policies[1].name bad-name"]
    assert problem in result.findings[0].message
    assert result.findings[0].fix


def test_several_mistakes_are_reported_in_one_run(tmp_path: Path) -> None:
    result = read(tmp_path, GOOD + "  seed: x\n  duration: y\n  start: z\n")
    assert [each.line for each in result.findings] == [8, 9, 10]


def test_stages_are_reported_one_after_the_other_each_as_a_whole(tmp_path: Path) -> None:
    """As the reference says: fields, what they say together, objects, work, and its size."""
    nodes = "  cluster: {nodes: [{name: node, capacity: {gpu: 4}}]}\n"
    work = "  work: [{name: w, queue: QUEUE, shapes: [{requests: {RESOURCE: 1}, run: 1h}], "
    work += "arrivals: {every: {interval: 1s, jobs: JOBS}}}]\n"
    text = f"{nodes}  queues: [{{name: NAME}}, {{name: NAME}}]\n{work}  duration: LENGTH\n"
    queue, requests = "$.spec.work[0].queue", "$.spec.work[0].shapes[0].requests"
    stages: list[tuple[dict[str, str], list[str]]] = [
        ({}, ["$.spec.duration", "$.spec.work[0].arrivals.every.jobs"]),
        ({"LENGTH": "1d", "JOBS": "900000"}, ["$.spec.queues[1].name"]),
        ({"{name: NAME}, {": "{name: b/c}, {"}, ["$.spec.queues[0]"]),
        ({"b/c": "b", "NAME": "a"}, [queue, requests]),
        ({"QUEUE": "a", "RESOURCE": "gpu"}, ["$.spec.work[0].arrivals"]),
        ({"900000": "1"}, []),
    ]
    for mends, paths in stages:
        for old, new in mends.items():
            text = text.replace(old, new)
        errors = [each for each in read(tmp_path, text).findings if each.severity == "error"]
        assert sorted({each.path for each in errors}) == paths, text


# Each row: what stands in the shape or the arrivals, and where the finding points.
DEFECTS = {
    "a sigma beyond all measure": (
        "{requests: {gpu: 1}, run: {lognormal: {median: 1h, sigma: 11}}}",
        "{poisson: {perHour: 1}}",
        "$.spec.work[0].shapes[0].run.lognormal.sigma",
    ),
    "pods beyond all measure": (
        "{requests: {gpu: 1}, run: 1h, pods: 1000000000}",
        "{poisson: {perHour: 1}}",
        "$.spec.work[0].shapes[0].pods",
    ),
    "more pods than there can be": (
        "{requests: {gpu: 1}, run: 1h, pods: {exponential: {mean: 3}}}",
        "{poisson: {perHour: 1}}",
        "$.spec.work[0].shapes[0].pods",
    ),
    "no way at all to draw a number": (
        "{requests: {gpu: 1}, run: {}}",
        "{poisson: {perHour: 1}}",
        "$.spec.work[0].shapes[0].run",
    ),
    "a day has 24 hours": (
        "{requests: {gpu: 1}, run: 1h}",
        "{poisson: {perHour: 1, pattern: {byHour: [1]}}}",
        "$.spec.work[0].arrivals.poisson.pattern.byHour",
    ),
    "an interval takes time": (
        "{requests: {gpu: 1}, run: 1h}",
        "{every: {interval: 0s}}",
        "$.spec.work[0].arrivals.every.interval",
    ),
    "a rate is one of two": (
        "{requests: {gpu: 1}, run: 1h}",
        "{poisson: {perHour: 1, load: 1}}",
        "$.spec.work[0].arrivals.poisson",
    ),
    "a load needs jobs that end": (
        "{requests: {gpu: 1}, run: forever}",
        "{poisson: {load: 1}}",
        "$.spec.work[0].arrivals.poisson.load",
    ),
    "a spread is above 0": (
        "{requests: {gpu: 1}, run: {lognormal: {median: 1h, sigma: 0}}}",
        "{poisson: {perHour: 1}}",
        "$.spec.work[0].shapes[0].run.lognormal.sigma",
    ),
    "a short text makes no number without end": (
        "{requests: {gpu: 1}, run: 1h, weight: 1E+300}",
        "{poisson: {perHour: 1}}",
        "$.spec.work[0].shapes[0].weight",
    ),
    "a load is of something": (
        "{requests: {gpu: 1}, run: 1h}",
        "{poisson: {load: 1, loadOf: tpu}}",
        "$.spec.work[0].arrivals.poisson.loadOf",
    ),
}


@pytest.mark.parametrize(("shape", "arrivals", "path"), DEFECTS.values(), ids=DEFECTS.keys())
def test_a_defect_of_work_is_reported_at_its_field(
    tmp_path: Path, shape: str, arrivals: str, path: str
) -> None:
    work = f"  work: [{{name: w, queue: a, shapes: [{shape}], arrivals: {arrivals}}}]\n"
    result = read(tmp_path, "  duration: 1d\n" + NODES + QUEUES + work)
    assert [(each.severity, each.path) for each in result.findings] == [("error", path)]
    assert "_" not in result.findings[0].message  # it speaks of fields as the file does
    assert "_" not in result.findings[0].fix
    assert result.findings[0].fix


# Each row: a length of time that cannot be, what is said of it, and how to fix it.
LENGTHS = {
    "run: {uniform: {atLeast: 2h, atMost: 1h}}": ("found 1h, expected at least 2h", "2h or more"),
    "run: 0s": ("found 0s, expected at least 1ms", "1ms or more"),
    "run: {lognormal: {median: 1h, sigma: 1000}}": (
        "found 1000, expected at most 10",
        "10 or less",
    ),
}


@pytest.mark.parametrize(("run", "said"), LENGTHS.items())
def test_lengths_of_time_are_reported_as_durations(
    tmp_path: Path, run: str, said: tuple[str, str]
) -> None:
    work = f"  work: [{{name: w, queue: a, shapes: [{{requests: {{gpu: 1}}, {run}}}], "
    [found] = read(
        tmp_path, "  duration: 1d\n" + NODES + QUEUES + work + "arrivals: {at: {times: [0s]}}}]\n"
    ).findings
    assert (found.message, found.fix) == (said[0], f"write {said[1]}")


POISSON = "arrivals: {{poisson: {{perHour: {}}}}}"
SHAPES = "queue: a, shapes: [{{requests: {{gpu: 1}}, run: 1h}}], "
# Each row: a source of work with a number that cannot be, and what is expected of it at once.
NUMBERS = {
    (SHAPES + POISSON).format(-1): "found the number -1, expected more than 0",
    (SHAPES + POISSON).format(0): "found the number 0, expected more than 0",
    (SHAPES + POISSON).format(
        "1e19"
    ): "found the number 1e19, expected a number between 0 and 1e18",
    "trace: {path: x.csv, runScale: -1}": "found the number -1, expected more than 0",
    "trace: {path: x.csv, submitScale: 0}": "found the number 0, expected more than 0",
    SHAPES.format().replace("1h", "{lognormal: {median: 1h, sigma: -1}}")
    + "arrivals: {at: {times: [0s]}}": "found the number -1, expected more than 0",
}


@pytest.mark.parametrize(("source", "message"), NUMBERS.items(), ids=range(len(NUMBERS)))
def test_of_a_number_the_true_bound_is_reported_at_once(
    tmp_path: Path, source: str, message: str
) -> None:
    work = f"  duration: 1d\n  work: [{{name: w, {source}}}]\n"
    [found] = read(tmp_path, NODES + QUEUES + work).findings
    assert (found.code, found.message) == ("out-of-range", message)


def test_of_a_seed_the_true_bound_is_reported_at_once(tmp_path: Path) -> None:
    [found] = read(tmp_path, GOOD + "  seed: 99999999999999999999\n").findings
    assert found.message.endswith(", expected a number between 0 and 1e18")


# When which of the two nodes node-1 and node-2 is lost, and how that is found to be wrong.
CHANGES = {
    "[{at: 1h, lose: [node-1], for: 1h}, {at: 2h, lose: [node]}]": None,
    "[{at: 1h, add: {name: m, capacity: {gpu: 1}}}, {at: 2h, lose: [m]}]": None,
    "[{at: 1h, lose: [node-1]}, {at: 2h, lose: [node-1]}]": "contradiction",
    "[{at: 1h, lose: [node-1], for: 2h}, {at: 2h, lose: [node]}]": "contradiction",
    "[{at: 2h, add: {name: m, capacity: {gpu: 1}}}, {at: 1h, lose: [m]}]": "contradiction",
    "[{at: 1h, lose: [node-3]}]": "missing-reference",
    "[{at: 1h, for: 1h, add: {name: m, capacity: {gpu: 1}}}]": "contradiction",
    "[{at: 1h}]": "missing-field",
    "[{at: 1h, lose: [node-1], for: 0s}]": "out-of-range",
}


@pytest.mark.parametrize(("changes", "code"), CHANGES.items())
def test_only_nodes_that_are_there_can_be_lost(
    tmp_path: Path, changes: str, code: str | None
) -> None:
    cluster = f"""
        cluster:
          nodes: [{{name: node, count: 2, capacity: {{gpu: 4}}}}]
          changes: {changes}
    """
    result = read(tmp_path, indented(cluster) + QUEUES + WORK)
    assert [each.code for each in result.findings] == ([] if code is None else [code])


# What a rule set has no field for is told where it stands first.
UNKNOWN = {
    "kai": ["$.spec.queues[1].lendLimit"],
    "kueue": ["$.spec.queues[0].priority", "$.spec.queues[1].minRuntime"],
    "elastic-quota": [
        "$.spec.queues[0]",
        "$.spec.queues[0].priority",
        "$.spec.queues[1].lendLimit",
        "$.spec.queues[1].minRuntime",
        "$.spec.queues[1].weight",
    ],
}


@pytest.mark.parametrize(("policy", "paths"), UNKNOWN.items())
def test_what_a_rule_set_cannot_express_is_advice(
    tmp_path: Path, policy: str, paths: list[str]
) -> None:
    queues = """
        queues:
          - {name: top, priority: 7}
          - name: a
            parent: top
            guaranteed: {gpu: 2}
            lendLimit: {gpu: 1}
            minRuntime: 5m
            weight: 3
    """
    result = read(tmp_path, NODES + indented(queues) + WORK + f"  policies: [{policy}]\n")
    assert sorted(each.path for each in result.findings if each.code == "no-effect") == paths
    assert {each.severity for each in result.findings} == {"advice"}


# Each row: a file that is not one scenario, the line at which that is told, what, and its cure.
NOT_ONE = {
    "": (None, "found no object, expected a scenario", "write one object"),
    HEAD + GOOD + "---\n" + HEAD + GOOD: (10, '2 objects, of kind "Scenario"', "write one object"),
    "kind: Queue\n": (1, 'found 0 scenarios in 1 object, of kind "Queue"', "write one object"),
    HEAD.replace("Sc", "S") + GOOD: (2, '1 object, of kind "Senario"', 'did you mean "Scenario"?'),
    HEAD + GOOD + "---\nkind: Node\n": (9, 'of kind "Scenario", "Node"', "write one object"),
    "\n---\n".join(f"kind: {kind}" for kind in "ABCDEFG"): (
        1,
        '"E" and 2 more',
        "write one object",
    ),
    "x: 1\n": (1, "found 0 scenarios in 1 object, of kind none", "write one object"),
}


@pytest.mark.parametrize(("text", "told"), NOT_ONE.items(), ids=range(len(NOT_ONE)))
def test_a_file_holds_one_scenario_alone(
    tmp_path: Path, text: str, told: tuple[int | None, str, str]
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text, encoding="utf-8")
    result = read_scenario(str(file))
    assert result.scenario is None
    line, message, fix = told
    found = next(each for each in result.findings if each.code == "unknown-kind")
    assert found.line == line
    assert message in found.message
    assert found.fix.startswith(fix)


def test_manifests_are_never_read_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.yaml").write_text(HEAD + NODES + "  manifests: ['-']\n" + WORK)
    monkeypatch.chdir(tmp_path)
    assert "error 6 $.spec.manifests[0] unreadable" in told(read_scenario("x.yaml").findings)


def test_a_file_that_is_not_there_is_reported() -> None:
    assert [each.code for each in read_scenario("no-such.yaml").findings] == ["unreadable"]
