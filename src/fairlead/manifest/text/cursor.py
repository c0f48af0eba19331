"""Reads the fields of one object, so that a reader of a kind looks like a table of its fields.

Every method names a key and says what must be there. What is there but wrong becomes a finding,
with its line and its cure, and the default is returned; nothing is ever raised. A field without
default is required. Null is the same as absent, as for Kubernetes. In the end `finish` warns about
the keys that were never read. ::

    top = Cursor.of(document, findings)
    spec = top.mapping("spec")
    queue = Queue(
        name=top.mapping("metadata").text("name"),
        parent=spec.text("parentQueue", ""),
        priority=spec.integer("priority", 100),
        reclaim_min_runtime_ms=spec.duration("reclaimMinRuntime", None),
    )
    top.ignore("apiVersion", "kind", "status")
    top.finish()
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Choices
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Final, Literal, TypeVar, cast

from fairlead.errors import Severity
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Document, Source
from fairlead.manifest.text.fields import (
    FieldError,
    amount_of,
    boolean_of,
    check_decimals,
    choice_of,
    decimal_of,
    duration_of,
    factor_of,
    integer_of,
    positive_of,
    text_of,
    timestamp_of,
)
from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.manifest.text.values import REFUSED, Mapping, Refused, Value, describe
from fairlead.model.quantity import format_amount


class _Missing(Enum):
    """A type with one value, so that None can be a default."""

    REQUIRED = "required"


REQUIRED: Final = _Missing.REQUIRED
_ONLY_TEXTS: Final = frozenset({str})
_NOTHING_REFUSED: Final[frozenset[str]] = frozenset()
Required = Literal[_Missing.REQUIRED]

T = TypeVar("T")
D = TypeVar("D")


class Cursor:
    """A mapping within an object, and the place where it stands.

    Cost: about one look-up per field; paths and lines are worked out only for a finding.
    """

    __slots__ = (
        "_children",
        "_findings",
        "_has_findings",
        "_is_quiet",
        "_key",
        "_parent",
        "_read",
        "_refused",
        "_value",
        "source",
    )

    def __init__(
        self,
        source: Source,
        findings: Findings,
        value: Mapping,
        *,
        parent: Cursor | None = None,
        key: Path = (),
        is_quiet: bool = False,
    ) -> None:
        """Stand at *value*, which is at *key* below *parent*; start with `Cursor.of`."""
        self.source = source
        self._findings = findings
        self._value = value
        self._parent = parent
        self._key = key
        self._has_findings = False
        self._is_quiet = is_quiet  # stands for something whose mistake is reported already
        self._read: set[str] = set()
        self._refused = _NOTHING_REFUSED  # few have any, so no set of its own each
        self._children: list[Cursor] = []

    @classmethod
    def of(cls, document: Document, findings: Findings) -> Cursor:
        """Stand at the top of *document*."""
        return cls(document.source, findings, document.value)

    # One field each.

    def text(self, key: str, default: D | Required = REQUIRED) -> str | D:
        """Read a text. One that is required must not be empty."""
        value = self._value.get(key)
        if type(value) is str and value:  # as nearly always: worth a short way
            self._read.add(key)
            return value
        if value is None and default is not REQUIRED:
            self._read.add(key)
            return default
        text = self._field(key, default, "", text_of)
        if text == "" and default is REQUIRED and self._value.get(key) == "":
            self._missing(key)
        return text

    def choice(self, key: str, choices: Choices[str, T], default: D | Required = REQUIRED) -> T | D:
        """Read one of the words in *choices*, and return what it stands for.

        Where the field is required and wrong, it is what the first of them stands for.
        """
        value = self._value.get(key)
        if type(value) is str and value in choices:  # worth a short way
            self._read.add(key)
            return choices[value]
        first = next(iter(choices.values()))
        return self._field(key, default, first, lambda value: choice_of(value, choices))

    def boolean(self, key: str, default: D | Required = REQUIRED) -> bool | D:
        """Read true or false."""
        return self._field(key, default, False, boolean_of)

    def integer(
        self,
        key: str,
        default: D | Required = REQUIRED,
        *,
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> int | D:
        """Read a whole number within the bounds."""
        return self._field(key, default, 0, lambda value: integer_of(value, minimum, maximum))

    def decimal(
        self, key: str, default: D | Required = REQUIRED, *, minimum: int | None = None
    ) -> Decimal | D:
        """Read a number exactly as it is written; how fine it may be is the caller's to know."""
        return self._field(
            key, default, Decimal(0), lambda value: Decimal(decimal_of(value, minimum))
        )

    def factor(
        self, key: str, default: D | Required = REQUIRED, *, minimum: int | None = 0
    ) -> Decimal | D:
        """Read a number that is never rounded, such as a weight, so it must not be very fine."""

        def read(value: Value) -> Decimal:
            factor = Decimal(decimal_of(value, minimum))
            check_decimals(value, factor)
            return factor

        return self._field(key, default, Decimal(0), read)

    def positive_factor(self, key: str, default: D | Required = REQUIRED) -> Decimal | D:
        """Read a factor that must not be 0."""

        def read(value: Value) -> Decimal:
            factor = Decimal(positive_of(value))
            check_decimals(value, factor)
            return factor

        return self._field(key, default, Decimal(1), read)

    def fraction(self, key: str, default: D | Required = REQUIRED) -> Fraction | D:
        """Read a factor that is written as a quantity, in the unit in which it is written."""
        return self._field(key, default, Fraction(0), factor_of)

    def quantity(self, key: str, resource: str, default: D | Required = REQUIRED) -> int | D:
        """Read a quantity of 0 or more, in base units; a finer one is rounded up with a warning."""
        return self._field(key, default, 0, self._amount_reader(key, resource))

    def duration(
        self, key: str, default: D | Required = REQUIRED, *, is_zero_refused: bool = False
    ) -> int | D:
        """Read a duration in milliseconds; a finer one is cut down with a warning.

        Where *zero is refused*, the caller reports what is cut down to it.
        """

        def read(value: Value) -> int:
            length_ms, is_exact = duration_of(value)
            if not is_exact and length_ms:
                self._rounded(key, value, f"{length_ms}ms")
            elif not is_exact and not is_zero_refused:
                self._rounded(key, value, "0s", "write 0s, or 1ms or more")
            return length_ms

        return self._field(key, default, 0, read)

    def timestamp(self, key: str, default: D | Required = REQUIRED) -> int | D:
        """Read an RFC 3339 time in milliseconds since 1970."""
        return self._field(key, default, 0, timestamp_of)

    # Several values.

    def mapping(self, key: str, *, required: bool = False) -> Cursor:
        """Step into a mapping. Where there is none, the cursor stands in an empty one."""
        value = self._take(key)
        if value is None and required:
            self._missing(key)
        return self._step(value, (key,), is_quiet=value is None and required)

    def items(self, key: str) -> list[Cursor]:
        """Step into each mapping of a list; an absent list is empty."""
        return [self._step(item, (key, at)) for at, item in enumerate(self._list(key))]

    def texts(self, key: str) -> tuple[str, ...]:
        """Read a list of texts; what is no text is left out."""
        texts = (self._convert((key, at), item, text_of) for at, item in enumerate(self._list(key)))
        return tuple(text for text in texts if not isinstance(text, Refused))

    def text_map(self, key: str) -> dict[str, str]:
        """Read a mapping of texts, such as labels; a null is an empty text."""
        given = self._map(key)
        if _ONLY_TEXTS.issuperset(map(type, given.values())):  # worth a short way
            return cast("dict[str, str]", given.copy())
        texts = {
            name: "" if value is None else self._convert((key, name), value, text_of)
            for name, value in given.items()
        }
        return {name: text for name, text in texts.items() if not isinstance(text, Refused)}

    def quantities(
        self, key: str, refuse: Callable[[str, Value], None] | None = None
    ) -> dict[str, int]:
        """Read a mapping of resources to quantities, in the base units of each.

        *refuse* may raise a `FieldError` about the value of a resource.
        """
        amounts = {
            name: self._convert((key, name), value, self._amount_reader((key, name), name, refuse))
            for name, value in self._map(key).items()
            if value is not None
        }
        return {name: amount for name, amount in amounts.items() if not isinstance(amount, Refused)}

    # The mapping as a whole.

    def has(self, key: str) -> bool:
        """Return whether a field is there and not null. Does not count as reading it."""
        return self._value.get(key) is not None

    def is_refused(self, key: str) -> bool:
        """Return whether a field that was read is wrong, whole or in part, and reported already.

        All fields are where there should be a mapping and is none.
        """
        return self._is_quiet or key in self._refused

    @property
    def value(self) -> Mapping:
        """The mapping itself. To look at it does not count as reading it."""
        return self._value

    def is_clean(self) -> bool:
        """Return whether all fields, here and below, were read, and none gave rise to a finding."""
        return (
            not self._has_findings
            and self._value.keys() <= self._read
            and all(child.is_clean() for child in self._children)
        )

    def keys(self) -> tuple[str, ...]:
        """Return the fields that are there, as written. Does not count as reading them."""
        return tuple(self._value)

    def ignore(self, *keys: str) -> None:
        """Let fields pass that we know and deliberately do not read."""
        self._read.update(keys)

    def finish(self) -> None:
        """Warn about every field, here and below, that was not read."""
        if not self._value.keys() <= self._read:
            for key in self._value:
                if key not in self._read:
                    is_kept = self._findings.keeps("warning", "unknown-field")
                    guess = did_you_mean(key, self._read) if is_kept else ""
                    fix = guess or "remove it, or check its place"
                    self.warn(key, "unknown-field", f"found the unknown field {quote(key)}", fix)
        for child in self._children:
            child.finish()
        self._children.clear()  # they know their parent: a cycle, which only a collector would free

    def error(self, at: str | Path, code: str, message: str, fix: str = "") -> None:
        """Report that something is wrong at a key, or at a path below this mapping."""
        self._report("error", at, code, message, fix)

    def warn(self, at: str | Path, code: str, message: str, fix: str = "") -> None:
        """Report that something is doubtful."""
        self._report("warning", at, code, message, fix)

    def advise(self, at: str | Path, code: str, message: str, fix: str = "") -> None:
        """Report that something could be better."""
        self._report("advice", at, code, message, fix)

    def path(self) -> Path:
        """Return where in its object the mapping stands."""
        return self._key if self._parent is None else (*self._parent.path(), *self._key)

    def _take(self, key: str) -> Value:
        self._read.add(key)
        return self._value.get(key)

    def _field(
        self, key: str, default: D | Required, zero: T, convert: Callable[[Value], T]
    ) -> T | D:
        self._read.add(key)
        value = self._value.get(key)
        if value is None:
            if default is REQUIRED:
                self._missing(key)
        else:
            converted = self._convert((key,), value, convert)
            if not isinstance(converted, Refused):
                return converted
        return zero if default is REQUIRED else default

    def _convert(self, at: Path, value: Value, convert: Callable[[Value], T]) -> T | Refused:
        """Return what *convert* makes of the value, or `REFUSED` when it is reported."""
        if value is not REFUSED:
            try:
                return convert(value)
            except FieldError as wrong:
                self.error(at, wrong.code, wrong.message, wrong.fix)
        self._refuse(at)
        return REFUSED

    def _amount_reader(
        self,
        at: str | Path,
        resource: str,
        refuse: Callable[[str, Value], None] | None = None,
    ) -> Callable[[Value], int]:
        def read(value: Value) -> int:
            if refuse:
                refuse(resource, value)
            amount, is_exact = amount_of(value, resource)
            if amount < 0:
                message = f"found {describe(value)}, expected at least 0"
                raise FieldError("out-of-range", message, "write 0 or more")
            if not is_exact:
                self._rounded(at, value, format_amount(resource, amount))
            return amount

        return read

    def _step(self, value: Value, key: Path, *, is_quiet: bool = False) -> Cursor:
        mapping: Mapping = {}
        if isinstance(value, dict):
            mapping = value
        elif value is not None or len(key) > 1:
            # A null is an empty mapping where one is asked for by name, but no item of a list.
            is_quiet = True
            self._wrong_type(key, value, "a mapping", "write key: value pairs")
        child = Cursor(
            self.source,
            self._findings,
            mapping,
            parent=self,
            key=key,
            is_quiet=is_quiet or self._is_quiet,
        )
        self._children.append(child)
        return child

    def _list(self, key: str) -> list[Value]:
        value = self._take(key)
        if value is None or isinstance(value, list):
            return value or []
        self._wrong_type((key,), value, "a list", 'write a list: each item begins with "- "')
        return []

    def _map(self, key: str) -> Mapping:
        value = self._take(key)
        if value is None or isinstance(value, dict):
            return value or {}
        self._wrong_type((key,), value, "a mapping", "write key: value pairs")
        return {}

    def _wrong_type(self, at: Path, value: Value, expected: str, fix: str) -> None:
        if value is not REFUSED:
            message = f"found {describe(value)}, expected {expected}"
            self.error(at, "wrong-type", message, fix)
        self._refuse(at)

    def _refuse(self, at: Path) -> None:
        self._refused |= {str(at[0])}

    def _missing(self, key: str) -> None:
        if not self._is_quiet:
            self.error(key, "missing-field", "found nothing, expected a value", f"add {key}")

    def _rounded(self, at: str | Path, value: Value, kept: str, fix: str = "") -> None:
        message = f"found {describe(value)}, which is finer than Fairlead counts; taken as {kept}"
        self.warn(at, "rounded", message, fix or f"write {kept}")

    def _report(
        self, severity: Severity, at: str | Path, code: str, message: str, fix: str
    ) -> None:
        self._has_findings = True
        below = (at,) if isinstance(at, str) else at
        path = (*self.path(), *below)
        self.source.report(self._findings, severity, code, path, message, fix)
