"""The repository checks itself for what no linter knows: our own rules of the house."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.shared_folder import ROOT

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 50
PURE = ("model", "fairness", "placement", "policy", "usage")

# The patterns are spelt so that they do not match themselves.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home/\w+|Users/\w+|opt)/")
REGISTRY_HOST = re.compile(r"\b(?:pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org)")
UNFINISHED = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K])\b")
FIXED_EXAMPLES = re.compile(r"\bmax_examples=\d")
EMPTY_NAME = re.compile(r"(?:^|_)(?:utils?|helpers?|common|misc|managers?)(?:_|$)")


@cache
def files() -> tuple[Path, ...]:
    """All files that are or could be committed; folders with a dot are tools' own, but .ci."""
    found = [file for file in ROOT.rglob("*") if file.is_file() and _is_ours(file)]
    assert ROOT / "pyproject.toml" in found
    return tuple(sorted(found))


def _is_ours(file: Path) -> bool:
    *folders, name = file.relative_to(ROOT).parts
    if name == ".git":  # of a second working tree it is a file, which says where the first one is
        return False
    left_out = {"__pycache__", "build", "dist"}
    return not any(
        folder in left_out or (folder.startswith(".") and folder != ".ci") for folder in folders
    )


def python_files(*folders: str) -> list[Path]:
    wanted = [ROOT / folder for folder in folders]
    return [
        file
        for file in files()
        if file.suffix == ".py" and any(folder in file.parents for folder in wanted)
    ]


def texts() -> Iterator[tuple[Path, str]]:
    for file in files():
        if file.suffix in {".png", ".woff2", ".gz", ".db"}:
            continue
        yield file, file.read_text(encoding="utf-8")


def matching_lines(pattern: re.Pattern[str], text: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)]


def all_matching(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{file.relative_to(ROOT)}:{number}"
        for file, text in texts()
        for number in matching_lines(pattern, text)
    ]


def test_no_file_names_a_path_of_one_machine() -> None:
    assert all_matching(MACHINE_PATH) == []
    assert all_matching(re.compile(re.escape(str(ROOT)) + r"\b")) == []


def test_no_file_names_a_host_of_packages() -> None:
    assert all_matching(REGISTRY_HOST) == []


def test_nothing_is_left_for_later_in_a_comment() -> None:
    assert all_matching(UNFINISHED) == []


def test_profiles_scale_the_examples_of_every_law() -> None:
    assert {place.split(":")[0] for place in all_matching(FIXED_EXAMPLES)} == {
        "tests/conftest.py",  # the profiles
        "tests/scale_examples.py",  # a limit that is no effort
    }


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        (MACHINE_PATH, "see {}work{}x", True),
        (MACHINE_PATH, "'{}root{}.cache'", True),
        (MACHINE_PATH, "{}home{}ann{}x", True),
        (MACHINE_PATH, "frame{}work{}x", False),
        (MACHINE_PATH, "src{}root{}x", False),
        (MACHINE_PATH, "..{}work{}x", False),
        (REGISTRY_HOST, "https:{}{}pypi" + ".org", True),
        (UNFINISHED, "# TO" + "DO: later", True),
        (UNFINISHED, "# FIX" + "ME", True),
        (UNFINISHED, "method", False),
        (FIXED_EXAMPLES, "@settings(max_examples=" + "60)", True),
        (FIXED_EXAMPLES, "@settings(max_examples=scale_examples(60))", False),
        (EMPTY_NAME, "queue_utils", True),
        (EMPTY_NAME, "common", True),
        (EMPTY_NAME, "commons_tragedy", False),
    ],
)
def test_the_patterns_find_what_they_are_for(
    pattern: re.Pattern[str], text: str, is_match: bool
) -> None:
    assert bool(pattern.search(text.replace("{}", "/"))) is is_match


def test_no_python_file_is_too_long() -> None:
    counts = {
        str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines())
        for file in python_files("src", "tests", "bench", "tools")
    }
    assert {name: count for name, count in counts.items() if count > MAX_FILE_LINES} == {}


