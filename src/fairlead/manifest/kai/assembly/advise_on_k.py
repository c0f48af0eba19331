"""Advice on k, the weight of past use: with which k jobs that are there get their turn.

Among siblings of one priority that all want more, a queue with the part w of their weights and the
part u of the cluster's past use counts with max(0, w + k(w - u)). For a queue that used nothing it
is best if the others used as much as they can: P of the cluster, which is the largest sum of their
jobs within what their parent has. With jobs of 7 GPUs on 8 that is 7/8. If jobs of some of them are
not known, it is all that the parent has. Here one of them, the lightest, used all that, and the
others wait like the queue itself. With w_h for that sibling all of them together count with

    S = (1 + k)(1 - w_h) + max(0, (1 + k)w_h - kP)

so of the o GPUs beyond all quotas the queue gets o(1 + k)w / S. This rises with k, up to
o w / (1 - min(w_h, P)): the waiting siblings share among themselves, whatever k is. To get n GPUs
beyond its own quota it takes

    k >= (n - ow) / (ow - n(1 - P))

and where P is 1, k >= n/(ow) - 1. That much is necessary: the siblings together never count with
less than (1 + k) - kP, however they used P, so with a smaller k the queue is never entitled to n.
It is not sufficient, since the siblings may have used less. Shares are whole GPUs: of two siblings
the one with the larger fraction gets the last one, so half a GPU less is enough; of more, it
depends on the fractions of all, so n is asked for in full.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from fractions import Fraction
from math import gcd
from typing import Final, NamedTuple

from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assembly.usage import KaiUsage
from fairlead.manifest.kai.notation import KAI_AXES
from fairlead.manifest.kai.objects import KaiQueueObject
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.fields import exact_decimal
from fairlead.manifest.text.path import Path, quote
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.quantity import scale_of
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload

_LEAST_K: Final = Fraction(1, 10**9)  # past use is known to nine decimals
_GPU: Final = KAI_AXES.index("gpu")
_TWO: Final = 2


class Contest(NamedTuple):
    """One queue among its siblings, all of which want more, in GPUs."""

    queue: str
    part: Fraction  # w: of the weights of its siblings of one priority
    lightest: Fraction  # w_h: the same of the lightest other one
    siblings: int  # itself included
    rest: Fraction  # o: beyond all quotas
    quota: Fraction
    used: Fraction  # P: the most that the jobs of the others can hold of the cluster

    @property
    def most(self) -> Fraction:
        """The GPUs that no k takes it beyond while others wait like it."""
        others = 1 - min(self.lightest, self.used)
        return self.quota + (self.rest * self.part / others if others else self.rest)

    def entitled(self, k: Fraction) -> Fraction:
        """Return its GPUs after the others used the most, before they are rounded."""
        held = max(Fraction(0), (1 + k) * self.lightest - k * self.used)
        total = (1 + k) * (1 - self.lightest) + held
        return self.quota + self.rest * (1 + k) * self.part / total

    def needed(self, gpus: Fraction) -> Fraction:
        """Return what share rounds up to *gpus*."""
        return gpus - Fraction(1, 2) if self.siblings == _TWO else gpus

    def least_k(self, gpus: Fraction) -> Fraction | None:
        """Return the k below which it is never entitled to *gpus*; None: no k is enough."""
        beyond = self.needed(gpus) - self.quota
        plain = self.rest * self.part
        if beyond <= plain:
            return Fraction(0)
        gained = plain - beyond * (1 - self.used)
        if self.needed(gpus) > self.most or gained <= 0:
            return None
        return (beyond - plain) / gained


def advise_on_k(
    usage: KaiUsage, queues: Sequence[KaiQueueObject], state: ClusterState, findings: Findings
) -> None:
    """Remark on a k with which a job that is there cannot win its GPUs back from siblings.

    At most one remark: on a job that no k helps, else on the one that takes the largest k. Without
    a job that is larger than its queue's share there is none. Cost: the workloads and the queues.
    """
    k = usage.settings.k
    if usage.settings.usage is None or k <= 0 or usage.source is None:
        return
    if k < _LEAST_K:
        _warn_of_tiny_k(k, usage.source, usage.k_path, findings)
        return
    contests = _contests(queues, state)
    hardest: tuple[Fraction, WorkloadName, Fraction, Contest] | None = None
    for job, queue, gpus in _jobs(state):
        for contest in _on_the_way(queue, contests, state):
            least = contest.least_k(gpus)
            if least is None:
                _advise_without_k(job, gpus, contest, usage, findings)
                return
            if least > k and (hardest is None or least > hardest[0]):
                hardest = (least, job, gpus, contest)
    if hardest is not None:
        least, job, gpus, contest = hardest
        _report(
            usage,
            f"found k = {exact_decimal(k):g}, with which {quote(contest.queue)} is entitled to "
            f"{_rounded(contest.entitled(k))} GPUs at most while its siblings want more too, and "
            f"{quote(job)} needs {_rounded(gpus)}: it can never win them back from siblings, "
            "however little its queue used",
            f"write {_rounded_up(least)} or more; with less than about {_rounded(least)} it can "
            "never, with more it can if its siblings used enough",
            findings,
        )


def _advise_without_k(
    job: str, gpus: Fraction, contest: Contest, usage: KaiUsage, findings: Findings
) -> None:
    _report(
        usage,
        f"found {quote(job)}, which needs {_rounded(gpus)} GPUs, and {quote(contest.queue)} is "
        f"entitled to {_rounded(contest.most)} at most while its siblings wait too: no k changes "
        "that: k divides only what is beyond quotas, and siblings that used little share it",
        "give the queue a larger quota or weight, or make the job smaller",
        findings,
    )


def _report(usage: KaiUsage, message: str, fix: str, findings: Findings) -> None:
    assert usage.source is not None
    usage.source.report(findings, "advice", "ill-matched", usage.k_path, message, fix)


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


def _jobs(state: ClusterState) -> Iterator[tuple[WorkloadName, QueueName, Fraction]]:
    """Yield each preemptible job with the GPUs of the fewest pods with which it starts."""
    for name in sorted(state.workloads):
        workload = state.workloads[name]
        if not workload.preemptible:
            continue  # it may hold quota only, on which k has no effect
        needed = _needed(workload, state)
        if needed:
            yield name, workload.queue, _gpus(needed)


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


def _job_sizes(state: ClusterState) -> dict[str, set[int]]:
    """Return what one job of each queue, or of a queue below it, can hold.

    Pods that a job may do without count on their own: no sum that can be held is left out.
    """
    found: dict[str, set[int]] = {}
    for workload in state.workloads.values():
        sizes = {_needed(workload, state)}
        if workload.min_count < workload.pod_count():
            sizes.update(request for request, _ in _requests(workload, state))
        for name in state.path(workload.queue):
            found.setdefault(name, set()).update(sizes - {0})
    return found


def _most_held(sizes: Set[int], has: int) -> int:
    """Return the largest sum within *has* of any number of jobs of these *sizes*."""
    unit = gcd(*sizes)
    most = has // unit
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


def _contests(queues: Sequence[KaiQueueObject], state: ClusterState) -> dict[str, Contest]:
    """Return the contest of each queue that has a weight and siblings, from the top down.

    An inner queue divides what it is entitled to without past use while its own siblings want more.
    """
    total = _gpus(state.total()[_GPU])
    sizes = _job_sizes(state)
    children: dict[str, list[KaiQueueObject]] = {}
    for queue in queues:
        children.setdefault(queue.parent, []).append(queue)
    found: dict[str, Contest] = {}
    has = {"": total}
    for parent in ["", *state.tree_order()]:
        siblings = children.get(parent, [])
        for queue in siblings:
            rivals = _rivals(queue, siblings)
            held = _held_by_rivals(rivals, has[parent], sizes)
            used = held / total if total else held
            contest = _contest(queue, siblings, rivals, has[parent], used)
            if contest is not None:
                found[queue.name] = contest
            has[queue.name] = has[parent] if contest is None else contest.entitled(Fraction(0))
    return found


def _rivals(queue: KaiQueueObject, siblings: Sequence[KaiQueueObject]) -> list[KaiQueueObject]:
    return [
        each
        for each in siblings
        if each.priority == queue.priority and each.weights["gpu"] > 0 and each is not queue
    ]


def _held_by_rivals(
    rivals: Sequence[KaiQueueObject], has: Fraction, sizes: Mapping[str, Set[int]]
) -> Fraction:
    """Return the GPUs that jobs of *rivals* can hold together of what their parent *has*.

    It is all of them where a rival has no jobs now, or none that fits.
    """
    known: list[Set[int]] = [sizes.get(each.name, frozenset()) for each in rivals]
    if not known or not all(known):
        return has
    together = frozenset[int]().union(*known)
    return _gpus(_most_held(together, int(has * scale_of("gpu")))) or has


def _contest(
    queue: KaiQueueObject,
    siblings: Sequence[KaiQueueObject],
    rivals: Sequence[KaiQueueObject],
    has: Fraction,
    used: Fraction,
) -> Contest | None:
    """Return the contest of *queue* for the GPUs that its parent *has*; None: it has no rival."""
    quotas = [each.guaranteed["gpu"] for each in siblings]
    quota = queue.guaranteed["gpu"]
    own = Fraction(queue.weights["gpu"])
    if not rivals or own <= 0 or quota is None or has <= 0:
        return None
    weights_of_rivals = [Fraction(each.weights["gpu"]) for each in rivals]
    weights = own + sum(weights_of_rivals)
    taken = sum((has if each is None else _gpus(each) for each in quotas), Fraction(0))
    return Contest(
        queue=queue.name,
        part=own / weights,
        lightest=min(weights_of_rivals) / weights,
        siblings=1 + len(rivals),
        rest=max(Fraction(0), has - taken),
        quota=_gpus(quota),
        used=used,
    )


def _gpus(amount: int) -> Fraction:
    return Fraction(amount, scale_of("gpu"))


def _rounded(number: Fraction) -> str:
    return f"{float(number):.3g}"


def _rounded_up(number: Fraction) -> str:
    """Return *number* with two decimals, never less than it is."""
    hundredths = -((-number.numerator * 100) // number.denominator)
    return f"{hundredths // 100}.{hundredths % 100:02}".rstrip("0").rstrip(".")
