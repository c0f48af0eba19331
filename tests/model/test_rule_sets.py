"""Which files of the model know one rule set from another."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.shared_folder import ROOT

MODEL = ROOT / "src" / "fairlead" / "model"
EXTENSIONS = {"queue.py", "workload.py", "memory.py", "execution/remember.py"}
RULE_SET = re.compile(r"kai|kueue|elastic", re.IGNORECASE)


def names(file: Path) -> Iterator[str]:
    """Yield every identifier and every imported name of a file; comments and texts may explain."""
    for each in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match each:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.ImportFrom(module=str(module)):
                yield module


def test_only_the_typed_extensions_name_a_rule_set() -> None:
    found = {
        str(file.relative_to(MODEL))
        for file in MODEL.rglob("*.py")
        if any(map(RULE_SET.search, names(file)))
    }
    assert found == EXTENSIONS
