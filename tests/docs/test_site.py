"""The site: built strictly, whole, without a network, and readable on a phone."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import discreet

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"


def build(config, out):
    """Build a site strictly; gives the exit code and what was said."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "--site-dir", out],
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    code, said = build(ROOT / "mkdocs.yml", folder)
    assert code == 0, said
    return folder


def _navigated(entry):
    if isinstance(entry, str):
        return {entry}
    inner = entry.values() if isinstance(entry, dict) else entry
    return set().union(*(_navigated(each) for each in inner))


def test_every_page_is_in_the_navigation():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    assert _navigated(nav) == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


@pytest.mark.parametrize(
    ("pages", "nav", "warned"),
    [
        ({"index.md": "# A\n\n[b](b.md#b)", "b.md": "# B"}, ["index.md", "b.md"], []),
        (
            {
                "index.md": "# A\n\n[a page](gone.md), [a part](#gone), [of another](b.md#lost)",
                "b.md": "# B",
                "beside.md": "# C",
            },
            ["index.md", "b.md", "missing.md"],
            ["'gone.md'", "'#gone'", "'b.md#lost'", "beside.md", "'missing.md'"],
        ),
    ],
)
def test_a_broken_link_or_a_lost_page_fails_the_build(tmp_path, pages, nav, warned):
    """Any warning fails it: each of these faults has one of its own."""
    (tmp_path / "docs").mkdir()
    for name, text in pages.items():
        (tmp_path / "docs" / name).write_text(text)
    changed = {"docs_dir": "docs", "nav": nav, "plugins": [], "extra_css": []}
    config = tmp_path / "mkdocs.yml"
    config.write_text(yaml.safe_dump({"INHERIT": str(ROOT / "mkdocs.yml")} | changed))
    code, said = build(config, tmp_path / "out")
    assert code == (1 if warned else 0), said
    warnings = re.findall(r"^WARNING.*?(?=^[A-Z]|\Z)", said, re.M | re.S)
    assert len(warnings) == len(warned), said
    for fault in warned:
        assert [one for one in warnings if fault in one], said


def test_nothing_comes_from_a_network(site):
    from_elsewhere = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=.?https?:[^>]*>")
    found = {
        tag for page in site.rglob("*.html") for tag in from_elsewhere.findall(page.read_text())
    }
    assert found == set()
    styles = "".join(sheet.read_text() for sheet in site.rglob("*.css"))
    assert "url(http" not in styles
    assert "@import" not in styles


def test_lists_and_tables_are_shown_as_such(site):
    lost = re.compile(r"<p>(?:(?!</p>).)*?^(?:[-*|] |\d\. |&gt;&gt;&gt; ).*?</p>", re.S | re.M)
    found = {page.name: lost.findall(page.read_text()) for page in site.rglob("*.html")}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_settings_are_shown_by_their_defaults(site):
    page = re.sub(r"<[^>]+>", "", (site / "api" / "release.html").read_text())
    assert "HandoverSettings" in page
    assert not re.findall(r"\bSetting\(|\.default\(", page)


def test_the_front_page_of_the_library_lists_exactly_the_public_names():
    listed = re.findall(r"^::: discreet\.(\w+)$", (DOCS / "api" / "index.md").read_text(), re.M)
    assert sorted(listed) == sorted(discreet.__all__)


@pytest.mark.parametrize(
    ("page", "package"),
    [
        ("mechanisms", "mechanisms.word"),
        ("mechanisms", "mechanisms.sentence"),
        ("mechanisms", "mechanisms.document"),
        ("mechanisms", "mechanisms.label"),
        ("audit", "audit"),
        ("accounting", "accounting"),
    ],
)
def test_every_public_name_of_a_package_is_on_its_page(site, page, package):
    module = importlib.import_module(f"discreet.{package}")
    headings = re.findall(r'id="discreet\.([\w.]+)"', (site / "api" / f"{page}.html").read_text())
    shown = {name.rpartition(".")[2] for name in headings if name.startswith(f"{package}.")}
    assert shown >= set(module.__all__)


# The index is two tables, of words and of beginnings of words. Where many words differ in digits
# alone the second can come to hold words that are not in the first; then a search finds nothing.
_KEEP_THE_INDEX = """() => {
    const kind = document.querySelector("iframe").contentWindow.lunr.Index.prototype;
    const query = kind.query;
    kind.query = function (ask) { window.index = this; return query.call(this, ask); };
}"""
_WORDS_OF_NO_PAGE = "index.tokenSet.toArray().filter(word => !(word in index.invertedIndex))"


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_a_browser_shows_the_site_from_a_folder(site, browser, width, height):
    tab = browser.new_page(viewport={"width": width, "height": height})
    tab.set_default_timeout(300_000)  # of a machine that is busy
    problems: list[str] = []
    tab.on("console", lambda message: problems.append(message.text))
    tab.on("pageerror", lambda error: problems.append(str(error)))
    # What the next page interrupts, such as an icon on its way, is no problem.
    tab.on(
        "requestfailed",
        lambda request: request.failure == "net::ERR_ABORTED" or problems.append(request.url),
    )
    # Wide tables and long lines scroll in their own frame; a page never does sideways.
    for page in ["commands/sanitize", "background/claims", "api/mechanisms"]:
        tab.goto((site / f"{page}.html").as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, page
    # Navigation works: by the tabs above or, on a phone, by the drawer.
    tab.goto((site / "index.html").as_uri())
    if width < 1000:
        tab.locator("label.md-header__button[for=__drawer]").click()
        tab.locator("nav.md-nav--primary label", has_text="Guides").first.click()
        tab.locator("nav.md-nav--primary a", has_text="Which one").click()
    else:
        tab.locator("nav.md-tabs a", has_text="Guides").click()
    tab.wait_for_url("**/guides/which-one.html")
    # So does the search, without a server.
    if width < 1000:
        tab.locator("label.md-header__button[for=__search]").click()
    tab.locator("input.md-search__input").click()
    tab.wait_for_function("!!document.querySelector('iframe')?.contentWindow.lunr")
    tab.evaluate(_KEEP_THE_INDEX)
    tab.locator("input.md-search__input").press_sequentially("permute")
    tab.locator(".md-search-result__item").first.wait_for()
    assert tab.evaluate(_WORDS_OF_NO_PAGE) == []
    tab.close()
    assert problems == []
