"""The playground in a real browser: every control does what it says, and nothing leaves."""

import re
from urllib.parse import urlsplit

import pytest

from playground_server import TEXT, served, small_space

WIDE, PHONE = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("playground")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_CACHE", str(folder / "cache"))
        with served(small_space(folder)) as address:
            yield address


@pytest.fixture
def visit(browser, address):
    """Opens the page; afterwards there was no problem and no request to another host."""
    problems, asked, tabs = [], [], []

    def visited(size=WIDE, scheme="light", text=TEXT):
        tab = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        tabs.append(tab)
        tab.set_default_timeout(300_000)  # of a machine that is busy
        tab.on("console", lambda message: problems.append(message.text))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(address)
        _settled(tab)
        if text is not None:
            tab.get_by_role("textbox", name="Your text").fill(text)
            _settled(tab)
        return tab

    yield visited
    for tab in tabs:
        tab.close()
    assert problems == []
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(address).netloc}
    assert not [url for url in asked if "?" in url or "#" in url]


def _settled(tab):
    """Wait until what is shown (words, guesses, picture) is of the text that is there."""
    tab.wait_for_function(
        """() => document.getElementById("released-card").ariaBusy === "false"
            && state.attacked && state.attacked === state.drawn
            && state.drawn.pieces.map(piece => piece.space ?? piece.text).join("")
                === document.getElementById("text").value
            && document.querySelector("#frontier svg")"""
    )


def _changed(tab, action):
    """Do something, and wait for the draw that it asks for; what was sent with it."""
    with tab.expect_response("**/playground/try") as answer:
        action()
    sent = answer.value.request.post_data_json
    tab.wait_for_function("() => document.getElementById('released-card').ariaBusy === 'false'")
    return sent


def _words(tab):
    return tab.locator(".word").all()


def test_a_text_stands_beside_what_comes_out(visit):
    tab = visit()
    words = {
        word.locator(".in").text_content(): (
            word.locator(".out").text_content(),
            word.get_attribute("class"),
        )
        for word in _words(tab)
    }
    assert words["The"] == ("The", "word public")
    assert words["Jane Roe"][1] == "word id"
    assert words["mother"][1] in ("word changed", "word same")
    assert words["zyxwv."][0] != "zyxwv."
    # As in the text: each word with what stands around it.
    assert tab.locator(".word .in").all_text_contents()[-2:] == ["jane@roe.example", "!"]
    assert tab.locator("#words br").count() == 1
    assert re.search(r"\d+ words were drawn", tab.locator("#summary").inner_text())
    rows = tab.locator("#identifiers-rows tr").all()
    assert [row.locator(".type").inner_text() for row in rows] == ["person", "date", "email"]
    assert rows[2].locator("td").nth(2).inner_text().split("@")[1].startswith("example.")


def test_every_setting_is_sent_and_shown(visit):
    tab = visit()
    before = tab.get_by_role("slider", name="Epsilon")
    assert before.input_value() == "12"
    sent = _changed(tab, lambda: before.fill("8"))
    assert sent["epsilon"] == 8
    assert tab.get_by_label("Epsilon as a number").input_value() == "8"
    assert "epsilon = 8)" in tab.locator("#guarantee-word").inner_text()
    sent = _changed(tab, lambda: tab.get_by_label("Epsilon as a number").fill("3.5"))
    assert sent["epsilon"] == 3.5
    assert before.input_value() == "3.5"

    sent = _changed(tab, lambda: tab.get_by_role("switch", name="Layout is public").uncheck())
    assert sent["layout"] == "tokens"
    assert "white space and punctuation" not in tab.locator("#guarantee-more").text_content()
    switch = tab.get_by_role("switch", name="Function words are public")
    sent = _changed(tab, switch.uncheck)
    assert sent["public_words"] is False
    assert tab.locator(".word.public").count() == 0
    sent = _changed(tab, lambda: tab.get_by_role("switch", name="Replace identifiers").uncheck())
    assert sent["identifiers"] is False
    assert tab.locator(".word.id").count() == 0
    assert not tab.locator("#identifiers-card").is_visible()


def test_an_epsilon_out_of_range_is_brought_back(visit):
    tab = visit()
    number = tab.get_by_label("Epsilon as a number")
    number.fill("99")
    sent = _changed(tab, lambda: number.press("Tab"))
    assert (sent["epsilon"], number.input_value()) == (16, "16")


