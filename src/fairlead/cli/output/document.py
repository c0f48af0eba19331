"""Data for programs: the same document as JSON or YAML."""

import json
from decimal import Decimal
from fractions import Fraction

import click
import msgspec


def print_document(document: object, form: str) -> None:
    """Print *document* as ``json`` or ``yaml``."""
    plain = msgspec.to_builtins(document, enc_hook=_exact, builtin_types=())
    if form == "json":
        click.echo(json.dumps(plain, indent=2, ensure_ascii=False))
        return
    import yaml

    text = yaml.dump(
        plain,
        Dumper=yaml.CSafeDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
    )
    click.echo(text, nl=False)


def _exact(value: object) -> object:
    """Fractions and decimals stay exact, as text: ``8/3``, ``0.5``."""
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if isinstance(value, frozenset):
        return sorted(value)
    raise TypeError(f"no plain form of {type(value).__name__}")
