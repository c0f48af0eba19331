"""Advice on k, the weight of past use: with which k jobs that are there get their turn.

Among siblings of one priority that all want more, a queue with the part w of their weights and the
part u of the cluster's past use counts with max(0, w + k(w - u)). For a queue that used nothing it
is best if the others used as much as they can: P of the cluster, which is the largest sum of their
jobs within what their parent has. With jobs of 7 GPUs on 8 that is 7/8. If jobs of some of them are
not known, it is all that the parent has. Together they never count with less than (1 + k) - kP,
however they used P, so of the o GPUs beyond all quotas the queue gets

    o(1 + k)w / ((1 + k) - kP)

at most, and all o if that is more. To get n GPUs beyond its own quota it takes

    k >= (n - ow) / (ow - n(1 - P))

and where P is 1, k >= n/(ow) - 1. That much is necessary, and not sufficient, since the siblings
may have used less: those that wait like it divide o among themselves by weight, whatever k is. With
W for the weights of them and of the queue it then gets ow/W. So do they; one whose smallest job
fits its part o w_i/W gets its turn and waits no more. If all would wait, one of them holds what all
wait for: the lightest. What is left in W are the queues that may wait for ever, and a job of more
than ow/W may wait with them.

Shares are whole GPUs: of two siblings the one with the larger fraction gets the last one, so half a
GPU less is enough; of more, it depends on the fractions of all, so n is asked for in full.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from math import gcd
from typing import Final, NamedTuple

from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assembly.usage import KaiUsage
from fairlead.manifest.kai.notation import KAI_AXES
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.fields import exact_decimal
from fairlead.manifest.text.path import Path, quote
from fairlead.model.axes import QueueName
from fairlead.model.quantity import scale_of
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload

_LEAST_K: Final = Fraction(1, 10**9)  # past use is known to nine decimals
_MAX_UNITS: Final = 10**7  # amounts of GPUs that are looked at one by one
_GPU: Final = KAI_AXES.index("gpu")
_TWO: Final = 2


class Sibling(NamedTuple):
    """A queue beside others of its priority."""

    queue: str
    part: Fraction  # of the weights of all of them
    needs: Fraction | None  # GPUs beyond its quota for its smallest job; None: not known


class Siblings:
    """All queues of one priority below one parent, and what they have beyond quotas, in GPUs."""

    def __init__(self, members: Sequence[Sibling], rest: Fraction) -> None:
        """Take the *members*. Cost: sorting them."""
        self.rest = rest
        self.count = len(members)
        self._known = sorted(
            (each.needs / each.part, each) for each in members if each.needs is not None
        )
        self._lightest = sorted(members, key=lambda each: each.part)[:2]
        self._waiting: dict[tuple[Fraction, Fraction | None], Fraction] = {}

    def waiting(self, own: Sibling) -> Fraction:
        """Return W: the part of those that may wait for ever if *own* does, itself included.

        Cost: the members, once for each part and need.
        """
        alike = own.part, own.needs
        if alike not in self._waiting:
            found = self._without_helped(own, Fraction(1), None)
            if found == 1:  # but then what they wait for would be idle
                lightest = next(each for each in self._lightest if each.queue != own.queue)
                found = self._without_helped(own, 1 - lightest.part, lightest)
            self._waiting[alike] = found
        return self._waiting[alike]

    def _without_helped(self, own: Sibling, waiting: Fraction, holder: Sibling | None) -> Fraction:
        """Return what is left of *waiting* without those whose smallest jobs get their turn."""
        for needs, rival in self._known:
            if needs * waiting > self.rest:
                break
            if rival.queue != own.queue and rival is not holder:
                waiting -= rival.part
        return waiting


class Contest(NamedTuple):
    """One queue among its siblings, all of which want more, in GPUs."""

    own: Sibling
    siblings: Siblings  # itself included
    quota: Fraction
    used: Fraction  # P: the most that the jobs of the others can hold of the cluster

    @property
    def queue(self) -> str:
        """The name of the queue."""
        return self.own.queue

    @property
    def plain(self) -> Fraction:
        """What it has beyond its quota without past use: ow."""
        return self.siblings.rest * self.own.part

    def most(self) -> Fraction:
        """Return the GPUs that no k takes it beyond while others may wait like it."""
        return self.quota + self.plain / max(self.siblings.waiting(self.own), 1 - self.used)

    def entitled(self, k: Fraction) -> Fraction:
        """Return its GPUs after the others used the most, before they are rounded."""
        total = max((1 + k) - k * self.used, (1 + k) * self.own.part)
        return self.quota + (1 + k) * self.plain / total

    def needed(self, gpus: Fraction) -> Fraction:
        """Return what share rounds up to *gpus*."""
        return gpus - Fraction(1, 2) if self.siblings.count == _TWO else gpus

    def least_k(self, gpus: Fraction) -> Fraction | None:
        """Return the k below which it is never entitled to *gpus*; None: no k is enough."""
        beyond = self.needed(gpus) - self.quota
        if beyond <= self.plain:
            return Fraction(0)
        gained = self.plain - beyond * (1 - self.used)
        if gained <= 0 or self.needed(gpus) > self.most():
            return None
        return (beyond - self.plain) / gained


class AskedJob(NamedTuple):
    """A job and the GPUs, in base units, with which it starts.

    *sizes* are what one such job can hold; none where that is not known. The *smallest* job of its
    kind may start with fewer.
    """

    name: str
    queue: QueueName
    least: int
    smallest: int
    sizes: frozenset[int]
    preemptible: bool = True


class Advice(NamedTuple):
    """What is found, and how to fix it."""

    message: str
    fix: str


def advise_on_k(usage: KaiUsage, state: ClusterState, findings: Findings) -> None:
    """Remark on a k with which a job that is there cannot win its GPUs back from siblings."""
    k = usage.settings.k
    if usage.settings.usage is None or k <= 0 or usage.source is None:
        return
    if k < _LEAST_K:
        _warn_of_tiny_k(k, usage.source, usage.k_path, findings)
        return
    advice = advice_on_k(k, state, _jobs(state))
    if advice is not None:
        usage.source.report(findings, "advice", "ill-matched", usage.k_path, *advice)


def advice_on_k(k: Fraction, state: ClusterState, jobs: Iterable[AskedJob]) -> Advice | None:
    """Return at most one piece of advice on *jobs* for the queues and nodes of *state*.

    On a job that no k helps, else on the one that takes the largest k. None: no job is larger than
    the share of its queue. Cost: the jobs and the queues.
    """
    asked = list(jobs)
    contests = _contests(state, asked)
    hardest: tuple[Fraction, AskedJob, Contest] | None = None
    for job in asked:
        # Where it is not preemptible it may hold quota only, on which k has no effect.
        for contest in _on_the_way(job.queue, contests, state) if job.preemptible else ():
            least = contest.least_k(_gpus(job.least))
            if least is None:
                return _no_k_helps(job, contest)
            if least > k and (hardest is None or least > hardest[0]):
                hardest = (least, job, contest)
    if hardest is None:
        return None
    least, job, contest = hardest
    return Advice(
        f"found k = {exact_decimal(k):g}, with which {quote(contest.queue)} is entitled to "
        f"{_rounded(contest.entitled(k))} GPUs at most while its siblings want more too, and "
        f"{quote(job.name)} needs {_rounded(_gpus(job.least))}: it can never win them back from "
        "siblings, however little its queue used",
        f"write {_rounded_up(least)} or more; with less than about {_rounded(least)} it can "
        "never, with more it can if its siblings used enough",
    )


def _no_k_helps(job: AskedJob, contest: Contest) -> Advice:
    return Advice(
        f"found {quote(job.name)}, which needs {_rounded(_gpus(job.least))} GPUs, and "
        f"{quote(contest.queue)} is entitled to {_rounded(contest.most())} at most while its "
        "siblings wait too: no k changes that: k divides only what is beyond quotas, and siblings "
        "that used little share it",
        "give the queue a larger quota or weight, or make the job smaller",
    )


def _warn_of_tiny_k(k: Fraction, source: Source, at: Path, findings: Findings) -> None:
    source.report(
        findings,
        "warning",
        "no-effect",
        at,
        f"found k = {exact_decimal(k):g}, which counts and moves no share by more than some "
        "billionths of the cluster; where nine decimals or fewer are shown it looks like 0",
        "write a larger number, such as 1, or 0 if past usage should not count",
    )


def _jobs(state: ClusterState) -> Iterator[AskedJob]:
    """Yield the jobs of *state* by name, each with the fewest pods with which it starts.

    Pods that a job may do without count on their own: no sum that can be held is left out.
    """
    for name, workload in sorted(state.workloads.items()):
        needed = _needed(workload, state)
        sizes = {needed}
        if workload.min_count < workload.pod_count():
            sizes.update(request for request, _ in _requests(workload, state))
        yield AskedJob(
            name,
            workload.queue,
            needed,
            needed,
            frozenset(sizes - {0}),
            preemptible=workload.preemptible,
        )


def _needed(workload: Workload, state: ClusterState) -> int:
    """Return what the fewest pods request with which *workload* starts."""
    left, needed = workload.min_count, 0
    for request, count in sorted(_requests(workload, state)):
        started = min(left, count)
        needed += request * started
        left -= started
    return needed


def _requests(workload: Workload, state: ClusterState) -> list[tuple[int, int]]:
    """Return what a pod of each set requests, and how many there are."""
    return [
        (state.axes.charge(state.resources, pods.requests)[_GPU], pods.count)
        for pods in workload.pod_sets
    ]


def _job_sizes(jobs: Iterable[AskedJob], state: ClusterState) -> dict[str, Set[int]]:
    """Return what one job of each queue, or of a queue below it, can hold; none: not known."""
    found: dict[str, set[int]] = {}
    unknown: set[str] = set()
    for job in jobs:
        for name in state.path(job.queue):
            found.setdefault(name, set()).update(job.sizes)
            if job.least and not job.sizes:
                unknown.add(name)
    return {name: frozenset() if name in unknown else sizes for name, sizes in found.items()}


def _most_held(sizes: Set[int], has: int) -> int:
    """Return the largest sum within *has* of any number of jobs of these *sizes*.

    Beyond the square of the largest size there is no gap in what can be held; of clusters that
    are too large to look at every amount, none is looked for.
    """
    unit = gcd(*sizes)
    most = has // unit
    if most > min((max(sizes) // unit) ** 2, _MAX_UNITS):
        return most * unit
    within = (1 << most + 1) - 1
    sums = 1  # bit n: n units can be held
    for size in sizes:
        step = size // unit
        while step <= most:
            sums |= sums << step & within
            step *= 2
    return (sums.bit_length() - 1) * unit


def _on_the_way(
    queue: QueueName, contests: Mapping[str, Contest], state: ClusterState
) -> Iterator[Contest]:
    """Yield the contests of a queue and of those above it, the top one first."""
    for name in reversed(state.path(queue)):
        if name in contests:
            yield contests[name]


def _smallest_jobs(jobs: Iterable[AskedJob], state: ClusterState) -> dict[str, int]:
    """Return with how much the smallest job of each queue, or of one below it, starts."""
    found: dict[str, int] = {}
    for job in jobs:
        for name in state.path(job.queue) if job.smallest else ():
            found[name] = min(found.get(name, job.smallest), job.smallest)
    return found


def _contests(state: ClusterState, jobs: Sequence[AskedJob]) -> dict[str, Contest]:
    """Return the contest of each queue that has a weight and siblings, from the top down.

    An inner queue divides what it is entitled to without past use while its own siblings want more.
    """
    total = _gpus(state.total()[_GPU])
    sizes, smallest = _job_sizes(jobs, state), _smallest_jobs(jobs, state)
    found: dict[str, Contest] = {}
    has = {"": total}
    for parent in [None, *state.tree_order()]:
        queues = [state.queues[name] for name in state.children(parent)]
        room = has[parent or ""]
        has.update((queue.name, room) for queue in queues)
        rest = _beyond_quotas(queues, room)
        for siblings in _by_priority(queues) if room > 0 else ():
            parts = _parts(siblings, smallest)
            together = Siblings(parts, rest)
            for queue, own in zip(siblings, parts, strict=True):
                quota = queue.guaranteed[_GPU]
                if quota is None:
                    continue
                rivals = [each for each in siblings if each is not queue]
                held = _held_by_rivals(rivals, room, sizes)
                contest = Contest(
                    own=own,
                    siblings=together,
                    quota=_gpus(quota),
                    used=held / total if total else held,
                )
                found[queue.name] = contest
                has[queue.name] = contest.entitled(Fraction(0))
    return found


def _beyond_quotas(queues: Sequence[Queue], room: Fraction) -> Fraction:
    quotas = (each.guaranteed[_GPU] for each in queues)
    return max(Fraction(0), room - sum((room if q is None else _gpus(q) for q in quotas), 0))


def _by_priority(queues: Sequence[Queue]) -> Iterator[list[Queue]]:
    """Yield the queues with a weight that compete: several of one priority."""
    found: dict[int, list[Queue]] = {}
    for queue in queues:
        if queue.weights[_GPU] > 0:
            found.setdefault(queue.priority, []).append(queue)
    yield from (each for each in found.values() if len(each) > 1)


def _parts(siblings: Sequence[Queue], smallest: Mapping[str, int]) -> tuple[Sibling, ...]:
    weights = sum(Fraction(each.weights[_GPU]) for each in siblings)
    return tuple(
        [
            Sibling(
                queue.name,
                Fraction(queue.weights[_GPU]) / weights,
                _gpus(max(0, smallest[queue.name] - (queue.guaranteed[_GPU] or 0)))
                if queue.name in smallest
                else None,
            )
            for queue in siblings
        ]
    )


def _held_by_rivals(
    rivals: Sequence[Queue], has: Fraction, sizes: Mapping[str, Set[int]]
) -> Fraction:
    """Return the GPUs that jobs of *rivals* can hold together of what their parent *has*.

    It is all of them where a rival has no jobs now, or none that fits.
    """
    known: list[Set[int]] = [sizes.get(each.name, frozenset()) for each in rivals]
    if not known or not all(known):
        return has
    together = frozenset[int]().union(*known)
    return _gpus(_most_held(together, int(has * scale_of("gpu")))) or has


def _gpus(amount: int) -> Fraction:
    return Fraction(amount, scale_of("gpu"))


def _rounded(number: Fraction) -> str:
    return f"{float(number):.3g}"


def _rounded_up(number: Fraction) -> str:
    """Return *number* with two decimals, never less than it is."""
    hundredths = -((-number.numerator * 100) // number.denominator)
    return f"{hundredths // 100}.{hundredths % 100:02}".rstrip("0").rstrip(".")
