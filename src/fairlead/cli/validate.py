"""``fairlead validate``: everything that is wrong or doubtful, in one run."""

from collections import Counter
from typing import Any

import click

from fairlead.cli.findings import omitted_text, show_findings
from fairlead.cli.options import load_files, output_option, reads_manifests
from fairlead.cli.validate_simulation import simulation_findings
from fairlead.errors import Severity
from fairlead.manifest.load import LoadResult

PLURALS: dict[Severity, str] = {"error": "errors", "warning": "warnings", "advice": "advice"}
EPILOG = """\b
Examples:
  fairlead validate -f cluster/
  fairlead validate -f queues.yaml -f nodes.yaml --strict
  fairlead validate scenario.yaml
  kubectl get clusterqueues,cohorts -o yaml | fairlead validate -f - -o json
"""


@click.command(epilog=EPILOG)
@reads_manifests
@output_option("table", "json", "yaml")
def command(
    files: tuple[str, ...], more_files: tuple[str, ...], policy: Any, strict: bool, output: str
) -> None:
    """Check manifests and list everything that is wrong or doubtful.

    Errors refuse the input (exit 1). Warnings say what will be read otherwise than you may
    think, advice what could be better. Objects of other kinds are counted and left alone. A file
    to be simulated is checked as one.
    """
    result = simulation_findings([*files, *more_files], policy, strict=strict)
    if result is None:
        result = load_files(files, more_files, policy, strict=strict)
    if output == "table":
        show_findings(result.findings, to_stderr=False)
        click.echo(_summary(result))
    else:
        from fairlead.cli.output import print_document

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
