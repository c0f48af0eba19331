"""The JSON Schema of scenario files, from the same types that the reader goes by.

``python -m fairlead.sim.scenario.form.json_schema`` writes it; editors complete and check by it.
"""

import sys
from typing import Any, Final, get_args, get_origin

import msgspec
from msgspec import inspect

from fairlead.sim.fields import DURATION, SCHEMAS, DurationMs, fields_in_file
from fairlead.sim.scenario.form.scenario_form import ScenarioForm

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def scenario_schema() -> dict[str, Any]:
    """Return the schema. Same types, same schema, byte for byte."""
    made = _Maker()
    top = made.schema(inspect.type_info(ScenarioForm))
    definitions = dict(sorted(made.definitions.items()))
    return {"$schema": DIALECT, "title": "Fairlead scenario", **top, "$defs": definitions}


def schema_text() -> str:
    """Return the schema as it is published."""
    return msgspec.json.format(msgspec.json.encode(scenario_schema()), indent=2).decode() + "\n"


class _Maker:
    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def schema(self, kind: inspect.Type) -> dict[str, Any]:
        """Return what a value of *kind* looks like in the file."""
        if isinstance(kind, inspect.Metadata):
            said = dict(kind.extra_json_schema or {})
            form = (kind.extra or {}).get("form")
            return {**(SCHEMAS[form] if form else self.schema(kind.type)), **said}
        match kind:
            case inspect.StructType():
                return {"$ref": f"#/$defs/{self._define(kind)}"}
            case inspect.UnionType():
                return self._any_of(kind)
            case inspect.VarTupleType():
                return {"type": "array", "items": self.schema(kind.item_type)}
            case inspect.DictType():
                return {"type": "object", "additionalProperties": self.schema(kind.value_type)}
            case inspect.LiteralType():
                return {"enum": list(kind.values)}
            case inspect.IntType():
                bounds = {"minimum": kind.ge, "maximum": kind.le}
                given = {name: bound for name, bound in bounds.items() if bound is not None}
                return {"type": "integer", **given}
            case inspect.BoolType():
                return {"type": "boolean"}
            case _:
                assert isinstance(kind, inspect.StrType), kind
                return {"type": "string"}

    def _any_of(self, kind: inspect.UnionType) -> dict[str, Any]:
        # Null is the same as absent, so editors need not offer it.
        choices = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        made = [self.schema(each) for each in choices]
        return made[0] if len(made) == 1 else {"anyOf": made}

    def _define(self, kind: inspect.StructType) -> str:
        name = _name(kind.cls)
        if name not in self.definitions:
            self.definitions[name] = {}  # a form within itself finds its name
            origin = get_origin(kind.cls) or kind.cls
            fields = list(fields_in_file(kind))
            self.definitions[name] = {
                "type": "object",
                "description": (origin.__doc__ or "").partition("\n")[0],
                "properties": {name: self.schema(field.type) for name, field in fields},
                "required": [name for name, field in fields if field.required],
                "additionalProperties": False,
            }
        return name


def _name(form: Any) -> str:
    """Return what a form is called: ``Queue``, or ``DrawnDuration`` where it is of durations."""
    origin = get_origin(form)
    if origin is None:
        return str(form.__name__.removesuffix("Form"))
    is_duration = get_args(form)[0] == DurationMs
    return f"{_name(origin)}{DURATION.capitalize() if is_duration else 'Count'}"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
