"""The page of a comparison in a real browser."""

from pathlib import Path

import msgspec
import pytest

from fairlead.sim.report.compare_sides import compare
from fairlead.sim.report.sides import sides_of
from fairlead.web.page.write_page import write_page
from tests.sim.report.small_results import small_run, write_result
from tests.web.browser import opened_browser

pytestmark = pytest.mark.one_python


def test_a_comparison_is_shown_with_a_verdict_for_each_measure(tmp_path: Path) -> None:
    """Three sides with the same numbers: each measure is the same, and all can be chosen."""
    runs = [
        msgspec.structs.replace(small_run(f"{variant}-seed-{seed}", seed=seed), variant=variant)
        for variant in ("kai", "<b>kueue", "elastic")
        for seed in (1, 2)
    ]
    runs = [msgspec.structs.replace(run, name=run.name.replace("<b>", "")) for run in runs]
    result = write_result(tmp_path / "result", *runs)
    file = tmp_path / "compare.html"
    page = compare(sides_of("result", result.runs))
    file.write_bytes(write_page("compare", "small", page))
    with opened_browser(tmp_path / "profile") as browser:
        browser.open(file)
        cells = "[...document.querySelectorAll('.compared td:last-child')]"
        verdicts = f"[...new Set({cells}.map(each => each.textContent))]"
        assert browser.run(verdicts) == ["the same"]
        assert browser.run("document.querySelectorAll('.span .dot').length") > 5
        assert "<b>kueue" in browser.run("document.querySelector('main').textContent")
        browser.run(
            "(select => { select.value = '2'; select.dispatchEvent(new Event('change')) })"
            "(document.querySelector('#choose-side'))"
        )
        heads = "document.querySelector('.compared thead').textContent"
        assert "elastic" in browser.run(heads)
        browser.resize(400, 800)
        assert browser.run("document.documentElement.scrollWidth") <= 400
        assert browser.errors == []
        assert browser.requests == [file.as_uri()]
