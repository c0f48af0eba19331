"""``fairlead validate``: everything that is wrong or doubtful, in one run."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import msgspec

from fairlead.cli.input.findings import omitted_text, show_findings
from fairlead.cli.input.named_input import NamedInput, reads_input
from fairlead.cli.input.options import output_option
from fairlead.cli.input.shards import shard_option
from fairlead.errors import Finding, Severity
from fairlead.explain.of_namespace import namespace_of
from fairlead.explain.rule_set import rule_set_of
from fairlead.manifest.finding import Findings
from fairlead.manifest.load import LoadResult
from fairlead.manifest.text.documents import Document, read_documents
from fairlead.manifest.text.values import Mapping
from fairlead.model.axes import WorkloadName
from fairlead.policy.contract import PolicyName


def simulation_findings(
    names: Sequence[str], policy: PolicyName | None, *, strict: bool
) -> LoadResult | None:
    """Return what is found in the one file that is named; None if it is not to be simulated."""
    if len(names) != 1 or not _may_be_simulated(Path(names[0])):
        return None
    from fairlead.cli.sim.kai_file import FORMAT, is_share_simulation
    from fairlead.sim.scenario.read.read_scenario import is_scenario, read_simulation

    documents = read_documents(names, Findings())
    is_foreign = is_share_simulation(documents)
    if not is_foreign and not any(map(is_scenario, documents)):
        return None
    read = read_simulation(names[0], [policy] if policy else [])
    return LoadResult(
        shards=(),
        findings=tuple(_refused(each) if strict else each for each in read.findings),
        omitted=0,
        read={FORMAT if is_foreign else "Scenario": 1},
        left_alone={},
    )


def with_unjudged(result: LoadResult) -> LoadResult:
    """Return *result* with a warning for each pending job that no plan judges."""
    unjudged = {
        name: constraints
        for each in result.shards
        for name, constraints in rule_set_of(each.settings).unjudged(each.state).items()
    }
    warnings = [
        Finding(
            severity="warning",
            code="not-judged",
            file=_job_place(name),
            message=f"found {' and '.join(names)}, which Fairlead does not model: "
            "plans do not judge the job, and are incomplete",
            fix="remove the constraint if it is not needed; else the job may start "
            "on capacity that plans give to others",
        )
        for name, names in unjudged.items()
    ]
    return msgspec.structs.replace(result, findings=(*result.findings, *warnings))


def _of_namespace(result: LoadResult, documents: Iterable[Document], namespace: str) -> LoadResult:
    """Return *result* without what is found about objects and jobs of other namespaces.

    What is found about objects without a namespace, such as nodes, stays.
    """
    places = {each.source.file: _namespace(each.value) for each in documents}
    names = [name for each in result.shards for name in each.state.workloads]
    places |= {_job_place(name): namespace_of(name) for name in names}
    shown = [each for each in result.findings if places.get(each.file, "") in ("", namespace)]
    return msgspec.structs.replace(result, findings=tuple(shown))


def _namespace(value: Mapping) -> str:
    metadata = value.get("metadata")
    return str(metadata.get("namespace", "")) if isinstance(metadata, dict) else ""


def _job_place(name: WorkloadName) -> str:
    return f"job {name}"


def _refused(finding: Finding) -> Finding:
    if finding.code != "unknown-field":
        return finding
    return msgspec.structs.replace(finding, severity="error")


def _may_be_simulated(file: Path) -> bool:
    """Return whether a look at the text leaves it open: large manifests are not read twice."""
    try:
        text = file.read_bytes() if file.is_file() else b"apiVersion"
    except OSError:
        return False
    return b"Scenario" in text or b"apiVersion" not in text


PLURALS: dict[Severity, str] = {"error": "errors", "warning": "warnings", "advice": "advice"}
EPILOG = """\b
Examples:
  fairlead validate -f cluster/
  fairlead validate -f queues.yaml -f nodes.yaml --strict
  fairlead validate scenario.yaml
  kubectl get clusterqueues,cohorts -o yaml | fairlead validate -f - -o json
  fairlead validate --context prod
"""


@click.command(epilog=EPILOG)
@reads_input
@shard_option
@output_option("table", "wide", "json", "yaml")
def command(
    asked: NamedInput,
    shard: str | None,
    output: str,
) -> None:
    """Check manifests and list every error, warning and piece of advice.

    An input with errors is refused (exit 1). A warning says where Fairlead reads a field otherwise
    than you may expect, an advice what could be better. Many warnings of one kind are shown as one
    and a count; -o wide lists all. Objects of other kinds are counted and ignored. A scenario is
    checked as a scenario.
    """
    result = None
    if asked.cluster is None:
        result = simulation_findings(asked.names, asked.policy, strict=asked.strict)
    if result is None:
        result = with_unjudged(asked.load(shard=shard, every_shard=True))
    if asked.namespace is not None:
        result = _of_namespace(result, asked.objects().documents, asked.namespace)
    if output in ("table", "wide"):
        show_findings(result.findings, to_stderr=False, every_one=output == "wide")
        click.echo(_summary(result))
    else:
        from fairlead.cli.output.document import print_document

        print_document(_document(result), output)
    if any(finding.severity == "error" for finding in result.findings):
        raise click.exceptions.Exit(1)


def _summary(result: LoadResult) -> str:
    severities = Counter(finding.severity for finding in result.findings)
    objects = sum(result.read.values())
    left_alone = sum(result.left_alone.values())
    rules = f" for {result.assembled.policy}" if result.assembled else ""
    counts = ", ".join(f"{plural}: {severities[one]}" for one, plural in PLURALS.items())
    omitted = f" ({omitted_text(result.omitted)})" if result.omitted else ""
    return f"objects read{rules}: {objects}, left alone: {left_alone}; {counts}{omitted}"


def _document(result: LoadResult) -> dict[str, object]:
    return {
        "apiVersion": "fairlead/v1",
        "kind": "Findings",
        "policy": result.assembled.policy if result.assembled else None,
        "read": result.read,
        "leftAlone": result.left_alone,
        "omitted": result.omitted,
        "findings": list(result.findings),
    }
