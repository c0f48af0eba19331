"""The runner of the docs finds every block, and is not fooled by a page that is not true."""

from pathlib import Path
from textwrap import dedent

import pytest

from tests.doc_pages import Block, PageError, Result, blocks, matches, run_page, steps


def page(text: str) -> str:
    return dedent(text).lstrip("\n")


def run(text: str, folder: Path) -> Result:
    return run_page(page(text), "page.md", folder)


def lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("|")) if text else ()


@pytest.mark.parametrize(
    ("expected", "actual", "is_match"),
    [
        ("a|b", "a|b", True),
        ("a|b", "a|c", False),
        ("a", "a|b", False),
        ("a|b", "a", False),
        ("a  ", "a", True),  # trailing blanks
        ("a||", "a", True),  # blank lines at the end
        ("a||b", "a|b", False),  # but not between
        ("...", "", True),
        ("a|...|z", "a|z", True),
        ("a|...|z", "a|b|c|z", True),
        ("a|...|z", "a|b|c", False),
        ("a.c", "abc", False),  # nothing but the dots has a meaning
        ("", "a", False),
    ],
)
def test_output_is_compared_line_by_line(expected: str, actual: str, is_match: bool) -> None:
    assert matches(lines(expected), lines(actual)) is is_match


def test_a_true_page_has_no_fault_and_stays_as_it_is(tmp_path: Path) -> None:
    text = """
        # Title

        ```console
        $ printf 'one\\ntwo\\nthree\\n'
        one
        ...
        $ echo out; echo err >&2; exit 3
        out
        err
        [exit 3]
        ```
    """
    result = run(text, tmp_path)
    assert (result.outdated, result.broken) == ((), ())
    assert result.text == page(text)


def test_an_untrue_output_is_shown_as_a_difference_and_mended(tmp_path: Path) -> None:
    result = run(
        """
        ```console
        $ echo four
        five
        $ true
        ```
        """,
        tmp_path,
    )
    assert result.outdated[0].splitlines() == [
        "--- page.md:2 says",
        "+++ the commands print",
        "@@ -1,3 +1,3 @@",
        " $ echo four",
        "-five",
        "+four",
        " $ true",
    ]
    assert result.text == "```console\n$ echo four\nfour\n$ true\n```\n"


def test_an_exit_code_that_the_page_hides_is_a_fault(tmp_path: Path) -> None:
    assert "+[exit 1]" in run("```console\n$ false\n```\n", tmp_path).outdated[0]


def test_an_exit_code_that_does_not_happen_is_a_fault(tmp_path: Path) -> None:
    assert "-[exit 1]" in run("```console\n$ true\n[exit 1]\n```\n", tmp_path).outdated[0]


def test_mending_keeps_the_indent_of_a_block_in_a_list(tmp_path: Path) -> None:
    text = "1. First\n\n   ```console\n   $ echo a\n   ```\n\n2. Second\n"
    assert run_page(text, "page.md", tmp_path).text == (
        "1. First\n\n   ```console\n   $ echo a\n   a\n   ```\n\n2. Second\n"
    )


def test_several_blocks_are_mended_each_in_its_place(tmp_path: Path) -> None:
    text = "```console\n$ seq 3\n```\nbetween\n```console\n$ echo x\nold\nold\n```\n"
    assert run_page(text, "page.md", tmp_path).text == (
        "```console\n$ seq 3\n1\n2\n3\n```\nbetween\n```console\n$ echo x\nx\n```\n"
    )


def test_a_command_may_have_several_lines(tmp_path: Path) -> None:
    result = run(
        """
        ```console
        $ cat > file <<END
        > inside
        > END
        $ cat file
        inside
        ```
        """,
        tmp_path,
    )
    assert result.outdated == ()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "inside\n"


def test_python_blocks_share_their_names(tmp_path: Path) -> None:
    result = run(
        """
        ```python
        half = 21
        ```

        ```python
        >>> whole = 2 * half
        >>> whole
        42
        ```

        ```python
        assert whole == 42
        ```
        """,
        tmp_path,
    )
    assert result.broken == ()


def test_a_doctest_that_fails_is_broken(tmp_path: Path) -> None:
    result = run("```python\n>>> 1 + 1\n3\n```\n", tmp_path)
    assert "Expected:\n    3\nGot:\n    2" in result.broken[0]


def test_a_script_that_raises_points_at_the_line_of_the_page(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        run("text\n\n```python\n1 / 0\n```\n", tmp_path)
    assert raised.traceback[-1].lineno + 1 == 4


def test_a_block_with_a_reason_is_not_run(tmp_path: Path) -> None:
    text = "<!-- not run: it would take\n a day -->\n\n```console\n$ false\n```\n"
    assert run_page(text, "page.md", tmp_path).outdated == ()


def test_the_reason_exempts_only_the_next_block(tmp_path: Path) -> None:
    exempt = "<!-- not run: slow -->\n```console\n$ false\n```\n"
    found = [block.exempt for block in blocks(exempt + "```console\n$ false\n```\n")]
    assert found == [True, False]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<!-- not run -->\n```console\n$ a\n```\n", "line 2: say why"),
        ("<!-- not run:  -->\n```console\n$ a\n```\n", "line 2: say why"),
        ("```console\n$ a\n", "line 1: this block has no end"),
        ("text\n```bash\na\n```\n", "line 2: use ```console"),
        ("```\na\n```\n", "line 1: use ```console"),
    ],
)
def test_a_malformed_page_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(PageError, match=complaint):
        list(blocks(text))


def test_a_console_block_without_a_command_is_refused() -> None:
    block = Block(language="console", first=7, lines=("make test",), exempt=False)
    with pytest.raises(PageError, match="line 8: a console block begins with"):
        steps(block)


def test_a_longer_fence_may_hold_a_shorter_one() -> None:
    found = list(blocks("````text\n```console\n$ false\n```\n````\n"))
    assert [block.language for block in found] == ["text"]