def test_every_mechanism_can_be_chosen(visit):
    tab = visit(text="the house is old")
    choice = tab.get_by_label("Mechanism")
    names = choice.locator("option").evaluate_all("all => all.map(each => each.value)")
    assert len(names) >= 7
    for name in reversed(names):
        sent = _changed(tab, lambda name=name: choice.select_option(name))
        assert sent["mechanism"] == name
        assert tab.locator("#mechanism-about").inner_text()
        assert tab.get_by_role("slider", name="Epsilon").is_enabled() == (name != "uniform")
    assert names[0] == "near-words-guided"


def test_drawing_again_draws_again(visit):
    tab = visit(text="house " * 60)
    _changed(tab, lambda: tab.get_by_role("slider", name="Epsilon").fill("1"))
    seen = {tab.locator("#words").inner_text()}
    for _ in range(2):  # 60 draws of nearly any word: equal by chance with less than 1 in 10**9
        _changed(tab, tab.get_by_role("button", name="Draw again").click)
        seen.add(tab.locator("#words").inner_text())
    assert len(seen) == 3


def test_a_word_tells_what_it_could_have_become(visit):
    tab = visit()
    word = tab.locator(".word", has_text="mother")
    box = tab.locator("#could")
    word.hover()
    box.wait_for()
    assert "mother could have become" in box.inner_text()
    rows = box.locator(".row").all()
    shares = [float(row.locator("span").inner_text().split()[-2]) for row in rows]
    assert sum(shares) == pytest.approx(100, abs=2)
    assert "any other" in rows[-1].inner_text()
    tab.keyboard.press("Escape")
    assert not box.is_visible()
    tab.locator(".word.public").first.hover()
    box.wait_for()
    assert "passes unchanged" in box.inner_text()
    tab.locator(".word.id").first.hover()
    tab.wait_for_function("() => document.getElementById('could').textContent.includes('person')")


def test_right_and_wrong_guesses_are_marked_and_counted(visit):
    tab = visit(text="the house and the school and the car and the world " * 3)
    right, wrong = tab.locator(".guess.right").count(), tab.locator(".guess.wrong").count()
    assert right + wrong == 12
    # An attacker who takes words for what came out is never overlooked.
    same = int(re.search(r"(\d+) of them came out as they were", tab.inner_text("body"))[1])
    assert tab.locator("#score").inner_text().startswith(f"{max(right, same)} of 12 right")
    originals = ["house", "school", "car", "world"] * 3
    guessed = tab.locator(".guess.right, .guess.wrong").all()
    for guess, original in zip(guessed, originals, strict=True):
        said = guess.evaluate("node => node.firstChild.textContent")
        assert (said == original) == ("right" in (guess.get_attribute("class") or ""))


def test_a_long_attack_waits_to_be_asked_for(visit):
    tab = visit(text="the house is old")
    _changed(tab, lambda: tab.get_by_label("Mechanism").select_option("santext"))
    assert tab.locator("#score").inner_text() == "–"
    tab.get_by_role("button", name="Work it out").click()
    tab.wait_for_selector(".guess.right, .guess.wrong")
    assert "of 2 right" in tab.locator("#score").inner_text()


def test_the_picture_marks_the_present_setting(visit):
    tab = visit()
    places = []
    for epsilon in ("4", "12"):
        with tab.expect_response("**/playground/frontier"):
            tab.get_by_role("slider", name="Epsilon").fill(epsilon)
        said = re.compile(rf"At epsilon {epsilon} the best guess")
        picture = tab.get_by_role("img", name=said)
        picture.wait_for()
        places.append(float(picture.locator(".now-guess").get_attribute("cx") or 0))
    assert places[0] < places[1]


def test_examples_and_an_empty_text(visit):
    tab = visit(text=None)
    for name in ("Review", "Note", "Ticket"):
        sent = _changed(tab, tab.get_by_role("button", name=name).click)
        assert tab.get_by_role("textbox", name="Your text").input_value() == sent["text"]
    _changed(tab, lambda: tab.get_by_role("textbox", name="Your text").fill(""))
    assert "Nothing yet" in tab.locator("#words").inner_text()
    assert tab.locator("#score").inner_text() == "–"


