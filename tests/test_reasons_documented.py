"""Every code that a decision can carry is explained in the reference, and put into words."""

import importlib
import pkgutil
import re

import pytest

import fairlead.policy
from fairlead.explain.text.reasons import reason_text
from fairlead.model.plan import Reason
from tests.shared_folder import ROOT

PAGE = (ROOT / "docs" / "reference" / "reasons.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^### `(?P<code>[^`]*)`\n(?P<body>.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
SECTIONS = {match["code"]: match["body"] for match in SECTION.finditer(PAGE)}

CODE = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z]+)*")


def codes() -> set[str]:
    """Return the value of every constant in a policy that is spelt as codes are."""
    modules = pkgutil.walk_packages(fairlead.policy.__path__, "fairlead.policy.")
    return {
        value
        for module in modules
        for name, value in vars(importlib.import_module(module.name)).items()
        if name.isupper() and isinstance(value, str) and CODE.fullmatch(value)
    }


def test_the_page_has_every_code_and_nothing_else() -> None:
    assert "OverLimit" in codes()
    assert SECTIONS.keys() == codes()


@pytest.mark.parametrize("code", SECTIONS)
def test_a_section_says_what_is_carried_and_what_can_be_done(code: str) -> None:
    assert re.search(r"^Carries: ", SECTIONS[code], re.MULTILINE)
    assert re.search(r"^What you can do: ", SECTIONS[code], re.MULTILINE)


def test_the_table_at_the_top_names_every_code() -> None:
    assert set(re.findall(r"\[`(\w+)`\]\(#\w+\)", PAGE)) == codes()


@pytest.mark.parametrize("code", sorted(codes()))
def test_a_code_has_a_sentence_of_its_own(code: str) -> None:
    assert reason_text(Reason(code=code)) != code
