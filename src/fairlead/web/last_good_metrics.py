"""What to answer a scrape with while files are changed under us.

A file that is being edited, or was deployed with a mistake, must not make a dashboard go blank: the
numbers stay what they were, a metric says that they are old, and the log says so
once, not at every scrape. The same holds where an input meets a defect of ours.
"""

from collections.abc import Callable, Sequence
from threading import Lock

from fairlead.errors import FairleadError, ManifestError
from fairlead.store.metrics.exposition import exposition
from fairlead.store.metrics.family import Family, input_errors_family


class LastGoodMetrics:
    """Reads anew for every answer, and keeps the last one that could be read."""

    def __init__(
        self,
        first: Sequence[Family],
        read: Callable[[], Sequence[Family]],
        report: Callable[[str], None],
    ) -> None:
        """Begin with *first*; *read* may raise anything, *report* gets every change."""
        self._text = exposition(first)
        self._read = read
        self._report = report
        self._problem = ""  # "": there is none
        self._one_at_a_time = Lock()

    def answer(self) -> bytes:
        """Return the metrics of now, or those of before with the number of errors.

        Never raises. One caller reads, others wait for their turn.
        """
        with self._one_at_a_time:
            errors = 0
            problem = ""
            try:
                self._text = exposition(self._read())
            except FairleadError as wrong:
                errors = _error_count(wrong)
                problem = str(wrong)
            except Exception as wrong:  # noqa: BLE001  old numbers are better than none
                errors = 1
                problem = f"a defect of Fairlead, please report it: {wrong!r}"
            self._report_change(problem)
            return self._text + exposition([input_errors_family(errors)])

    def _report_change(self, problem: str) -> None:
        if problem == self._problem:
            return
        self._problem = problem
        if problem:
            self._report(f"the input cannot be read; metrics stay what they were:\n{problem}")
        else:
            self._report("the input can be read again")


def _error_count(wrong: FairleadError) -> int:
    """Findings that are no errors come along with those that are."""
    if not isinstance(wrong, ManifestError):
        return 1
    return sum(finding.severity == "error" for finding in wrong.findings)