def test_a_text_that_is_too_long_is_said_so_and_the_next_one_is_shown(browser, address):
    tab = browser.new_page()
    tab.set_default_timeout(300_000)
    tab.goto(address)
    _settled(tab)
    tab.get_by_role("textbox", name="Your text").fill("house " * 1000)
    alert = tab.get_by_role("alert")
    alert.wait_for()
    assert "5,000 characters" in alert.inner_text()
    tab.get_by_role("textbox", name="Your text").fill("the house")
    alert.wait_for(state="hidden")
    tab.close()


def test_a_text_is_text_and_not_markup(visit):
    text = "<img src=x onerror=alert(1)> & house"
    tab = visit(text=text)
    assert tab.locator("main img").count() == 0
    assert "onerror" in tab.locator("#words").text_content()


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(visit):
    tab = visit(text=None)
    reached = []
    for _ in range(40):
        tab.keyboard.press("Tab")
        name, seen = tab.evaluate(
            """() => { const it = document.activeElement, style = getComputedStyle(it);
                return [it === document.body ? "BODY" : it.id || it.textContent.trim(),
                        style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2]; }"""
        )
        if name in reached or name == "BODY":
            break
        assert seen, f"no sign of focus on {name}"
        reached.append(name)
    controls = ["text", "mechanism", "epsilon-number", "epsilon", "layout", "public-words"]
    places = [reached.index(name) for name in (*controls, "identifiers", "again")]
    assert places == sorted(places)
    # Words are one stop; arrows go from one to the next, and each tells what it could have become.
    first = tab.locator(".word").first
    first.focus()
    tab.keyboard.press("ArrowRight")
    second = tab.locator(".word").nth(1)
    assert second.evaluate("node => node === document.activeElement")
    tab.locator("#could").wait_for()
    assert second.get_attribute("aria-describedby") == "could"
    tab.keyboard.press("End")
    assert tab.locator(".word").last.evaluate("node => node === document.activeElement")


NAMELESS = """() => [...document.querySelectorAll("button, input, select, textarea, a, [role=img]")]
    .filter(it => it.checkVisibility())
    .filter(it => !(it.getAttribute("aria-label") || it.textContent.trim()
                    || [...(it.labels || [])].some(label => label.textContent.trim())))
    .map(it => it.outerHTML.slice(0, 80))"""
# WCAG's contrast of every visible piece of text against what is painted behind it.
FAINT = """() => {
    const parts = colour => {
        const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
        return [r, g, b, a];
    };
    const light = colour => {
        const [r, g, b] = colour.slice(0, 3).map(c => c / 255)
            .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = it => {
        for (; it; it = it.parentElement) {
            const colour = parts(getComputedStyle(it).backgroundColor);
            if (colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), faint = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const it = node.parentElement, style = getComputedStyle(it);
        if (!node.textContent.trim() || !it.checkVisibility({visibilityProperty: true})) continue;
        const ink = light(parts(it.closest("svg") ? style.fill : style.color));
        const paper = light(behind(it));
        const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        if (ratio < 4.5) faint.push(`${node.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
    }
    return faint;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_anybody_can_read_it_on_any_screen(visit, size, scheme):
    tab = visit(size, scheme)
    tab.locator("details summary").click()
    assert tab.evaluate(NAMELESS) == []
    assert tab.evaluate(FAINT) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= size[0]
    ids = tab.evaluate("[...document.querySelectorAll('[id]')].map(it => it.id)")
    assert len(ids) == len(set(ids))
    headings = tab.locator("h1, h2, h3").evaluate_all("all => all.map(it => it.tagName)")
    assert headings[0] == "H1"
    assert headings.count("H1") == 1
    word = tab.locator(".word.changed, .word.same").first
    word.click()
    box = tab.locator("#could")
    box.wait_for()
    place = box.bounding_box()
    assert place is not None
    assert place["x"] >= 0
    assert place["x"] + place["width"] <= size[0]
    assert place["y"] + place["height"] <= size[1]


def test_a_word_of_any_length_does_not_widen_a_phone(visit):
    tab = visit(PHONE, text="house " + "w" * 400 + " " + "a-b" * 200)
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
