"""The page of a comparison in a real browser."""

from pathlib import Path

import msgspec

from fairlead.explain.text.measures import change_text, measure_text
from fairlead.sim.report.measure_rows import shown
from fairlead.sim.report.sides import compare, sides_of
from fairlead.web.page.write_page import write_page
from tests.sim.report.small_results import small_run, write_result
from tests.web.browser import Page, opened_browser

VALUES = [
    sign * digits * 10.0**power
    for sign in (1, -1)
    for digits in (1, 1.005, 1.125, 2.5, 4.46, 5.999, 9.996)
    for power in range(-7, 13)
] + [0, 0.125, 0.0625, 100.5, 999.5, 59_999, 59_949, 3_599_499.5, 3_599_600, 86_399_999]
FORMS = ("count", "ms", "ratio", "percent", "amount-time")


def test_numbers_are_those_of_the_table(tmp_path: Path) -> None:
    """But for thin spaces and the sign of less, which a terminal may not have."""
    result = write_result(tmp_path / "result", small_run("kai"), small_run("kueue"))
    file = tmp_path / "compare.html"
    file.write_bytes(write_page("compare", "small", compare(sides_of("result", result.runs))))
    gpu = shown("gpu")
    pairs = [(form, value) for form in FORMS for value in VALUES]
    script = """
        (pairs => {
          const page = new ComparePage({resources: [RESOURCE], seeds: [1]});
          return pairs.map(([form, value]) => {
            const found = {form, resource: RESOURCE.name};
            return [page.text(found, value), page.signed(found, value)];
          });
        })(PAIRS)
    """.replace("RESOURCE", msgspec.json.encode(gpu).decode())
    with opened_browser(tmp_path / "profile") as browser:
        browser.open(file)
        texts = browser.run(script.replace("PAIRS", msgspec.json.encode(pairs).decode()))
    for (form, value), (text, change) in zip(pairs, texts, strict=True):
        told = measure_text(form, value, gpu), change_text(form, value, gpu)
        assert (_plain(text), _plain(change)) == tuple(map(_plain, told)), (form, value)


def _plain(text: str) -> str:
    return text.replace("\u2009", "").replace(" ", "").replace("\u2212", "-")


def _from_the_top(browser: Page) -> list[str]:
    """Return the kinds of cells of the first row, from the top down, each once."""
    script = """
        [...document.querySelectorAll('.compared tbody tr:first-child td:not(.wide)')]
          .map(cell => [cell.getBoundingClientRect().top, cell.className.match(
            /verdict|difference|interval|named/g).pop()])
          .sort(([one], [other]) => one - other).map(([, kind]) => kind)
    """
    return list(dict.fromkeys(browser.run(script)))


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
        browser.resize(390, 844)
        browser.settle()
        assert browser.run("document.documentElement.scrollWidth") <= 390
        assert browser.run("document.querySelector('.compared .scroll').scrollWidth") <= 390
        assert _from_the_top(browser) == ["verdict", "difference", "named", "interval"]
        assert browser.errors == []
        assert browser.requests == [file.as_uri()]


def test_a_change_from_0_is_drawn_at_the_edge(tmp_path: Path) -> None:
    """0 -> 97 % has no relative size; the page left it out, as if nothing had changed."""
    result = write_result(tmp_path / "result", small_run("kai"), small_run("kueue"))
    page = compare(sides_of("result", result.runs))
    (used,) = [row for row in page.rows if (row.name, row.measure) == ("", "utilisation")]
    none, most = (msgspec.structs.replace(used.sides[0], mean=mean) for mean in (0.0, 0.97))
    changed = msgspec.structs.replace(
        used, sides=[none, most], differences=[most], verdicts=["better"]
    )
    page = msgspec.structs.replace(page, rows=[changed])
    file = tmp_path / "compare.html"
    file.write_bytes(write_page("compare", "small", page))
    with opened_browser(tmp_path / "profile") as browser:
        browser.open(file)
        assert browser.run("document.querySelector('.span .dot').style.left") == "100%"
        said = browser.run("document.querySelector('.span').title")
        assert said == "Change from 0, better"
        assert browser.errors == []
