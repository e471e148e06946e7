"""The page of engines, followed word by word."""

from pathlib import Path

from pages import agrees, run

PAGE = Path(__file__).parent.parent.parent / "docs" / "guides" / "engines.md"


def test_every_block_runs_and_prints_what_the_page_shows(tmp_path):
    ran = 0
    for step, printed in run(PAGE.read_text(), tmp_path):
        assert agrees(step.shown, printed, step.within), (
            f"after\n{step.code}\nthe page shows\n{step.shown}\nbut this was printed\n{printed}\n"
            "(python tests/pages.py --write docs/guides/engines.md brings it up to date)"
        )
        ran += 1
    assert ran == 4