def test_files_are_named_after_what_they_do() -> None:
    named = [
        str(file.relative_to(ROOT))
        for file in python_files("src", "tests", "bench", "tools")
        if EMPTY_NAME.search(file.stem) or EMPTY_NAME.search(file.parent.name)
    ]
    assert named == []


def long_functions(source: str) -> list[str]:
    """Functions over the limit, docstring not counted: promises are not what makes them long."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            first = node.body[0]
            count = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None and first.end_lineno is not None:
                count -= first.end_lineno - first.lineno + 1
            if count > MAX_FUNCTION_LINES:
                found.append(f"{node.name}: {count} lines")
    return found


def test_no_function_is_too_long() -> None:
    found = {
        str(file.relative_to(ROOT)): long_functions(file.read_text(encoding="utf-8"))
        for file in python_files("src")
    }
    assert {name: functions for name, functions in found.items() if functions} == {}


def test_the_length_of_a_function_is_counted_without_its_docstring() -> None:
    """1 line of def + 2 of docstring + 49 of body = 52, of which 50 count; one more is over."""
    longest = 'def f():\n    """One.\n    Two."""\n' + "    x = 1\n" * 49
    assert long_functions(longest) == []
    assert long_functions(longest + "    x = 1\n") == ["f: 51 lines"]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def dependencies() -> list[str]:
    """The names of everything that pyproject.toml asks for, extras included."""
    table = project()["project"]
    asked = [*table["dependencies"], *chain(*table["optional-dependencies"].values())]
    return [re.split(r"[\s\[<>=!~;]", each, maxsplit=1)[0] for each in asked]


def test_every_dependency_is_justified() -> None:
    page = (ROOT / "docs/decisions/dependencies.md").read_text(encoding="utf-8")
    assert [name for name in dependencies() if f"\n| {name} |" not in page] == []


def test_every_dependency_is_pinned() -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert [name for name in dependencies() if f"\n{name}==" not in pins] == []


def test_every_pin_stands_once() -> None:
    """Two pins of one package may come to differ, and then nothing can be installed."""
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = [name.lower() for name in re.findall(r"^([^#=\s]+)==", pins, re.MULTILINE)]
    assert [name for name, times in Counter(pinned).items() if times > 1] == []


@cache
def impure_modules() -> frozenset[str]:
    """What the contract of import-linter forbids, so that there is one list only."""
    contracts = project()["tool"]["importlinter"]["contracts"]
    [pure] = [contract for contract in contracts if contract["id"] == "pure"]
    return frozenset(pure["forbidden_modules"])


def impurities(source: str) -> list[str]:
    """Imports of impure modules, and calls that reach for the clock or for files."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                modules = [name.name for name in names]
            case ast.ImportFrom(module=str(module)):
                modules = [module]
            case ast.Call(func=ast.Attribute(attr="now" | "utcnow" | "today" as name)):
                found.append(f"{node.lineno}: {name}()")
                continue
            case ast.Call(func=ast.Name(id="open" | "print" | "input" as name)):
                found.append(f"{node.lineno}: {name}()")
                continue
            case _:
                continue
        impure = [module for module in modules if module.split(".")[0] in impure_modules()]
        found += [f"{node.lineno}: import {module}" for module in impure]
    return found


def test_pure_packages_are_pure() -> None:
    found = {
        str(file.relative_to(ROOT)): impurities(file.read_text(encoding="utf-8"))
        for file in python_files(*(f"src/fairlead/{package}" for package in PURE))
    }
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import math, os.path", ["1: import os.path"]),
        ("def f():\n    from time import time", ["2: import time"]),
        ("from datetime import datetime\ndatetime.now()", ["2: now()"]),
        ("open('x')", ["1: open()"]),
        ("from fairlead.model import time_of_day\nimport heapq", []),
    ],
)
def test_an_impurity_is_found_where_it_is(source: str, found: list[str]) -> None:
    assert impurities(source) == found
