"""The tutorials, followed word by word: every block runs, and prints what its page shows."""

import re
from pathlib import Path

import pytest

from pages import agrees, run, steps

TUTORIALS = Path(__file__).parent.parent.parent / "docs" / "tutorials"
INDEX = TUTORIALS / "README.md"


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("sanitise-and-train", True),
        pytest.param("sentence-vectors", True, marks=pytest.mark.encoder),
        pytest.param("document-vectors", True, marks=pytest.mark.encoder),
        ("user-entity-privacy", True),
        ("your-own-language-model", True),
        ("audit-your-own", False),
    ],
)
def test_a_tutorial_prints_what_it_shows(name, here, tmp_path):
    ran = 0
    for step, printed in run((TUTORIALS / f"{name}.md").read_text(), tmp_path, here=here):
        assert agrees(step.shown, printed, step.within), (
            f"after\n{step.code}\nthe page shows\n{step.shown}\nbut this was printed\n{printed}\n"
            f"(python tests/pages.py --write docs/tutorials/{name}.md brings it up to date)"
        )
        ran += 1
    assert ran > 10


def test_the_index_names_every_tutorial():
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", INDEX.read_text()))
    assert linked == {page.name for page in TUTORIALS.glob("*.md")} - {INDEX.name}


@pytest.mark.parametrize(
    "page", sorted({*TUTORIALS.glob("*.md")} - {INDEX}), ids=lambda page: page.stem
)
def test_allowances_are_small(page):
    text = page.read_text()
    for step in steps(text):
        assert step.within <= 0.15
        # Never a whole line, let alone a whole output.
        for line in step.shown.splitlines():
            assert line.count("...") <= 1, line
            assert len(line.replace("...", "").split()) >= 2 or "..." not in line, line


MEASURED = re.compile(r"(accuracy|f1|perplexity|protected):? +\d|\d ?% of the predictions", re.I)


@pytest.mark.parametrize(
    "page", sorted({*TUTORIALS.glob("*.md")} - {INDEX}), ids=lambda page: page.stem
)
def test_figures_of_trained_models_have_an_allowance(page):
    """Another processor rounds otherwise while it trains, and a test row or two change sides."""
    for step in steps(page.read_text()):
        assert step.within or not MEASURED.search(step.shown), step.shown


def test_a_figure_without_an_allowance_would_be_seen():
    shown = "Predicted 200 rows.\n  accuracy: 0.7850\n"
    assert MEASURED.search(shown)


PAGE = """\
```python
# mine.py
word = "tea"
```

```python
from mine import word
print(word, 0.51)
```

<!-- figures within 0.05 -->
```text
tea 0.5
```

```console
$ printf '%s\\n' one \\
    two
one
two
$ (echo out; echo err >&2; exit 3)
out
err
$ echo $?
3
```
"""


def results(page, folder):
    return [agrees(step.shown, printed, step.within) for step, printed in run(page, folder)]


def test_a_page_is_run_as_it_is_read(tmp_path):
    assert results(PAGE, tmp_path) == [True] * 5


@pytest.mark.parametrize(
    ("true", "false", "wrong"),
    [
        ("tea 0.5\n", "tea 0.4\n", 1),
        ("tea 0.5\n", "cup 0.5\n", 1),
        ("one\ntwo\n$", "one\n$", 2),
        ("out\nerr\n", "out\n", 3),
        ("out\nerr\n", "err\nout\n", 3),
        ("3\n```", "0\n```", 4),
        ("<!-- figures within 0.05 -->\n", "", 1),
    ],
)
def test_what_a_page_shows_wrongly_is_found(tmp_path, true, false, wrong):
    assert true in PAGE
    changed = PAGE.replace(true, false)
    assert [place for place, right in enumerate(results(changed, tmp_path)) if not right] == [wrong]


def test_output_that_a_page_hides_is_found(tmp_path):
    assert results("```python\nprint('hidden')\n```\n\nwords\n", tmp_path) == [False]


def test_a_failure_must_be_shown(tmp_path):
    with pytest.raises(AssertionError, match="ends with 3"):
        results("```console\n$ (exit 3)\n```\n", tmp_path)


def test_a_block_that_would_not_be_run_is_refused(tmp_path):
    with pytest.raises(AssertionError, match="indented"):
        results("- a list\n\n  ```console\n  $ true\n  ```\n", tmp_path)


def test_loops_and_pipes_of_commands_are_what_a_shell_makes_of_them(tmp_path):
    line = "for n in 1 2; do \\\n    discreet --version > v$n.txt; \\\n    echo $n; \\\n  done"
    pages = [
        f"```console\n$ {line}\n1\n2\n$ cat v1.txt v2.txt | wc -l\n2\n```\n",
        "```console\n$ discreet explain --epsilon x 2>&1 | grep -c epsilon\n1\n```\n",
        "```console\n$ discreet --version | wc -l\n1\n```\n",
    ]
    for number, page in enumerate(pages):
        for here in (True, False):
            folder = tmp_path / f"{number} {here}"
            folder.mkdir()
            assert [printed for _, printed in run(page, folder, here=here)] == [
                step.shown for step in steps(page)
            ]
