"""What was found out about each object, unit and workload when it was read last."""

from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

from fairlead.errors import Finding
from fairlead.manifest.finding import Findings

T = TypeVar("T")


class Remarks:
    """Findings by their subject; what is found next time takes their place."""

    def __init__(self) -> None:
        """Begin with nothing found."""
        self._by_subject: dict[Hashable, tuple[Finding, ...]] = {}
        self.shared: Findings | None = None  # where to put all findings too, in their order

    def __iter__(self) -> Iterator[Finding]:
        for found in self._by_subject.values():
            yield from found

    def note(self, subject: Hashable, read: Callable[[Findings], T]) -> T:
        """Return what *read* does, and keep what it finds as all that is found about *subject*."""
        findings = Findings() if self.shared is None else self.shared
        kept = findings.kept_count
        result = read(findings)
        self.put(subject, findings.kept_since(kept))
        return result

    def put(self, subject: Hashable, found: tuple[Finding, ...]) -> None:
        """Let *found* be all that is found about *subject*."""
        if found:
            self._by_subject[subject] = found
        else:
            self._by_subject.pop(subject, None)

    def error(self, subject: Hashable) -> Finding | None:
        """Return the first error about *subject*, if there is one."""
        found = self._by_subject.get(subject, ())
        return next((each for each in found if each.severity == "error"), None)
