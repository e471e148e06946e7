"""How fluent near words are, by a model that was not their guide, and how often they are guessed.

    python scripts/measure_guides.py TEXT... [--epsilon 12] [--texts 100] [--guides none ngram]

TEXT is JSON by line (plain or gzip) with ``text``. For every guide, with function words passing and
with all words replaced: perplexity of the same released texts under SmolLM2-135M (by its own
tokens) and under the n-grams (by words), the mean distance of a word that was replaced, and how
often the best guess is right that knows the law, the guide, what was released before and how often
words occur in the texts. Settings are those that are chosen for the epsilon.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from build_guided import likelihoods, texts_of
from transformers import AutoModelForCausalLM, AutoTokenizer

from discreet import Sanitizer, load_space
from discreet.encoders.causal import SMOLLM2, model_folder
from discreet.guides import load_guide
from discreet.guides.ngram import NGramGuide
from discreet.mechanisms.word import NearWords
from discreet.text.function_words import on_the_list
from discreet.text.tokens import tokenizer_for

GUESSED = 16


class Judge:
    """SmolLM2 as a judge of finished texts."""

    def __init__(self):
        folder = model_folder(SMOLLM2)
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder).eval()

    def perplexity(self, texts):
        """Of all tokens but the first of each text."""
        total, count = 0.0, 0
        for text in texts:
            ids = self.tokenizer(text, return_tensors="pt")["input_ids"][:, :512]
            if ids.shape[1] > 1:
                with torch.inference_mode():
                    logs = self.model(ids).logits[0, :-1].float().log_softmax(dim=1)
                total -= float(logs.gather(1, ids[0, 1:, None]).sum())
                count += ids.shape[1] - 1
        return float(np.exp(total / count))


def guessed(mechanism, ids, released, offsets, passed):
    """The best guess on average over released beginnings, with the texts' own word counts."""
    drawn = np.flatnonzero(~passed)
    prior = np.bincount(ids[drawn], minlength=len(mechanism.space)) / len(drawn)
    if not mechanism.contextual:
        return mechanism.guess_rate(prior)
    places = np.random.default_rng(0).choice(drawn, GUESSED)
    starts = offsets[np.searchsorted(offsets, places, "right") - 1]
    rates = [
        mechanism.guess_rate(prior, released[start:place])
        for start, place in zip(starts, places, strict=True)
    ]
    return float(np.mean(rates))


def main() -> None:
    """Print a line for every text, list of public words and guide."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--epsilon", type=float, default=12.0)
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--guides", nargs="+", default=["none", "ngram"])
    parser.add_argument("--space", default="english")
    given = parser.parse_args()
    space, judge = load_space(given.space), Judge()
    grams = NGramGuide(space)
    tokenizer = tokenizer_for(space.words, space.unknown, space.subwords)
    listed = on_the_list(space.words)
    for file in given.files:
        texts = [text[:400] for text in texts_of(file, given.texts)]
        batch = tokenizer.encode(texts)
        ids, offsets = batch.ids.astype(np.int64), np.asarray(batch.offsets)
        plain = [" ".join(words.split()) for words in tokenizer.decode(ids, offsets)]
        words = np.exp(-likelihoods(grams, ids, offsets).mean())
        print(f"{file.name}: raw, by SmolLM2 {judge.perplexity(plain):.0f}, by n-grams {words:.0f}")
        for public in ("function-words", None):
            for name in given.guides:
                guide = None if name == "none" else load_guide(name, space)
                made = NearWords(space, given.epsilon, guide=guide)
                mechanism = Sanitizer(made, public=public).mechanism
                passed = listed[ids] if public else np.zeros(len(ids), bool)
                out = np.where(passed, ids, 0)
                rng = np.random.default_rng(1)
                if guide is None:
                    out[~passed] = mechanism.release(ids[~passed], rng)
                else:
                    out = mechanism.release(ids, rng, offsets, passed)
                words = np.exp(-likelihoods(grams, out, offsets).mean())
                vectors = space.vectors[ids[~passed]] - space.vectors[out[~passed]]
                print(
                    f"  {public or 'all replaced':14} {name:8} K {mechanism.outputs:5} "
                    f"m {mechanism.near} pool {mechanism.pool} weight {mechanism.weight}: SmolLM2 "
                    f"{judge.perplexity(tokenizer.decode(out, offsets)):.0f}, n-grams {words:.0f}, "
                    f"distance {np.sqrt((vectors**2).sum(axis=1)).mean():.3f}, guessed "
                    f"{guessed(mechanism, ids, out, offsets, passed):.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
