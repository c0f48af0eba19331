"""Whether the work of a scenario can run on its cluster: queues, resources, names, and room.

A gang can run if nodes could hold it and its queue may hold it, however empty the cluster is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.axes import Amounts
from fairlead.model.node import Node
from fairlead.model.quantity import show_amount
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints
from fairlead.placement.node_filters import node_defect
from fairlead.policy.contract import PolicyName
from fairlead.sim.scenario.rule_set import ExpectedJob, RuleSet
from fairlead.sim.scenario.scenario import JobList, TraceWork, WorkPart
from fairlead.sim.scenario.variant.nodes import ErrorReport
from fairlead.sim.work.arrivals import At, Every
from fairlead.sim.work.description import ArrivingWork, Drawn, InTurn, Names, expected_jobs
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import highest_draw


class Gang(NamedTuple):
    """So many pods that are alike; without them all their job does not begin."""

    requests: Mapping[str, int]  # of each pod
    pods: int = 1
    node_labels: Mapping[str, str] = {}
    is_drawn: bool = False  # then there are no more pods than that
    preemptible: bool = True

    def __str__(self) -> str:
        up_to = "up to " if self.is_drawn else ""
        return "a pod" if self.pods == 1 else f"a gang of {up_to}{self.pods:,} pods"

    def together(self) -> dict[str, int]:
        """Return what all pods ask for."""
        return {name: amount * self.pods for name, amount in self.requests.items()}


def amounts_text(amounts: Mapping[str, int]) -> str:
    """Write *amounts* in base units for people: ``cpu 2, memory 4Gi``."""
    return ", ".join(f"{name} {show_amount(name, amount)}" for name, amount in amounts.items())


WAITS: Final = "under rules that look at nodes it waits for ever"


class PodRoom:
    """All nodes that there will ever be, equal ones once."""

    def __init__(self, nodes: Iterable[Node], state: ClusterState) -> None:
        """Take *nodes*, without what foreign pods of *state* hold there. Cost: linear in them."""
        self._resources = state.resources
        self._kinds: dict[tuple[object, ...], tuple[Node, Amounts]] = {}
        self._counts: Counter[tuple[object, ...]] = Counter()
        for node in nodes:
            labels = tuple(sorted(node.labels.items()))
            offer = state.books.offered(node)
            kind = offer, labels, node.taints, node.ready, node.cordoned
            self._kinds.setdefault(kind, (node, offer))
            self._counts[kind] += 1

    def pod_lack(self, gang: Gang) -> str | None:
        """Return why no node holds one of the pods, in words that follow "found"; None if one does.

        Cost: the kinds of nodes.
        """
        offers = self._offers(gang.node_labels)
        labels, requests = gang.node_labels, gang.requests
        if not offers:
            found = f"labels {_listed(labels)}" if labels else "no taint"
            return f"a pod for nodes with {found}, of which none takes it"
        if any(self._holds(offer, requests) for offer, _ in offers):
            return None
        columns = zip(*(offer for offer, _ in offers), strict=True)
        most = dict(zip(self._resources, map(max, columns), strict=True))
        short = {
            name: most.get(name, 0)
            for name, amount in requests.items()
            if amount > most.get(name, 0)
        }
        if not short:
            return f"a pod of {amounts_text(requests)}, which no node has together"
        asked = {name: requests[name] for name in short}
        return f"a pod of {amounts_text(asked)}, where no node has more than {amounts_text(short)}"

    def gang_lack(self, gang: Gang) -> str | None:
        """Return why all nodes together do not hold *gang*, as `pod_lack` does of a pod.

        As its pods are alike, it is enough to count how many of them each node holds. Cost: the
        kinds of nodes.
        """
        asked = [(at, gang.requests.get(name, 0)) for at, name in enumerate(self._resources)]
        held = 0
        for offer, count in self._offers(gang.node_labels):
            on_each = min(
                (offer[at] // amount for at, amount in asked if amount), default=gang.pods
            )
            held += max(0, on_each) * count
        if held >= gang.pods:
            return None
        found = f"{gang} of {amounts_text(gang.requests)} each"
        return f"{found}, of which all nodes together hold no more than {held:,}"

    def _offers(self, labels: Mapping[str, str]) -> list[tuple[Amounts, int]]:
        """Return what nodes that take such pods have, and how many have that."""
        constraints = PodConstraints(node_selector=tuple(sorted(labels.items())))
        return [
            (offer, self._counts[kind])
            for kind, (node, offer) in self._kinds.items()
            if node_defect(node, constraints) is None
        ]

    def _holds(self, offer: Amounts, requests: Mapping[str, int]) -> bool:
        has = zip(self._resources, offer, strict=True)
        return all(requests.get(name, 0) <= amount for name, amount in has)


def _listed(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in labels.items())


class QueueRoom:
    """All queues under one rule set."""

    def __init__(self, state: ClusterState, rule_set: RuleSet) -> None:
        """Take the queues of *state*. Cost: linear in them."""
        self._bounds = rule_set.queue_bounds(state)
        self._keeps_jobs = rule_set.keeps_non_preemptible
        self._most: dict[tuple[str, str, bool], int | None] = {}

    def lack(self, queue: str, gang: Gang) -> str | None:
        """Return why *queue* never holds *gang*, in words that follow "found"; None if it may.

        Cost: the levels above the queue, once for each of its resources.
        """
        is_kept = self._keeps_jobs and not gang.preemptible
        asked, most = {}, {}
        for resource, amount in gang.together().items():
            bound = self._most_of(queue, resource, is_kept)
            if bound is not None and amount > bound:
                asked[resource], most[resource] = amount, bound
        if not asked:
            return None
        found = f"{gang} {'of' if gang.pods == 1 else 'with'} {amounts_text(asked)}"
        together = "" if gang.pods == 1 else " together"
        bounded = f"queue {quote(queue)} may hold no more than {amounts_text(most)}"
        kept = " in jobs that are not preemptible" if is_kept else ""
        return f"{found}{together}, where {bounded}{kept}"

    def _most_of(self, queue: str, resource: str, is_kept: bool) -> int | None:
        key = queue, resource, is_kept
        if key not in self._most:
            self._most[key] = self._bounds.most(queue, resource, preemptible=not is_kept)
        return self._most[key]


LackKind: TypeAlias = Literal["pod", "gang", "queue"]
"""What is too large: a pod for each node, a gang for all of them, or a gang for its queue."""


class Lack(NamedTuple):
    """Why a gang waits for ever: ``what`` follows "found", ``waits`` says under which rules."""

    kind: LackKind
    what: str
    waits: str


class Room(NamedTuple):
    """What bounds gangs; without ``nodes`` none do, and ``queues`` are by rule set."""

    nodes: PodRoom | None
    queues: Mapping[PolicyName, QueueRoom]

    def lacks(self, gang: Gang, queues: Sequence[str]) -> Iterator[Lack]:
        """Yield what keeps *gang* from running for ever, of nodes and of *queues*.

        Only the first queue that is too small is reported. Rule sets with the same finding share
        one.
        """
        if self.nodes is not None:
            of_pod = self.nodes.pod_lack(gang)
            if of_pod is not None:
                yield Lack("pod", of_pod, WAITS)
            elif (of_gang := self.nodes.gang_lack(gang)) is not None:
                yield Lack("gang", of_gang, WAITS)
        under: dict[str, list[str]] = {}
        for policy, room in self.queues.items():
            lacks = (room.lack(queue, gang) for queue in queues)
            first = next((lack for lack in lacks if lack is not None), None)
            if first is not None:
                under.setdefault(first, []).append(policy)
        for lack, policies in under.items():
            yield Lack("queue", lack, f"under {', '.join(policies)} it waits for ever")


class Offer(NamedTuple):
    """What jobs can ask for under one rule set."""

    queues: set[str]
    resources: tuple[str, ...]


def check_work(
    part: WorkPart, offer: Offer, path: Path, job_places: Mapping[str, Path], report: ErrorReport
) -> None:
    """Report queues and resources of *part*, at *path*, that do not exist; nothing about a log.

    *job_places* says where listed jobs stand.
    """
    for name, place in _queues(part, path, job_places):
        if name not in offer.queues:
            message = f"found the queue {quote(name)}, which does not exist or runs no jobs"
            hint = did_you_mean(name, offer.queues) or "name a queue with none below it"
            report(place, "missing-reference", message, hint)
    known = offer.resources
    usual = f"ask for {', '.join(known)}" if known else "add it to the capacity of nodes"
    for each in gangs_of(part, path, job_places):
        for resource in each.gang.requests:
            if resource not in known:
                message = f"found {quote(resource)}, which no node has"
                hint = did_you_mean(resource, known) or usual
                report((*each.path, "requests"), "missing-reference", message, hint)


def _queues(
    part: WorkPart, path: Path, job_places: Mapping[str, Path]
) -> Iterator[tuple[str, Path]]:
    match part:
        case TraceWork():
            return
        case JobList(jobs=jobs):
            first = {job.queue: job.name for job in reversed(jobs)}
            for name in sorted(first):
                yield name, job_places[first[name]]
        case _:
            for name in _each(part.queue):
                yield name, (*path, "queue")


class GangAsked(NamedTuple):
    """The gang of a job or a shape, where it stands, and the queues that it may be for."""

    path: Path
    name: str  # of the job, or of the source of the shape
    queues: tuple[str, ...]
    gang: Gang
    is_elastic: bool  # there may be more pods

    def expected(self) -> ExpectedJob:
        """Return what rule sets are told of it."""
        return ExpectedJob(
            self.name,
            self.queues,
            self.gang.requests,
            most_pods=self.gang.pods,
            fewest_pods=1 if self.gang.is_drawn else self.gang.pods,
            is_fixed=not (self.is_elastic or self.gang.is_drawn),
            preemptible=self.gang.preemptible,
        )


def gangs_of(part: WorkPart, path: Path, job_places: Mapping[str, Path]) -> Iterator[GangAsked]:
    """Yield the gangs that the file describes under *path*: none of a log.

    Of a shape it is the largest that may be drawn.
    """
    match part:
        case TraceWork():
            return
        case JobList(jobs=jobs):
            for job in jobs:
                gang = Gang(
                    job.requests, job.min_pods, job.node_labels, preemptible=job.preemptible
                )
                is_elastic = job.min_pods < job.pods
                yield GangAsked(job_places[job.name], job.name, (job.queue,), gang, is_elastic)
        case _:
            queues = tuple(_each(part.queue))
            for place, shape in enumerate(part.shapes):
                is_elastic = shape.min_pods is not None and shape.min_pods != shape.pods
                gang = _largest_gang(shape)
                yield GangAsked((*path, "shapes", place), part.name, queues, gang, is_elastic)


def _largest_gang(shape: JobShape) -> Gang:
    return Gang(
        shape.requests,
        highest_draw(shape.pods) if shape.min_pods is None else shape.min_pods,
        shape.node_labels,
        is_drawn=shape.min_pods is None and not isinstance(shape.pods, int),
        preemptible=shape.preemptible,
    )


def _each(names: Names) -> list[str]:
    match names:
        case str():
            return [names]
        case InTurn(names=listed):
            return list(listed)
        case Drawn(names=weighted):
            return [name for name, _ in weighted]


RENAME: Final = "rename one of them"


class Clash(NamedTuple):
    """Where a name stands that another job has too, and which."""

    path: Path
    message: str


class _Numbered(NamedTuple):
    """A source whose jobs are numbered, and how many there can be; None: any number."""

    path: Path
    most: int | None


class JobNames:
    """All names of jobs that the file lists, and all that its sources can make."""

    def __init__(
        self, listed: Mapping[str, Path], parts: Mapping[Path, WorkPart], until_ms: int | None
    ) -> None:
        """Take the *listed* jobs by name, and *parts* by where they stand."""
        self._listed = listed
        self._numbered = {
            part.name: _Numbered(path, _most_jobs(part, until_ms))
            for path, part in parts.items()
            if not isinstance(part, JobList | TraceWork)
        }
        self._of_logs: dict[Path, Clash] = {}  # the first at each place

    def notice(self, name: str, source: str) -> None:
        """Take notice that the log of *source* has a job called *name*. Cost: two look-ups."""
        path = self._listed.get(name)
        maker = self._maker(name) if path is None and self._numbered else None
        if path is None and maker is None:
            return
        what = f"the job {quote(name)}, which"
        if maker is not None:
            path = self._numbered[maker].path
            what = f"the source {quote(maker)}, whose job {quote(name)}"
        assert path is not None
        if path not in self._of_logs:
            message = f"found {what} is in the log of {quote(source)} too, expected a name each"
            self._of_logs[path] = Clash((*path, "name"), message)

    def clashes(self) -> Iterator[Clash]:
        """Yield names that two jobs have; those of logs are known once all jobs were noticed."""
        for name, path in self._listed.items():
            maker = self._maker(name)
            if maker is not None:
                message = f"found the job {quote(name)}, as the source {quote(maker)} calls one of "
                yield Clash((*path, "name"), f"{message}its own, expected a name each")
        yield from self._of_logs.values()

    def _maker(self, name: str) -> str | None:
        """Return the source that can give *name* to a job by numbering."""
        source, dash, number = name.rpartition("-")
        found = self._numbered.get(source) if dash else None
        if found is None or not (number.isascii() and number.isdigit()) or number[0] == "0":
            return None
        is_within = found.most is None or len(number) <= len(str(found.most))
        return source if is_within and (found.most is None or int(number) <= found.most) else None


def _most_jobs(part: WorkPart, until_ms: int | None) -> int | None:
    """Return how many jobs *part* submits at most; None where chance or other jobs decide."""
    match part:
        case ArrivingWork(arrivals=At() | Every()):
            return expected_jobs(part, until_ms)
        case JobList() | TraceWork():
            return None
        case _:
            return part.jobs_at_most
