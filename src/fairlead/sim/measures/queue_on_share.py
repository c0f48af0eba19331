"""When jobs would be done if their queue alone had exactly what is due to it.

A model of one queue: its jobs are served on the share in the order of submission. Each gets all
that it requests as long as that is left; the first one for which too little is left gets the rest
and proceeds so much slower, and the jobs behind it wait. So the jobs fall into those that are
served in full, in order, and the rest, of which only the first proceeds. Another share moves the
border between the two; in between each job goes on at a constant rate.

The model does not know what the cluster does, but when a job is really done it leaves the model.
"""

from collections import OrderedDict
from math import inf
from operator import add, le, sub

from fairlead.model.axes import Amounts


class JobOnShare:
    """One job in the model; a share served in full for ``left_ms`` more completes it."""

    __slots__ = ("ends_ms", "left_ms", "needs", "requested")

    def __init__(self, requested: Amounts, run_ms: float) -> None:
        """*requested* by all its pods."""
        self.requested = requested
        self.needs = [(at, amount) for at, amount in enumerate(requested) if amount]
        self.left_ms = run_ms
        self.ends_ms: float | None = None  # when it is done if it is served in full until then


class QueueOnShare:
    """The jobs of one queue. Call it in the order of time.

    Nothing is brought up to date while no job waits: then each of them ends as is known.
    """

    def __init__(self, due: Amounts) -> None:
        """There are no jobs yet."""
        self._due = due
        self._free: list[int] = [*due]  # by jobs that are served in full
        self._full: dict[JobOnShare, float] = {}  # with the end of each
        self._rest: OrderedDict[JobOnShare, None] = OrderedDict()  # any may leave, in O(1)
        self._rate = 0.0  # of the first of the rest, as a part of full speed
        self._first_ends_ms = inf  # it, at that rate
        self._next_ms = inf  # the first of all that are served, while any job waits
        self._now_ms: float = 0

    def add(self, at_ms: int, job: JobOnShare) -> None:
        """Let a job come behind all others. Cost: O(1) where there is enough for it."""
        if self._rest or not all(map(le, job.requested, self._free)):
            self._pass_until(at_ms)
        self._now_ms = at_ms
        self._rest[job] = None
        self._fill()

    def remove(self, at_ms: int, job: JobOnShare) -> None:
        """Let a job go that is really done, be it done here or not."""
        if self._rest:
            self._pass_until(at_ms)
        if job in self._full:
            self._release(job)
        else:
            self._rest.pop(job, None)
        self._fill()

    def set_due(self, at_ms: int, due: Amounts) -> None:
        """Let the share be *due* from now on. Cost: jobs that it moves across the border."""
        if self._rest or min(self._free_of(due)) < 0:
            self._pass_until(at_ms)
        self._free, self._due = self._free_of(due), due
        while min(self._free) < 0:
            job, ends_ms = next(reversed(self._full.items()))
            self._release(job)
            job.left_ms, job.ends_ms = ends_ms - at_ms, None
            self._rest[job] = None
            self._rest.move_to_end(job, last=False)
        if self._rest:
            self._fill()

    def ends_ms(self, at_ms: int, job: JobOnShare) -> float:
        """Return when a job is done, or will be if the share stays as it is; inf: never.

        Cost: O(1), unless it waits for jobs before it.
        """
        if self._rest:
            self._pass_until(at_ms)
        return self._foreseen_ms(job) if job.ends_ms is None else job.ends_ms

    def _foreseen_ms(self, job: JobOnShare) -> float:
        """Return the end of a job that waits; it and those before it are served in a copy."""
        if self._next_ms == inf:
            return inf  # no job ends that is served, so none that waits is ever served
        model = QueueOnShare(self._due)
        model._free, model._full = self._free.copy(), self._full.copy()
        model._now_ms = self._now_ms
        for each in self._rest:
            last = JobOnShare(each.requested, each.left_ms)
            model._rest[last] = None
            if each is job:
                break
        model._fill()
        while model._rest and model._next_ms < inf:
            model._pass_until(model._next_ms)
        return inf if last.ends_ms is None else last.ends_ms

    def _pass_until(self, at_ms: float) -> None:
        """Let time pass, and jobs go when they are done."""
        full = self._full
        while True:
            if not self._rest:
                self._next_ms = min(full.values(), default=inf)
            if self._next_ms > at_ms:
                break
            self._pass(self._next_ms)
            for job in [job for job, ends_ms in full.items() if ends_ms <= self._now_ms]:
                self._release(job)
            if self._first_ends_ms <= self._now_ms:
                self._rest.popitem(last=False)[0].ends_ms = self._now_ms
            self._fill()
        self._pass(at_ms)

    def _pass(self, at_ms: float) -> None:
        """Let time pass in which no job is done, but at its end."""
        self._now_ms = at_ms
        if self._rate:
            next(iter(self._rest)).left_ms = (self._first_ends_ms - at_ms) * self._rate

    def _fill(self) -> None:
        """Serve as many jobs in full as there is enough for, and the next one with the rest."""
        rest, free = self._rest, self._free
        self._rate, self._first_ends_ms = 0.0, inf
        while rest:
            first = next(iter(rest))
            rate = min([free[at] / amount for at, amount in first.needs], default=1.0)
            if rate < 1:
                break
            first.ends_ms = self._full[first] = self._now_ms + first.left_ms
            self._free = free = list(map(sub, free, first.requested))
            del rest[first]
        if rest:
            if rate:
                self._rate = rate
                self._first_ends_ms = self._now_ms + first.left_ms / rate
            self._next_ms = min(self._first_ends_ms, min(self._full.values(), default=inf))

    def _release(self, job: JobOnShare) -> None:
        """Serve a job no longer in full."""
        del self._full[job]
        self._free = list(map(add, self._free, job.requested))

    def _free_of(self, due: Amounts) -> list[int]:
        """Return what would be free if *due* were due."""
        return list(map(add, self._free, map(sub, due, self._due)))
