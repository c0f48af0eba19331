"""``fairlead deploy``: the YAML that installs Fairlead into a cluster."""

import asyncio
import os
import re
from typing import Any, Final

import click
from click.core import ParameterSource

from fairlead.cli.live.names import MAX_NAMESPACE, reads_name
from fairlead.cluster.kubernetes.install.render import (
    DEFAULT_IMAGE,
    DEFAULT_NAMESPACE,
    DEFAULT_REPLICAS,
    DEFAULT_SCHEDULER_NAME,
    MAX_SCHEDULER_NAME,
    Installation,
    installation_text,
    kind_texts,
)
from fairlead.cluster.kubernetes.live_rule_sets import LIVE_POLICIES
from fairlead.policy.contract import POLICY_NAMES

EPILOG = f"""\b
Examples:
  fairlead deploy --context my-cluster | kubectl apply -f -
  fairlead deploy --no-crds --image registry.example/fairlead:1 > fairlead.yaml
  fairlead deploy --shadow --policy {POLICY_NAMES[0]}

The folder deploy/ of the repository has the same objects, for kustomize.
"""
_IMAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")


def _read_image(_context: click.Context, _option: click.Parameter, text: str) -> str:
    if _IMAGE.fullmatch(text) is None:
        raise click.BadParameter(
            f"found {text!r}, expected an image, such as registry.example/fairlead:1"
        )
    return text


@click.command(epilog=EPILOG)
@click.option(
    "--policy",
    type=click.Choice(POLICY_NAMES),
    default=LIVE_POLICIES[0],
    show_default=True,
    help=f"The rules. Only {LIVE_POLICIES[0]} can schedule a cluster today; --shadow takes all.",
)
@click.option("--shadow", is_flag=True, help="Install what only watches, and cannot write.")
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    callback=reads_name(MAX_NAMESPACE),
    default=DEFAULT_NAMESPACE,
    show_default=True,
    help="Where to install; it is created if it is the default, and has to exist if not.",
)
@click.option(
    "--scheduler-name",
    metavar="NAME",
    callback=reads_name(MAX_SCHEDULER_NAME),
    default=DEFAULT_SCHEDULER_NAME,
    show_default=True,
    help="Which pods to schedule: their schedulerName. Objects are named after it. A shadow looks "
    "by default at pods of the scheduler whose objects it reads.",
)
@click.option(
    "--image",
    metavar="IMAGE",
    default=DEFAULT_IMAGE,
    show_default=True,
    callback=_read_image,
    help="The image to run, which you build from the Containerfile of the repository.",
)
@click.option(
    "--replicas",
    type=click.IntRange(1, 9),
    default=DEFAULT_REPLICAS,
    show_default=True,
    help="How many; one acts, and the others take over if it fails.",
)
@click.option(
    "--no-fence",
    is_flag=True,
    help="Leave out the admission policy by which the API server refuses a former leader.",
)
@click.option("--no-crds", is_flag=True, help="Leave out the definitions of quotas and pod groups.")
@click.option(
    "--context",
    "context_name",
    metavar="NAME",
    default="",
    help="Leave out the CRDs that the cluster of this kubeconfig context has already.",
)
@click.option("--kubeconfig", metavar="FILE", default="", help="The same, with another kubeconfig.")
@click.pass_context
def command(
    context: click.Context,
    policy: Any,
    shadow: bool,
    namespace: str,
    scheduler_name: str,
    image: str,
    replicas: int,
    no_fence: bool,
    no_crds: bool,
    kubeconfig: str,
    context_name: str,
) -> None:
    """Print the YAML that installs Fairlead into a Kubernetes cluster.

    Changes nothing itself. A CRD that the cluster has already must not be replaced: name the
    cluster with --context, and such a CRD is left out.
    """
    if shadow:
        _check_shadow(context)
    else:
        _check_scheduling(policy, scheduler_name, context)
    wanted = Installation(
        policy=policy,
        is_shadow=shadow,
        namespace=namespace,
        scheduler_name=scheduler_name,
        image=image,
        replicas=replicas,
        has_fence=not no_fence,
    )
    kinds = set() if no_crds or shadow else _kinds_to_create(kubeconfig, context_name)
    click.echo(installation_text(wanted, kinds), nl=False)


def _check_shadow(context: click.Context) -> None:
    if context.get_parameter_source("replicas") is not ParameterSource.DEFAULT:
        raise click.UsageError("a shadow is one process: leave out --replicas", context)


def _check_scheduling(policy: str, scheduler_name: str, context: click.Context) -> None:
    if policy not in LIVE_POLICIES:
        raise click.UsageError(
            f"only {LIVE_POLICIES[0]} can schedule a cluster today: add --shadow to watch with "
            f"{policy}",
            context,
        )
    if scheduler_name == "default-scheduler":
        raise click.UsageError(
            "the pods of Fairlead are scheduled by default-scheduler themselves: "
            "choose another name, and name it in the pods to be scheduled",
            context,
        )


def _kinds_to_create(kubeconfig: str, context_name: str) -> set[str]:
    """Return the CRDs to print: all, or those that the cluster lacks if one is named."""
    names = set(kind_texts())
    if not kubeconfig and not context_name:
        listed = " and ".join(sorted(names))
        click.echo(
            f"note: {listed} are among the output; where a cluster has them, add --context or "
            "--no-crds, so that they stay as they are",
            err=True,
        )
        return names
    found = _look_for_kinds(kubeconfig, context_name, names)
    for name in sorted(found):
        click.echo(f"note: the cluster has {name}, which stays as it is", err=True)
    return names - found


def _look_for_kinds(kubeconfig: str, context_name: str, names: set[str]) -> frozenset[str]:
    from fairlead.cli.input.findings import show_findings
    from fairlead.cluster.kubernetes.client.find_access import Wanted, find_access
    from fairlead.cluster.kubernetes.install.existing_kinds import existing_kinds

    wanted = Wanted(kubeconfig=kubeconfig, context=context_name, may_ask=True)
    access, findings = find_access(wanted, os.environ)
    show_findings(findings)
    return asyncio.run(existing_kinds(access, names))
