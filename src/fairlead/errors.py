"""What can go wrong outside the program's control, as one tree of exceptions.

::

    FairleadError
    ├── ManifestError        users' objects cannot be read; carries every finding of the run
    ├── QuantityError        a text is not a Kubernetes quantity        (also a ValueError)
    ├── DurationError        a text is not a duration                   (also a ValueError)
    ├── StateError           an event contradicts what is known; nothing was changed
    ├── ClusterError         a cluster did not do what was asked; may say when to try again
    ├── UsageError           a record of use contradicts itself; nothing was changed
    ├── StoreError           usage could not be saved or loaded
    ├── SimulationError      a scenario asks for what cannot be simulated
    └── ResultError          results of a simulation could not be written or read back

A caller that catches `FairleadError` has caught every mistake that is not a defect of ours. A
workload that does not fit is a decision with a reason, never an exception.

`Finding` lives here because `ManifestError` carries findings and this is the lowest layer; the
collector that readers fill is `fairlead.manifest.finding.Findings`.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["error", "warning", "advice"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One remark about one place in the input: what was found, and how to fix it."""

    severity: Severity
    code: str  # stable, from fairlead.manifest.finding.CODES
    file: str  # or the object of a cluster, such as "cluster: Pod team-a/train-0"
    line: int | None = None  # counted from 1; None: the file or object as a whole
    path: str = "$"  # such as $.spec.resources.gpu.quota
    message: str  # what was found, and what was expected
    fix: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        head = f"{place}: {self.severity}: {self.path}: {self.message} [{self.code}]"
        return f"{head}\n    fix: {self.fix}" if self.fix else head


class FairleadError(Exception):
    """Anything that a user, a file, a cluster or a store can cause."""


class ManifestError(FairleadError):
    """The input was refused. Its text lists every finding, each with its place and its cure."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(map(str, self.findings)))


class QuantityError(FairleadError, ValueError):
    """The text is not a Kubernetes quantity; the message says what one looks like."""


class DurationError(FairleadError, ValueError):
    """The text is not a duration; the message says what one looks like."""


class StateError(FairleadError):
    """An event contradicts the state, which it left as it was; the message names both."""


class ClusterError(FairleadError):
    """A cluster refused or did not answer."""

    def __init__(self, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s  # None: trying again will not help


class UsageError(FairleadError):
    """A window or an entry about use is not possible; the message says why."""


class StoreError(FairleadError):
    """Usage could not be written or read back."""


class SimulationError(FairleadError):
    """A scenario, a trace or a source of work asks for what cannot be simulated."""


class ResultError(FairleadError):
    """A folder holds no results that can be read, or none can be written there."""
