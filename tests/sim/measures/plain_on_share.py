"""A queue alone on its share, served millisecond by millisecond with exact fractions."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from fairlead.sim.engine.job import Job
from tests.sim.measures.histories import RESOURCES

FOR_EVER_MS = 10**15
"""What a job runs for that never ends; no other one takes so long."""


class PlainShare:
    """Jobs in the order in which they came, with the run time that each has left."""

    def __init__(self) -> None:
        self.due: Sequence[int] = ()
        self._left: dict[str, Fraction] = {}
        self._asked: dict[str, list[int]] = {}
        self._ends: dict[str, Fraction] = {}

    def add(self, job: Job) -> None:
        asked = [job.pods * job.requests[resource] for resource in RESOURCES]
        is_due = all(due or not amount for due, amount in zip(self.due, asked, strict=True))
        if job.run_ms != 0 and is_due:
            self._left[job.name] = Fraction(job.run_ms or FOR_EVER_MS)
            self._asked[job.name] = asked

    def remove(self, job: Job) -> None:
        self._left.pop(job.name, None)

    def end_ms(self, job: Job, at_ms: int) -> Fraction | None:
        """When a job was done, or would be on what is due now; None: never, or it is not here."""
        if job.name in self._ends:
            return self._ends[job.name]
        left = dict(self._left)
        end = self._serve(left, Fraction(at_ms), None).get(job.name)
        return None if end is None or end >= FOR_EVER_MS else end

    def pass_one_ms(self, at_ms: int) -> None:
        self._ends.update(self._serve(self._left, Fraction(at_ms), Fraction(at_ms + 1)))

    def _serve(
        self, left: dict[str, Fraction], now: Fraction, until: Fraction | None
    ) -> dict[str, Fraction]:
        """Serve *left*, which goes down; returns the jobs that are done, and when."""
        done: dict[str, Fraction] = {}
        while rates := self._rates(left):
            ends = {name: now + left[name] / rate for name, rate in rates.items() if rate}
            first = min(ends.values(), default=None)
            if first is None and until is None:
                break
            stop = min(each for each in (first, until) if each is not None)
            for name, rate in rates.items():
                left[name] -= rate * (stop - now)
            done.update({name: stop for name, end in ends.items() if end == stop})
            for name in done.keys() & left.keys():
                del left[name]
            now = stop
            if now == until:
                break
        return done

    def _rates(self, left: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """How fast jobs proceed: in full, the first that does not fit in part, the others not."""
        free, rates = [*self.due], {}
        for name in left:
            asked = self._asked[name]
            parts = [
                Fraction(has, amount) for has, amount in zip(free, asked, strict=True) if amount
            ]
            rates[name] = min([Fraction(1), *parts])
            if rates[name] < 1:
                break
            free = [has - amount for has, amount in zip(free, asked, strict=True)]
        return rates
