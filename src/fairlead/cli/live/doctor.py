"""``fairlead doctor``: what stands in the way of scheduling a cluster, each with its cure."""

import os
from collections.abc import Sequence
from typing import Final

import click

from fairlead.cli.input.findings import show_findings
from fairlead.cli.input.live_objects import LiveCluster
from fairlead.cli.input.options import output_option
from fairlead.cli.output.document import print_document
from fairlead.cli.output.table import wrapped
from fairlead.cluster.kubernetes.doctor.diagnosis import Diagnosis
from fairlead.cluster.kubernetes.doctor.examine import Patient, examine
from fairlead.cluster.kubernetes.install.render import DEFAULT_NAMESPACE, DEFAULT_SCHEDULER_NAME
from fairlead.cluster.kubernetes.live_rule_sets import LIVE_POLICIES
from fairlead.errors import FairleadError, StoreError
from fairlead.explain.text.names import first_few, printable
from fairlead.manifest.load import LoadResult, load
from fairlead.policy.contract import POLICY_NAMES, PolicyName, Settings, counts_usage
from fairlead.usage.settings import PrometheusSource

EPILOG = f"""\b
Examples:
  fairlead doctor
  fairlead doctor --context my-cluster --scheduler-name scheduler-plugins-scheduler
  fairlead doctor --shadow --policy {POLICY_NAMES[0]}
"""
_MARKS: Final = {"ok": "ok", "note": "note", "warning": "warning", "error": "ERROR"}
_INDENT: Final = "         "


@click.command(epilog=EPILOG)
@click.option(
    "--policy",
    type=click.Choice(POLICY_NAMES),
    default=LIVE_POLICIES[0],
    show_default=True,
    help="The rules.",
)
@click.option("--shadow", is_flag=True, help="Examine what only a shadow needs.")
@click.option("--context", default="", metavar="NAME", help="By default the current one.")
@click.option("--kubeconfig", default="", metavar="FILE", help="By default as kubectl finds it.")
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    default=DEFAULT_NAMESPACE,
    show_default=True,
    help="Where Fairlead is installed, or would be.",
)
@click.option(
    "--scheduler-name",
    metavar="NAME",
    default=DEFAULT_SCHEDULER_NAME,
    show_default=True,
    help="Whose pods it schedules, or would.",
)
@output_option("table", "json", "yaml")
@click.pass_context
def command(
    ctx: click.Context,
    policy: PolicyName,
    shadow: bool,
    context: str,
    kubeconfig: str,
    namespace: str,
    scheduler_name: str,
    output: str,
) -> None:
    """Say what stands in the way of scheduling a cluster, each with its cure.

    Changes nothing. Exit code 1: something does not work as it is.
    """
    cluster = LiveCluster(context, kubeconfig)
    ctx.call_on_close(cluster.close)
    patient = Patient(
        policy=policy,
        component="shadow" if shadow else "scheduler",
        namespace=namespace,
        scheduler_name=scheduler_name,
    )
    found = cluster.runner.run(examine(cluster.access, patient))
    found += _check_objects(cluster, policy)
    if output == "table":
        click.echo(f"{cluster.title()}\n")
        _print(found)
    else:
        print_document(_document(found), output)
    if any(each.level == "error" for each in found):
        ctx.exit(1)


def _check_objects(cluster: LiveCluster, policy: PolicyName) -> list[Diagnosis]:
    """Look at what the objects of the rule set say, as `validate` does, and at Prometheus."""
    try:
        live = cluster.read(policy)
    except FairleadError as problem:
        return [Diagnosis(check="objects", level="warning", found=f"cannot be read: {problem}")]
    show_findings([each for each in live.findings if each.severity == "warning"])
    result = load((), made=live.documents, rules=live.rules, policy=policy)
    found = [_judged(result)]
    found += [_check_prometheus(each.settings) for each in result.shards]
    return list(dict.fromkeys(found))


def _judged(result: LoadResult) -> Diagnosis:
    wrong = [each for each in result.findings if each.severity == "error"]
    doubtful = [each for each in result.findings if each.severity == "warning"]
    if wrong or doubtful:
        files = first_few(list(dict.fromkeys([each.file for each in wrong or doubtful])))
        return Diagnosis(
            check="objects",
            level="error" if wrong else "warning",
            found=f"{len(wrong)} errors and {len(doubtful)} warnings, in {files}",
            cure="see them all: fairlead validate -A",
        )
    count = sum(result.read.values())
    return Diagnosis(check="objects", level="ok", found=f"{count} objects, all valid")


def _check_prometheus(settings: Settings) -> Diagnosis:
    """Ask the Prometheus that the settings name, if past usage counts."""
    usage = counts_usage(settings)
    source = None if usage is None or usage.usage is None else usage.usage.source
    if not isinstance(source, PrometheusSource):
        said = "no decision rests on it"
        return Diagnosis(check="Prometheus", level="ok", found=said)
    from fairlead.store.prometheus.http import PrometheusHttp

    try:
        PrometheusHttp(source, os.environ).ask("/api/v1/query", {"query": "vector(1)"})
    except StoreError as problem:
        cure = "correct its address in the settings, or start it; until then past usage is stale"
        return Diagnosis(check="Prometheus", level="error", found=str(problem), cure=cure)
    return Diagnosis(check="Prometheus", level="ok", found="answers")


def _print(found: Sequence[Diagnosis]) -> None:
    for each in found:
        head = f"{_MARKS[each.level]:<8} {each.check}: {printable(each.found)}"
        click.echo(wrapped(head))
        if each.cure:
            click.echo(wrapped(f"cure: {printable(each.cure)}", _INDENT))
    counts = {level: sum(each.level == level for each in found) for level in ("error", "warning")}
    click.echo(f"\nerrors: {counts['error']}, warnings: {counts['warning']}")


def _document(found: Sequence[Diagnosis]) -> dict[str, object]:
    return {"apiVersion": "fairlead/v1", "kind": "Examination", "diagnoses": list(found)}
