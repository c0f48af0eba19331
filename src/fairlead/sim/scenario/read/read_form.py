"""Reads a form field by field, as its types say, so that one description serves for everything.

Each field goes through a `Cursor`, so that every mistake is reported with its line and its fix.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, TypeVar, cast

import msgspec
from msgspec import inspect

from fairlead.manifest.finding import Findings
from fairlead.manifest.text.cursor import REQUIRED, Cursor
from fairlead.manifest.text.documents import Document
from fairlead.manifest.text.fields import FieldError, amount_of
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.values import Mapping, Value, describe
from fairlead.sim.fields import (
    AS_WRITTEN,
    DURATION,
    FACTOR,
    MORE_THAN_ANY,
    MOST_BASE_UNITS,
    POSITIVE_DURATION,
    POSITIVE_FACTOR,
    QUANTITIES,
    TIME,
    fields_in_file,
    full_name,
)

Form = TypeVar("Form", bound=msgspec.Struct)

_COLLECTIONS: Final = (inspect.StructType, inspect.DictType)


def read_form(document: Document, form: type[Form], findings: Findings) -> Form:
    """Return *document* as a *form*; what is wrong goes to *findings*, with defaults in its place.

    Only without errors does the result mean anything. Cost: one look at every field.
    """
    kind = inspect.type_info(form)
    assert isinstance(kind, inspect.StructType)
    top = Cursor.of(document, findings)
    read = _Reader(findings).struct(top, document.value, kind)
    top.finish()
    return cast("Form", read)


class _Reader:
    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def struct(self, at: Cursor, written: Mapping, kind: inspect.StructType) -> Any:
        found = {}
        for name, field in fields_in_file(kind):
            default = field.default
            if default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
                default = field.default_factory()
            usual = REQUIRED if default is msgspec.NODEFAULT else default
            found[field.name] = self.value(at, written, name, field.type, usual)
        self._report_misplaced(at, written, kind)
        return kind.cls(**found)

    def _report_misplaced(self, at: Cursor, written: Mapping, kind: inspect.StructType) -> None:
        """Report an unknown field that a mapping below has; the cursor reports the others."""
        known = {name for name, _ in fields_in_file(kind)}
        for key in written:
            places = [] if key in known else list(_places_below(kind, written, key))
            if places:
                at.ignore(key)
                message = f"found the unknown field {quote(key)}"
                at.warn(key, "unknown-field", message, f"write it in {' or '.join(places)}")

    def value(
        self, at: Cursor, written: Mapping, key: str, declared: inspect.Type, usual: Any
    ) -> Any:
        value = written.get(key)
        kind, form = _fitting(declared, value)
        if form is not None:
            return _formed(at, written, key, form, usual)
        match kind:
            case inspect.StructType():
                return self._inner(at, value, key, kind, usual)
            case inspect.VarTupleType():
                return self._list(at, value, key, kind, usual)
            case inspect.DictType():
                return self._map(at, value, key, kind, usual)
            case inspect.IntType():
                return at.integer(key, usual, minimum=kind.ge, maximum=kind.le)
            case inspect.BoolType():
                return at.boolean(key, usual)
            case inspect.LiteralType():
                return at.choice(key, {str(word): word for word in kind.values}, usual)
            case _:
                return at.text(key, usual)

    def _inner(
        self, at: Cursor, value: Value, key: str, kind: inspect.StructType, usual: Any
    ) -> Any:
        if value is None and usual is not REQUIRED:
            at.ignore(key)
            return usual
        inner = at.mapping(key, required=usual is REQUIRED)
        return self.struct(inner, value if isinstance(value, dict) else {}, kind)

    def _list(
        self, at: Cursor, value: Value, key: str, kind: inspect.VarTupleType, usual: Any
    ) -> Any:
        at.ignore(key)
        if value is None and usual is not REQUIRED:
            return usual
        if not isinstance(value, list):
            _refuse(at, key, value, "a list", 'write a list: each item begins with "- "')
            return ()
        items = {cast("str", _Place(place)): item for place, item in enumerate(value)}
        return tuple(self._each(at, key, items, kind.item_type).values())

    def _map(self, at: Cursor, value: Value, key: str, kind: inspect.DictType, usual: Any) -> Any:
        at.ignore(key)
        if value is None and usual is not REQUIRED:
            return usual
        if not isinstance(value, dict):
            _refuse(at, key, value, "a mapping", "write key: value pairs")
            return {}
        return self._each(at, key, value, kind.value_type)

    def _each(self, at: Cursor, key: str, items: Mapping, kind: inspect.Type) -> dict[str, Any]:
        inside = Cursor(at.source, self._findings, items, parent=at, key=(key,))
        found = {}
        for name, item in items.items():
            if item is None:
                inside.ignore(name)
                inside.error(name, "wrong-type", "found nothing, expected a value", "remove it")
            else:
                found[name] = self.value(inside, items, name, kind, REQUIRED)
        inside.finish()
        return found


def _places_below(kind: inspect.StructType, written: Mapping, key: str) -> Iterator[str]:
    """Yield which of the mappings that are *written* below have a field *key* and lack it."""
    for name, field in fields_in_file(kind):
        inner = written.get(name)
        below, _ = _fitting(field.type, inner)
        if isinstance(inner, dict) and isinstance(below, inspect.StructType):
            if key not in inner and any(key == each for each, _ in fields_in_file(below)):
                yield name
            yield from (f"{name}.{place}" for place in _places_below(below, inner, key))


class _Place(int):
    """A place in a list, in the place of a key; alone, it is also the path to what is there."""

    def __iter__(self) -> Iterator[int]:
        yield int(self)


def _fitting(declared: inspect.Type, value: Value) -> tuple[inspect.Type, str | None]:
    """Return which of the types that are declared *value* is meant as, and its form in the file."""
    form = None
    while isinstance(declared, inspect.Metadata):
        form = (declared.extra or {}).get("form", form)
        declared = declared.type
    if form is not None or not isinstance(declared, inspect.UnionType):
        return declared, form
    choices = [each for each in declared.types if not isinstance(each, inspect.NoneType)]
    return _fitting(_best(choices, value), value)


def _best(choices: Sequence[inspect.Type], value: Value) -> inspect.Type:
    """Return the type that *value* looks like, or the first, whose reader says what is wrong."""
    plain = [_fitting(each, value) for each in choices]
    for choice, (kind, form) in zip(choices, plain, strict=True):
        match value:
            case dict():
                fits = isinstance(kind, _COLLECTIONS)
            case str():
                is_word = isinstance(kind, inspect.LiteralType) and value in kind.values
                fits = is_word or (isinstance(kind, inspect.StrType) and form is None)
            case _:
                fits = isinstance(kind, inspect.IntType | inspect.DecimalType)
        if fits:
            return choice
    return choices[0]


def _formed(at: Cursor, written: Mapping, key: str, form: str, usual: Any) -> Any:
    """Read what the file writes in a form of its own."""
    if form == TIME:
        return at.timestamp(key, usual)
    if form == FACTOR:
        return at.factor(key, usual)
    if form == POSITIVE_FACTOR:
        return at.positive_factor(key, usual)
    if form == QUANTITIES:
        return _quantities(at, written, key, usual)
    if form == AS_WRITTEN:
        return _as_written(at, written, key, usual)
    assert form in (DURATION, POSITIVE_DURATION), form
    length_ms = at.duration(key, usual)
    if isinstance(length_ms, int) and length_ms < 0:
        message = f"found {describe(written.get(key))}, expected 0 or more"
        at.error(key, "out-of-range", message, "remove the sign")
    elif length_ms == 0 and form == POSITIVE_DURATION:
        at.error(key, "out-of-range", "found 0s, expected more", "write 1ms or more")
    return length_ms


def _quantities(at: Cursor, written: Mapping, key: str, usual: Any) -> Any:
    if written.get(key) is None:
        at.mapping(key, required=usual is REQUIRED)
        return {} if usual is REQUIRED else usual
    amounts = at.quantities(key, _refuse_beyond_all)
    return {full_name(resource): amount for resource, amount in amounts.items()}


def _refuse_beyond_all(resource: str, value: Value) -> None:
    amount, _ = amount_of(value, resource)
    if amount > MOST_BASE_UNITS:
        message = f"found {describe(value)}, {MORE_THAN_ANY}"
        raise FieldError("out-of-range", message, "write a smaller amount")


def _as_written(at: Cursor, written: Mapping, key: str, usual: Any) -> Any:
    value = written.get(key)
    inner = at.mapping(key)  # reports what is no mapping
    inner.ignore(*inner.keys())
    return value if isinstance(value, dict) else usual


def _refuse(at: Cursor, key: str, value: Value, expected: str, fix: str) -> None:
    if value is None:
        at.error(key, "missing-field", "found nothing, expected a value", f"add {key}")
    elif isinstance(value, bool | int | str | Decimal | list | dict):
        at.error(key, "wrong-type", f"found {describe(value)}, expected {expected}", fix)
