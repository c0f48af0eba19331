"""The objects of a cluster as an input of the commands that only read.

Importing this costs a network client, so it is done where a cluster is named.
"""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Sequence
from typing import Final

import click
import msgspec

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.find_access import Wanted, find_access
from fairlead.cluster.kubernetes.reading.kinds import kinds_to_read, rules_without
from fairlead.cluster.kubernetes.reading.read_cluster import (
    ClusterObjects,
    Progress,
    Refusal,
    read_cluster,
)
from fairlead.errors import Finding
from fairlead.explain.text.names import printable
from fairlead.manifest.load import CLUSTER
from fairlead.manifest.text.documents import Document, cluster_document
from fairlead.manifest.translate.family import AssemblyRules
from fairlead.policy.contract import PolicyName

_SILENT_S: Final = 1.0  # what takes no longer needs no news
_NEWS_EVERY_S: Final = 0.1
_VIEWER: Final = "fairlead-viewer"


class LiveObjects(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was read of a cluster, and how it is to be taken."""

    objects: ClusterObjects
    documents: Sequence[Document]
    findings: tuple[Finding, ...]
    rules: AssemblyRules


class LiveCluster:
    """One cluster, to be read as often as needed as one user."""

    def __init__(self, context: str, kubeconfig: str) -> None:
        """Find the cluster, and ask it nothing yet. "": what is usual, as for kubectl."""
        may_ask = sys.stdin is not None and sys.stdin.isatty()
        wanted = Wanted(kubeconfig=kubeconfig, context=context, may_ask=may_ask)
        self.access, self._findings = find_access(wanted, os.environ)
        # Credentials belong to one event loop, and a login is not to be repeated.
        self.runner = asyncio.Runner()

    def close(self) -> None:
        """Let the cluster go."""
        with contextlib.suppress(RuntimeError):  # a thread that answers a scrape still reads it
            self.runner.close()

    def read(self, policy: PolicyName | None, *, budget_s: float | None = None) -> LiveObjects:
        """Read all objects of *policy*, or of all rule sets. Raises ClusterError."""
        wanted = kinds_to_read(policy)
        with_news = _News(self.access)
        try:
            found = self.runner.run(
                read_cluster(self.access, wanted, budget_s=budget_s, note=with_news)
            )
        finally:
            with_news.end()
        return LiveObjects(
            objects=found,
            documents=[
                cluster_document(each)
                for kind in found.kinds.values()
                for each in kind.listing.objects
            ],
            findings=(*self._findings, *map(_left_out, found.refused.values())),
            rules=rules_without(found.refused),
        )

    def title(self) -> str:
        """Return which cluster it is, for people."""
        return cluster_title(self.access)


def cluster_title(access: Access) -> str:
    """Return which cluster is reached, for people."""
    context = f"context {access.context}" if access.context else "the cluster of this pod"
    return printable(f"{context} ({access.server})")


def _left_out(refusal: Refusal) -> Finding:
    resource = refusal.resource
    name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    return Finding(
        severity="warning",
        code="forbidden",
        file=CLUSTER,
        message=f"found that you may not list {name}, so they are left out",
        fix=f"grant list on {name}, as the ClusterRole {_VIEWER} does",
    )


class _News:
    """Says on a terminal how far a reading is, if it takes long."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._is_wanted = sys.stderr is not None and sys.stderr.isatty()
        self._next_s = time.monotonic() + _SILENT_S
        self._is_shown = False

    def __call__(self, progress: Progress) -> None:
        if not self._is_wanted or time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _NEWS_EVERY_S
        self._is_shown = True
        told = f"{progress.objects:,} objects, {progress.kinds} of {progress.of_kinds} kinds"
        click.echo(f"\rreading {cluster_title(self._access)}: {told}", err=True, nl=False)

    def end(self) -> None:
        """End the line that was written."""
        if self._is_shown:
            click.echo("", err=True)
