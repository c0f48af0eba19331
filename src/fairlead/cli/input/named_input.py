"""What a command is to read, as its options and arguments name it, and under which rules.

That is files, or a cluster, or a cluster with what files add to it.
"""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from fairlead.cli.input.options import Command, read_standard_input
from fairlead.errors import Finding
from fairlead.manifest.finding import Findings
from fairlead.manifest.load import LoadResult, load
from fairlead.manifest.text.documents import Document, read_documents
from fairlead.policy.contract import POLICY_NAMES, PolicyName

if TYPE_CHECKING:
    from fairlead.cli.input.live_objects import LiveCluster, LiveObjects

_NAME_WHAT = (
    "name what to read: -f FILE, -f FOLDER, or -f - for standard input; or a cluster: "
    "--context NAME, or -A for that of the current context"
)


class ClusterChoice(NamedTuple):
    """Which cluster is meant; "": what is usual, as for kubectl."""

    context: str = ""
    kubeconfig: str = ""


class NamedInput:
    """Files, folders, standard input and a cluster, to be read as often as needed."""

    def __init__(
        self,
        names: tuple[str, ...],
        policy: PolicyName | None,
        *,
        strict: bool = False,
        cluster: ClusterChoice | None = None,
        namespace: str | None = None,
    ) -> None:
        """Read nothing yet. *policy* None: the rule set is that of the objects.

        *namespace* is the one to which an answer is to be limited; None: it is not.
        """
        self.names = names
        self.policy = policy
        self.strict = strict
        self.cluster = cluster
        self.namespace = namespace
        self._stdin: bytes | None = None
        self._live: LiveCluster | None = None
        self._objects: LiveObjects | None = None

    def load(
        self, *changes: str, shard: str | None = None, every_shard: bool = False
    ) -> LoadResult:
        """Read everything that is named, with *changes* applied; naming nothing is wrong usage.

        *shard* and *every_shard* are as for `load`. Standard input and a cluster are read once, so
        that two sides of a comparison are of one moment. Raises ClusterError and ManifestError
        where a cluster cannot be read.
        """
        names = [*self.names, *changes]
        if not names and self.cluster is None:
            raise click.UsageError(_NAME_WHAT)
        if "" in names:
            raise click.UsageError(
                "found an empty path, perhaps from a variable that is not set: "
                "name a file, a folder, or - for standard input"
            )
        how: dict[str, Any] = {
            "policy": self.policy,
            "strict": self.strict,
            "stdin": io.BytesIO(self._standard_input(names)),
            "changes": changes,
            "shard": shard,
            "every_shard": every_shard,
        }
        if self.cluster is None:
            return load(self.names, **how)
        live = self.objects()
        rules = msgspec.structs.replace(live.rules, refuses_invalid=self.strict)
        found = load(self.names, made=live.documents, rules=rules, **how)
        own = tuple(map(_with_own_fix, found.findings))
        return msgspec.structs.replace(found, findings=(*live.findings, *own))

    def objects(self) -> LiveObjects:
        """Return the objects of the cluster, read once; what is read is said."""
        if self._objects is None:
            live = self.live()
            self._objects = live.read(self.policy)
            found = self._objects.objects
            counts = f"{found.count():,} objects of {len(found.kinds)} kinds"
            click.echo(f"{live.title()}: {counts}", err=True)
        return self._objects

    def documents(self) -> list[Document]:
        """Return what files hold, without findings: `load` reports these."""
        stdin = io.BytesIO(self._standard_input([*self.names]))
        return read_documents(self.names, Findings(), stdin=stdin)

    def forget(self) -> None:
        """Let the next `load` read the cluster anew."""
        self._objects = None

    def read_again(self, budget_s: float) -> None:
        """Read the cluster, if there is one, anew for the next `load`, within a time."""
        if self.cluster is not None:
            self._objects = self.live().read(self.policy, budget_s=budget_s)

    def live(self) -> LiveCluster:
        """Return the cluster that is named."""
        if self._live is None:
            from fairlead.cli.input.live_objects import LiveCluster

            assert self.cluster is not None, "a cluster is named"
            self._live = LiveCluster(self.cluster.context, self.cluster.kubeconfig)
            click.get_current_context().call_on_close(self._live.close)
        return self._live

    def _standard_input(self, names: list[str]) -> bytes:
        if self._stdin is None and "-" in names:
            self._stdin = read_standard_input(names)
        return self._stdin or b""


def _with_own_fix(finding: Finding) -> Finding:
    """Say what to do with an object of a file that the cluster has already."""
    if finding.code != "duplicate-object":
        return finding
    fix = (
        "leave it out of the file, since -f adds what the cluster does not have; "
        "fairlead plan --diff FILE shows what a change would do"
    )
    return msgspec.structs.replace(finding, fix=fix)


def reads_input(command: Command) -> Command:
    """Add the options that say what to read and under which rules: *command* gets it as ``asked``.

    To be the last decorator but that of the command and its arguments before the paths.
    """

    @functools.wraps(command)
    def with_input(
        *arguments: Any,
        files: tuple[str, ...],
        more_files: tuple[str, ...],
        context_name: str | None,
        kubeconfig: str | None,
        namespace: str | None,
        all_namespaces: bool,
        policy: Any,
        strict: bool,
        **options: Any,
    ) -> Any:
        if all_namespaces and namespace is not None:
            raise click.UsageError("-A shows all namespaces and -n one: leave out one of the two")
        is_live = all_namespaces or any(
            each is not None for each in (context_name, kubeconfig, namespace)
        )
        asked = NamedInput(
            (*files, *more_files),
            policy,
            strict=strict,
            cluster=ClusterChoice(context_name or "", kubeconfig or "") if is_live else None,
            namespace=namespace,
        )
        return command(*arguments, asked=asked, **options)

    named: Any = with_input
    for option in reversed((*_FILES, *_CLUSTER, *_RULES)):
        named = option(named)
    found: Command = named
    return found


def _not_empty(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty name: it would silently mean the current context, or all namespaces."""
    if value == "":
        raise click.BadParameter("found an empty name, perhaps from a variable that is not set")
    return value


_FILES = (
    click.option(
        "-f",
        "--file",
        "files",
        multiple=True,
        type=click.Path(allow_dash=True),
        metavar="PATH",
        help="File, folder or - for standard input; may be repeated.",
    ),
    click.argument("more_files", nargs=-1, type=click.Path(allow_dash=True), metavar="[PATH]..."),
)
_CLUSTER = (
    click.option(
        "--context",
        "context_name",
        metavar="NAME",
        callback=_not_empty,
        help="Read the cluster of this context of your kubeconfig; -f adds objects to it.",
    ),
    click.option(
        "--kubeconfig",
        metavar="FILE",
        callback=_not_empty,
        help="Find clusters in this file; by default as kubectl does.",
    ),
    click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        callback=_not_empty,
        help="Read a cluster, and show what is of this namespace only.",
    ),
    click.option(
        "-A",
        "--all-namespaces",
        is_flag=True,
        help="Read a cluster, and show all of it: the default with --context.",
    ),
)
_RULES = (
    click.option(
        "--policy",
        type=click.Choice(POLICY_NAMES),
        help="Rule set; by default the one whose objects are there.",
    ),
    click.option("--strict", is_flag=True, help="Refuse unknown fields."),
)
