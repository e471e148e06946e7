"""``discreet report`` as a person uses it, and its page in a real browser."""

import json

import pytest

from command import called, discreet
from discreet.report.plots import Curve
from discreet_recipes.record import Record


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    (folder / "in.txt").write_text("the film was good\n")
    cache = folder / "cache"
    done = called(
        "sanitize",
        folder / "in.txt",
        "-o",
        folder / "out.txt",
        "-m",
        "santext",
        "-e",
        8,
        cache=cache,
    )
    assert done.code == 0, done.err
    record = Record(folder / "recipe", "small", {}, title="A small recipe")
    record.add_claim("a long claim " * 8, "1", "2", "holds in part", "why " * 30)
    record.add_table("wide", "A wide table", [{f"column {i}": i for i in range(12)}])
    for name in ("one", "two"):
        curves = (Curve("ours", (1.0, 2.0), (0.1, 0.4)), Curve("theirs", (1.0, 2.0), (0.2, 0.1)))
        record.add_plot(name, name, ("epsilon", "accuracy"), curves, f"Plot {name} rises.")
    record.finish()
    out = folder / "report.html"
    done = discreet("report", folder / "out.txt", folder / "recipe", "-o", out, cache=cache)
    assert done.code == 0, done.err
    return out


def test_the_page_says_the_guarantee_and_the_findings(page):
    text = page.read_text()
    receipt = json.loads((page.parent / "out.txt.privacy.json").read_text())
    assert receipt["in_words"][0] in text
    assert "holds in part" in text
    assert "film" not in text


def test_an_existing_page_is_kept(page):
    before = page.read_bytes()
    done = called("report", page.parent / "out.txt", "-o", page, cache=page.parent / "cache")
    assert done.code == 2
    assert "--force" in done.err
    assert page.read_bytes() == before


@pytest.mark.parametrize(
    ("run", "output", "says"),
    [
        ("in.txt", "other.html", "no receipt lies beside it"),
        ("out.txt", "other.pdf", "end its name in .html"),
    ],
)
def test_a_file_without_a_receipt_and_a_page_that_is_no_page(page, run, output, says):
    folder = page.parent
    done = called("report", folder / run, "-o", folder / output, cache=folder / "cache")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert says in done.err
    assert not (folder / output).exists()


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_a_browser_shows_every_plot_without_an_error(page, browser, width, height):
    tab = browser.new_page(viewport={"width": width, "height": height})
    tab.set_default_timeout(300_000)  # of a machine that is busy
    problems: list[str] = []
    tab.on("console", lambda message: problems.append(message.text))
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("requestfailed", lambda request: problems.append(request.url[:80]))
    tab.goto(page.as_uri())
    images = tab.locator("img")
    assert images.count() == 2
    for number in range(2):
        image = images.nth(number)
        assert image.is_visible()
        assert image.evaluate("i => i.complete && i.naturalWidth > 0")
        box = image.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert (image.get_attribute("alt") or "").startswith("Plot")
    # Claims are read without scrolling sideways, on a phone one beneath the other.
    for cell in tab.locator(".claims td").all():
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    columns = {c.evaluate("c => c.offsetLeft") for c in tab.locator(".claims td").all()}
    assert len(columns) == (1 if width < 640 else 5)
    # Wide tables scroll in their own frame; the page itself never does sideways.
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.close()
    assert problems == []
