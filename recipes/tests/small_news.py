"""A small CoNLL-2003 and AG News of our own, and the smallest run of the UeDP recipe on them."""

from dataclasses import replace
from pathlib import Path

from discreet_recipes.uedp.sizes import CATEGORIES, QUICK
from small_data import write_rows

SIZE = replace(
    QUICK,
    words=60,
    steps=2,
    epsilons=(1.0,),
    published_noises=(2.0,),
    sentence_rates=(0.0,),
    vocabularies=(30,),
    public_steps=(2, 3),
    categories=CATEGORIES,
    seeds=2,
    ag_news=30,
    ag_news_test=6,
    topics=(30, 8),
    canaries=16,
)


def silent(_line):
    """Nobody listens."""


TEXTS = ["The tea in Bonn is good, and we like it.", "You have a new cup; I have not been there."]


def write_news(folder: Path) -> Path:
    """All files of both."""
    folder.mkdir()
    some = [
        (["We", "like", "the", "tea", "of", "Ada", "."], ["O"] * 5 + ["B-PER", "O"]),
        (["It", "is", "in", "Bonn", "."], ["O", "O", "O", "B-LOC", "O"]),
        (["Acme", "is", "not", "new", "."], ["B-ORG", "O", "O", "O", "O"]),
        (["The", "German", "one", "is", "."], ["O", "B-MISC", "O", "O", "O"]),
        (["You", "have", "it", "."], ["O"] * 4),
    ]
    rows = [
        {"user": f"d{user}", "tokens": tokens, "tags": tags}
        for user in range(12)
        for tokens, tags in some
    ]
    write_rows(folder / "conll2003-train.jsonl.gz", rows)
    write_rows(folder / "conll2003-test.jsonl.gz", rows[:10])
    write_rows(folder / "conll2003-valid.jsonl.gz", rows[:40])
    news = [{"text": TEXTS[i % 2], "label": "ab"[i % 2]} for i in range(40)]
    write_rows(folder / "agnews-dev.jsonl.gz", news)
    write_rows(folder / "agnews-test.jsonl.gz", news[:10])
    return folder


def in_bonn(texts):
    """Stands in for spaCy: finds one town."""
    spots = [text.find("Bonn") for text in texts]
    return [[[at, at + 4, "gpe", "bonn"]] if at >= 0 else [] for at in spots]
