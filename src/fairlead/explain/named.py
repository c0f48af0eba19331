"""What a user names: a queue, jobs, or a node, directly or by an object that stands for one."""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from fairlead.errors import FairleadError
from fairlead.explain.text.names import first_few, printable
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.manifest.translate.directory import Entry
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.queue import cohort_queue
from fairlead.model.state import ClusterState


class NamedQueue(msgspec.Struct, frozen=True):
    """A queue; *local_queue* is the LocalQueue through which it was named, if that was so."""

    queue: QueueName
    local_queue: str | None = None


class NamedNode(msgspec.Struct, frozen=True):
    """A node."""

    node: str


class NamedJobs(msgspec.Struct, frozen=True):
    """One job or several, and the object that stands for them; None: the job itself was named."""

    jobs: tuple[WorkloadName, ...]
    via: Entry | None = None


Named: TypeAlias = NamedQueue | NamedNode | NamedJobs

NODE: Final = "node"
LOCAL_QUEUE: Final = "localqueue"
_QUEUES: Final = ("queue", "clusterqueue")


def find_named(assembled: Assembled, text: str) -> Named:
    """Return what *text* names.

    A queue comes first, then a job, a LocalQueue, a node, and any other object of the input. A kind
    before the name, as in ``pod/lab/train-0``, chooses among things of one name.
    """
    state = assembled.state
    if is_queue(state, text):
        return NamedQueue(queue_named(state, text))
    job = job_named(state, text)
    if job is not None:
        return NamedJobs((job,))
    kind, _, rest = text.partition("/")
    kind = kind.lower().partition(".")[0].removesuffix("s")
    local_queue = _local_queue_named(state, rest if kind == LOCAL_QUEUE else text)
    if local_queue is not None:
        queue = state.catalogue.local_queues[local_queue].cluster_queue
        return NamedQueue(queue_named(state, queue), local_queue)
    node = rest if kind == NODE else text
    if node in state.nodes:
        return NamedNode(node)
    if kind in _QUEUES and is_queue(state, rest):
        return NamedQueue(queue_named(state, rest))
    return _jobs_of_object(assembled, text)


class NothingNamedError(FairleadError):
    """Nothing in the input has the name."""


def find_named_in(assembled: Assembled, text: str, namespace: str | None) -> Named:
    """Return what *text* names, looked up in *namespace* first; None: as `find_named`.

    Queues and nodes are of no namespace, so they are found as well. The namespace goes before the
    name, and after the kind if there is one.
    """
    if namespace is None:
        return find_named(assembled, text)
    kind, _, name = text.rpartition("/")
    if "/" not in kind:
        try:
            return find_named(assembled, "/".join(filter(None, (kind, namespace, name))))
        except NothingNamedError:
            pass
    return find_named(assembled, text)


def is_queue(state: ClusterState, text: str) -> bool:
    """Return whether *text* names a queue, or a cohort without its prefix."""
    return not state.queues.keys().isdisjoint((QueueName(text), cohort_queue(text)))


def queue_named(state: ClusterState, text: str) -> QueueName:
    """Return the queue that *text* names; a cohort may be named without its prefix."""
    known = set(state.tree_order())
    for name in (QueueName(text), cohort_queue(text)):
        if name in known:
            return name
    raise _nothing_named(text, (*known, *state.workloads))


def suggestion(state: ClusterState, text: str) -> str:
    """Return which queue or job may have been meant; "": none has such a name."""
    return printable(did_you_mean(text, {*state.tree_order(), *state.workloads}))


def job_named(state: ClusterState, text: str) -> WorkloadName | None:
    """Return the job that *text* names; None if there is none.

    A whole name means that job only. The kind may be left out of it, such as in ``lab/train`` for
    ``lab/pod/train``, and the namespace too, where one job alone is called so.
    """
    if text in state.workloads:
        return WorkloadName(text)
    found = sorted(name for name in state.workloads if text in _short_names(name))
    if len(found) > 1:
        names = printable(", ".join(found))
        raise FairleadError(f"several jobs are named {text!r}: choose one of {names}")
    return found[0] if found else None


def _short_names(name: WorkloadName) -> tuple[str, str]:
    """Return what else a job may be called: by its name alone, and without its kind."""
    namespace, *_, own = name.split("/")
    return own, f"{namespace}/{own}"


def _local_queue_named(state: ClusterState, text: str) -> str | None:
    """Return the LocalQueue that *text* names, with its namespace or without."""
    known = state.catalogue.local_queues
    found = [name for name in known if text in (name, name.partition("/")[2])]
    if text in found or len(found) == 1:
        return text if text in found else found[0]
    if found:
        names = printable(first_few(sorted(found)))
        raise FairleadError(f"a LocalQueue is named with its namespace: {names}")
    return None


def _jobs_of_object(assembled: Assembled, text: str) -> NamedJobs:
    """Return the jobs that an object of the input stands for."""
    found = assembled.directory.find(text)
    if not found:
        state = assembled.state
        raise _nothing_named(
            text,
            (
                *state.tree_order(),
                *state.workloads,
                *state.catalogue.local_queues,
                *state.nodes,
                *assembled.directory.names(),
            ),
        )
    if len({(each.workloads, each.finished) for each in found}) > 1:
        names = printable(first_few(sorted(_title(each) for each in found)))
        raise FairleadError(f"several objects are named {text!r}: choose one of {names}")
    known = [name for name in found[0].workloads if name in assembled.state.workloads]
    return NamedJobs(tuple(known), found[0])


def _title(entry: Entry) -> str:
    return f"{entry.kind.lower()}/{entry.name}"


def _nothing_named(text: str, known: Sequence[str]) -> NothingNamedError:
    guess = printable(did_you_mean(text, set(known)))
    what = guess or "fairlead queues lists the queues, fairlead plan the jobs that wait"
    return NothingNamedError(f"nothing in the input is named {text!r}. {what}")
