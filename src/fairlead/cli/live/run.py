"""``fairlead run``: schedules a live cluster."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any, Final

import click

from fairlead.cli.input.findings import show_findings
from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.find_access import Wanted, find_access
from fairlead.cluster.kubernetes.loop.leadership import Alone
from fairlead.cluster.kubernetes.loop.live_scheduler import LiveScheduler
from fairlead.manifest.text.documents import Document, cluster_document

EPILOG = """\b
Examples:
  fairlead run --policy elastic-quota
  fairlead run --policy elastic-quota --scheduler-name scheduler-plugins-scheduler
"""
DEFAULT_SCHEDULER_NAME: Final = "fairlead"


@click.command(epilog=EPILOG)
@click.option("--policy", type=click.Choice(["elastic-quota"]), required=True)
@click.option("--kubeconfig", default="")
@click.option("--context", default="")
@click.option("--scheduler-name", default=DEFAULT_SCHEDULER_NAME, show_default=True)
@click.option("--leader-elect/--no-leader-elect", default=True)
@click.option("--events", default="changes")
@click.option("--listen")
@click.option("--log")
def command(
    policy: Any,
    kubeconfig: str,
    context: str,
    scheduler_name: str,
    leader_elect: bool,
    events: str,
    listen: str | None,
    log: str | None,
) -> None:
    """Schedule a live cluster."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    wanted = Wanted(kubeconfig=kubeconfig, context=context)
    access, findings = find_access(wanted, os.environ)
    show_findings(findings)
    asyncio.run(_run(access, policy, [settings_for(scheduler_name)]))


def settings_for(scheduler_name: str) -> Document:
    """Return settings under which pods of one scheduler name are started."""
    spec: Mapping[str, Any] = {"elasticQuota": {"schedulerNames": [scheduler_name]}}
    return cluster_document(
        {
            "apiVersion": "fairlead/v1",
            "kind": "Settings",
            "metadata": {"name": "settings"},
            "spec": spec,
        }
    )


async def _run(access: Access, policy: Any, given: list[Document]) -> None:
    stop = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    scheduler = LiveScheduler(access, policy, given, Alone())
    await scheduler.run(stop, [], {})
