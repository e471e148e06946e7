"""How much a text that was rewritten still resembles its original: N_w, ROUGE-1, BLEU, BERTScore.

These compare released text with the original, so their figures belong to public text, or to text of
which they may be known. Blank texts are allowed and score 0 against anything but a blank one.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.arrays import Floats, Ids
from discreet.devices import AUTO, array_of, find_device, in_halves, room_for
from discreet.encoders.encoder import DEFAULT, locate_model, quiet_transformers
from discreet.errors import InvalidValue, MissingExtra


def unchanged_words(originals: Sequence[str], texts: Sequence[str]) -> float:
    """N_w: the share of words that stand where they stood, case ignored.

    Words are what stands between spaces. A text of another length is compared as far as both go,
    and the words of the original beyond that count as changed.

    >>> unchanged_words(["hot green tea", "a cup"], ["hot black tea", "A cup"])
    0.8
    """
    _as_many(originals, texts)
    same = total = 0
    for original, text in zip(originals, texts, strict=True):
        first, second = original.lower().split(), text.lower().split()
        same += sum(a == b for a, b in zip(first, second, strict=False))
        total += len(first)
    return same / total if total else 0.0


def rouge1(originals: Sequence[str], texts: Sequence[str]) -> float:
    """The mean ROUGE-1 F-measure, between 0 and 1 (rouge-score, without stemming).

    >>> round(rouge1(["hot green tea"], ["hot black tea"]), 3)
    0.667
    """
    _as_many(originals, texts)
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise MissingExtra("ROUGE", "eval") from error
    scorer = RougeScorer(["rouge1"])
    pairs = zip(originals, texts, strict=True)
    return float(np.mean([scorer.score(a, b)["rouge1"].fmeasure for a, b in pairs]))


def bleu(originals: Sequence[str], texts: Sequence[str]) -> float:
    """Corpus BLEU between 0 and 100, one reference each (sacrebleu, its default tokens).

    >>> round(bleu(["we had hot green tea"], ["we had hot green tea"]))
    100
    """
    _as_many(originals, texts)
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingExtra("BLEU", "eval") from error
    # Released text is tokens already; force only silences the library's advice to join them.
    return float(BLEU(force=True).corpus_score(list(texts), [list(originals)]).score)


def bert_score(
    originals: Sequence[str],
    texts: Sequence[str],
    *,
    model: str | Path = DEFAULT,
    layer: int | None = None,
    batch: int = 64,
    device: str = AUTO,
) -> float:
    """The mean BERTScore F1: how well each token finds a like one in the other text.

    Computed by the library bert-score from a model on this machine; nothing is fetched, and the
    figures are not rescaled. Figures of different models or layers do not compare.

    Args:
        originals: The references.
        texts: What is scored.
        model: A directory, a hub name in the local cache, or the default encoder.
        layer: Whose states are compared; the last unless given.
        batch: How many pairs go through the model at once.
        device: Where, see :func:`discreet.devices.find_device`.
    """
    _as_many(originals, texts)
    where = find_device(device)
    try:
        from bert_score import BERTScorer
    except ImportError as error:
        raise MissingExtra("BERTScore", "eval") from error
    directory, _ = locate_model(str(model))
    config = json.loads((directory / "config.json").read_text("utf-8"))
    layers = int(config["num_hidden_layers"])
    if layer is not None and not 1 <= layer <= layers:
        raise InvalidValue(f"layer of bert_score must be from 1 to {layers}; got {layer}")
    # The library warns of blank texts on the side; they match nothing, whatever they are scored.
    blank = np.array(
        [not a.strip() or not b.strip() for a, b in zip(originals, texts, strict=True)]
    )
    both = np.array([a.strip() == b.strip() for a, b in zip(originals, texts, strict=True)])
    scores = np.where(blank & both, 1.0, 0.0)
    if blank.all():
        return float(scores.mean())
    with quiet_transformers(), room_for("this model", "use a smaller one, or --device cpu"):
        scorer = BERTScorer(model_type=str(directory), num_layers=layer or layers, device=where)
    scorer._model.float()  # also where it was saved in 16 bits
    # A tokenizer that says no length has one that the library cannot hand on.
    tokenizer, longest = scorer._tokenizer, int(config.get("max_position_embeddings", 512))
    tokenizer.model_max_length = min(tokenizer.model_max_length, longest)

    def scored(rows: Ids) -> Floats:
        pairs = ([each[row] for row in rows] for each in (texts, originals))
        return array_of(scorer.score(*pairs, batch_size=batch)[2])

    rows = np.flatnonzero(~blank)
    with quiet_transformers():
        scores[rows] = np.concatenate(in_halves(scored, rows, "a pair of texts"))
    return float(scores.mean())


def _as_many(originals: Sequence[str], texts: Sequence[str]) -> None:
    if len(originals) != len(texts) or not len(texts):
        raise InvalidValue(f"{len(originals)} originals and {len(texts)} texts cannot be compared")
