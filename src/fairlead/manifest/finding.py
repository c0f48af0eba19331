"""Collects everything that is wrong with an input, so that one run shows all of it.

A reader reports and goes on; its caller asks at the end whether anything was an error. The
codes are stable: people search for them and programs switch on them.
"""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from fairlead.errors import Finding, Severity
from fairlead.manifest.text.limits import MAX_FINDINGS

CODES: Final = MappingProxyType(
    {
        # the input as a whole
        "unreadable": "a file or folder cannot be opened or read",
        "forbidden": "a kind of object of a cluster that you may not list",
        "no-objects": "an input holds no object at all",
        "too-large": "an input exceeds a stated bound: bytes, documents or values",
        "too-deep": "mappings and lists, or queues, stand too deep within each other",
        "not-utf8": "the bytes are not UTF-8 text",
        "byte-order-mark": "the text begins with a byte order mark",
        "control-character": "the text holds a character that YAML forbids, such as NUL",
        "tab-indentation": "a tab stands where YAML allows only spaces",
        "syntax": "the text is not YAML, or not JSON",
        # the values in a document
        "not-an-object": "a document or list item is not a mapping",
        "duplicate-key": "a mapping has the same key twice",
        "bad-key": "the key of a mapping is not a text",
        "template": "the text is a template that was not rendered",
        "custom-tag": "a YAML tag that would need code to read it",
        "bad-alias": "a YAML alias that contains itself or multiplies beyond bounds",
        "bad-merge": "a YAML merge key whose value is not a mapping",
        "bad-number": "NaN, an infinity, or a number beyond all bounds",
        # the fields of an object
        "missing-field": "a field that must be there is not",
        "wrong-type": "a field holds another type than it should",
        "bad-choice": "a field holds a word that is not allowed there",
        "bad-quantity": "a text is not a Kubernetes quantity",
        "bad-duration": "a text is not a duration",
        "bad-timestamp": "a text is not an RFC 3339 time",
        "bad-cron": "a text is not a cron expression, or one that never fires",
        "bad-time-zone": "a text is not the name of a time zone that is known here",
        "bad-url": "a text is not an address of http or https",
        "exposed-secret": "a password stands where every reader can see it",
        "bad-certificate": "a certificate or key that cannot be used",
        "unsupported-login": "a way to log in to a cluster that Fairlead does not support",
        "unverified-server": "the certificate of a server is not to be checked",
        "out-of-range": "a number is lower or higher than it may be",
        "rounded": "a value is finer than Fairlead counts and was rounded",
        "unknown-field": "a field that nothing reads, perhaps misspelt",
        "contradiction": "two fields of one object cannot both hold",
        "duplicate-entry": "a list of an object names the same thing twice",
        "other-version": "a field or word of another version of the same API, read all the same",
        "bad-name": "a name that Kubernetes would refuse",
        "ill-matched": "values that are allowed, and work badly together",
        "no-effect": "something that is written and changes nothing here",
        # the rows of a trace
        "broken-row": "a row of a trace that cannot be read and is left out",
        "dropped-rows": "rows of a trace that can be read and give no job",
        # objects among each other
        "duplicate-object": "two objects of one kind have the same name",
        "cycle": "an object is its own ancestor",
        "missing-parent": "an object names a parent that is not in the input",
        "missing-reference": "an object names another one that is not in the input",
        "unusable": "a queue that can never run anything",
        "overcommitted": "more is guaranteed, or held, than there is",
        "peer-differs": "another scheduler would read the same objects differently",
        "unknown-version": "a known kind in an API version that Fairlead does not know",
        "unknown-kind": "an object without a kind, or with one that looks misspelt",
        "no-queues": "no queue object of any rule set is in the input",
        "mixed-families": "queue objects of several rule sets are in one input",
        "left-alone": "objects that are of no effect here, as those of another rule set are",
        "pods-missing": "an object's status counts pods that are not in the input",
        "not-judged": "a pending job has a constraint that Fairlead does not model",
    }
)
"""Every code that a finding may have, with its meaning."""


class Findings:
    """All remarks about one run's input, in the order in which they were made.

    Of each severity only the first `MAX_FINDINGS` are kept, so that a hostile file can neither fill
    the memory nor hide an error behind warnings. The others are counted.
    """

    def __init__(self, *, strict: bool = False, after_errors: bool = False) -> None:
        """Start with none; *strict* makes an error of every unknown field.

        *after_errors*: an earlier part of the run had errors, so that all of it is refused.
        """
        self._strict = strict
        self._after_errors = after_errors
        self._kept: list[Finding] = []
        self._different: set[Finding] = set()
        self._made: dict[Severity, int] = {"error": 0, "warning": 0, "advice": 0}

    def add(
        self,
        severity: Severity,
        code: str,
        *,
        file: str,
        line: int | None = None,
        path: str = "$",
        message: str,
        fix: str = "",
    ) -> None:
        """Keep one remark, but not the same again. The code must be one of `CODES`.

        Pods of one template have the same mistakes in the same place.
        """
        assert code in CODES, code
        severity = self._counted_as(severity, code)
        finding = Finding(
            severity=severity,
            code=code,
            file=file,
            line=line,
            path=path,
            message=message,
            fix=fix,
        )
        if finding in self._different:
            return
        if self._made[severity] < MAX_FINDINGS:
            self._kept.append(finding)
            self._different.add(finding)
        self._made[severity] += 1

    def continued(self) -> "Findings":
        """Return findings about a part of the run: none so far, but the errors before count."""
        return Findings(strict=self._strict, after_errors=self.has_errors)

    def take_new(self, part: "Findings") -> None:
        """Take in what was found about a part of the run, but for what is known already."""
        known = set(self._kept)
        for each in part:
            if each not in known:
                self.add(
                    each.severity,
                    each.code,
                    file=each.file,
                    line=each.line,
                    path=each.path,
                    message=each.message,
                    fix=each.fix,
                )
        for severity, count in part.made().items():
            self._made[severity] += count - sum(each.severity == severity for each in part)

    def made(self) -> dict[Severity, int]:
        """Return how many remarks of each severity were made, kept or not."""
        return dict(self._made)

    def keeps(self, severity: Severity, code: str) -> bool:
        """Whether such a remark would be kept; if not, its details need not be worked out."""
        return self._made[self._counted_as(severity, code)] < MAX_FINDINGS

    @property
    def has_errors(self) -> bool:
        """Whether any remark, kept or not, was an error."""
        return self._after_errors or self._made["error"] > 0

    @property
    def kept_count(self) -> int:
        """How many remarks are kept by now."""
        return len(self._kept)

    def kept_since(self, count: int) -> tuple[Finding, ...]:
        """Return the remarks that were kept after so many others."""
        return tuple(self._kept[count:]) if count < len(self._kept) else ()

    @property
    def omitted(self) -> int:
        """How many remarks were only counted."""
        return len(self) - len(self._kept)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._kept)

    def __len__(self) -> int:
        return sum(self._made.values())

    def _counted_as(self, severity: Severity, code: str) -> Severity:
        return "error" if self._strict and code == "unknown-field" else severity
