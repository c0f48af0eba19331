"""As much of JSON Schema as ours uses, checked in the plainest way."""

import re
from decimal import Decimal
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, Decimal),
    "boolean": (bool,),
}
KNOWN = {
    "$ref",
    "additionalProperties",
    "anyOf",
    "description",
    "enum",
    "format",
    "items",
    "maximum",
    "minimum",
    "exclusiveMinimum",
    "pattern",
    "properties",
    "required",
    "type",
}


def faults(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """Return where *value* is not as *schema* says; nothing if all is well."""
    assert schema.keys() <= KNOWN, schema.keys() - KNOWN
    if "$ref" in schema:
        target = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        return faults(value, target, root, at)
    if "anyOf" in schema:
        tried = [faults(value, each, root, at) for each in schema["anyOf"]]
        # Where the value is of a fitting type, its own faults say more than that it is another.
        return min(tried, key=lambda found: (at in found, len(found)))
    if "enum" in schema:
        return [] if value in schema["enum"] else [at]
    named = schema["type"]
    types = [named] if isinstance(named, str) else named
    if not any(_is_a(value, each) for each in types):
        return [at]
    if "minimum" in schema and value < schema["minimum"]:
        return [at]
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return [at]
    if "maximum" in schema and value > schema["maximum"]:
        return [at]
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return [at]
    return _inner_faults(value, schema, root, at)


def _is_a(value: Any, named: str) -> bool:
    return isinstance(value, TYPES[named]) and (named == "boolean" or not isinstance(value, bool))


def _inner_faults(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str) -> list[str]:
    found: list[str] = []
    if isinstance(value, list):
        for place, item in enumerate(value):
            found += faults(item, schema["items"], root, f"{at}[{place}]")
    if isinstance(value, dict):
        found += [f"{at}.{key}" for key in schema.get("required", ()) if key not in value]
        others = schema.get("additionalProperties", True)
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, others)
            if inner is False:
                found.append(f"{at}.{key}")
            elif inner is not True:
                found += faults(item, inner, root, f"{at}.{key}")
    return found
